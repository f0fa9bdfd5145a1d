# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a line of a log means: the shape of one entry of the catalogue."""

from __future__ import annotations

import re
from dataclasses import dataclass

ERROR = "error"
WARNING = "warning"
CAUSE = "cause"
CONSEQUENCE = "consequence"

# In `consequence_of` and `beside`: whatever else was found.
ANYTHING = "anything"


@dataclass(frozen=True)
class Signature:
    """One thing that logs say, and what to make of it.

    A line matches when it holds one of the plain texts ``says``, matches the regular expression ``pattern`` as well
    (where there is one) and does not match ``unless``.

    * ``means``, ``not_means``: what is the matter, and which wrong conclusion people draw from the line
    * ``cause``, ``remedy``: why it happens, and what ends it
    * ``setting``: the variable, key of a model or playbook of this collection that applies the remedy; empty where a
      person has to go there
    * ``source``: a public report or document
    * ``versions``: releases in which the line is known, where that is not all of them
    * ``consequence_of``: ids of what it follows from; empty for a cause
    * ``beside``: it counts only where one of these was found in the same log
    """

    id: str
    says: tuple[str, ...]
    means: str
    cause: str
    remedy: str
    source: str
    not_means: str = ""
    setting: str = ""
    pattern: str = ""
    unless: str = ""
    versions: str = ""
    consequence_of: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    severity: str = ERROR

    @property
    def role(self) -> str:
        """``cause`` or ``consequence``."""
        return CONSEQUENCE if self.consequence_of else CAUSE

    def means_line(self, line: str) -> bool:
        """Whether the line means this."""
        return any(said in line for said in self.says) and self.matches(line)

    def matches(self, line: str) -> bool:
        """Whether the line, which is known to hold one of the texts, means this."""
        if self.pattern and not re.search(self.pattern, line):
            return False
        return not (self.unless and re.search(self.unless, line))

    def follows(self, other: Signature) -> bool:
        """Whether the other one can be what brought this one about."""
        return other.id in self.consequence_of or (ANYTHING in self.consequence_of and other.role == CAUSE)


def issue(reference: str) -> str:
    """The address of an issue or pull request on GitHub, as in ``vllm-project/vllm#414``."""
    repository, _hash, number = reference.partition("#")
    return f"https://github.com/{repository}/issues/{number}"
