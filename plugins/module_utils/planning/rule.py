# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rule is: one row of ``refusals.py``, ``emissions.py`` or ``cautions.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

from .situation import Situation
from .versions import ALL, Versions

Scalar = Union[str, int, float]
When = Callable[[Situation], bool]
Text = Union[str, Callable[[Situation], str]]


@dataclass(frozen=True)
class Rule:
    """What all kinds of rules share. ``why`` is one sentence, ``source`` a public file, issue or document."""

    id: str
    when: When
    why: Text
    source: str
    versions: Versions = ALL
    liftable: bool = True

    def applies(self, situation: Situation) -> bool:
        """Whether it holds for this vLLM, applies here and is not lifted."""
        if situation.version not in self.versions:
            return False
        return not (self.liftable and self.id in situation.intent.override) and self.when(situation)

    def reason(self, situation: Situation) -> str:
        """``why``, with the numbers of this case."""
        return self.why if isinstance(self.why, str) else self.why(situation)


@dataclass(frozen=True)
class Refusal(Rule):
    """Something that will not run. ``subject`` is the user's flag or variable that asks for it, empty for the model.

    ``of_choice``: when the user does not ask for it, it is the planner's own choice, passed over without a word.
    """

    subject: Text = ""
    of_choice: bool = False
    remedy: Text = ""

    def about(self, situation: Situation) -> str:
        """The user's flag or variable that is refused, empty when it is the model or its cards."""
        return self.subject if isinstance(self.subject, str) else self.subject(situation)

    def advice(self, situation: Situation) -> str:
        """What to do instead."""
        return self.remedy if isinstance(self.remedy, str) else self.remedy(situation)


@dataclass(frozen=True)
class ParameterRule(Rule):
    """A flag to emit; ``value`` is None for a flag that takes none."""

    parameter: str = ""
    value: Scalar | Callable[[Situation], Scalar] | None = None

    def emitted(self, situation: Situation) -> Scalar | None:
        """The value in this case."""
        return self.value(situation) if callable(self.value) else self.value


@dataclass(frozen=True)
class VariableRule(Rule):
    """An environment variable to set, or with None to take away."""

    variable: str = ""
    value: str | Callable[[Situation], str] | None = None

    def emitted(self, situation: Situation) -> str | None:
        """The value in this case."""
        return self.value(situation) if callable(self.value) else self.value


@dataclass(frozen=True)
class Caution(Rule):
    """Something that runs, with a consequence that the user must know; ``why`` is the message."""
