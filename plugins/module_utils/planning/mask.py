# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values that neither an error nor a decision may show: those of flags and variables that are named like a secret."""

from __future__ import annotations

import re

MASK = "********"

_SECRET = r"(?:[\w-]*[-_])?(?:token|secret|password|passwd|key|credentials?)"
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
_SECRET_FLAG = re.compile(rf"(?<![\w-])(--?{_SECRET})(\s*=\s*|\s+)('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)


def shown(name: str, value: object) -> object:
    """The value of a flag or variable, masked when its name ends like a secret's: ``HF_TOKEN``, ``--api-key``."""
    return MASK if _SECRET_NAME.fullmatch(name) else value


def masked(text: str) -> str:
    """``--hf-token=********`` for ``--hf-token=abc``; other text as it is."""
    return _SECRET_FLAG.sub(lambda match: match.group(1) + match.group(2) + MASK, text)
