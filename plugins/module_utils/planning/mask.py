# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values that neither an error nor a decision may show: those of flags and variables that are named like a secret."""

from __future__ import annotations

import re

MASK = "********"

# TOKEN and KEY only as a whole word of the name: VLLM_MAX_TOKENS and KEYBOARD are none.
_WORD = r"(?:api_?key|access_?key|secret_?key|private_?key|key|token|secret|password|passwd|passphrase|credentials?)"
_SECRET_NAME = re.compile(rf"(?:^|[_\W]){_WORD}(?:$|[_\W])", re.IGNORECASE)
# Flags of vLLM that count tokens: --long-prefill-token-threshold, --return-tokens-as-token-ids.
_HARMLESS = r"token[-_](?:threshold|ids)"
_HARMLESS_NAME = re.compile(rf"{_HARMLESS}$", re.IGNORECASE)
_SECRET_FLAG = re.compile(
    rf"(?<![\w-])(--?(?![\w-]*{_HARMLESS}(?![\w-]))(?:[\w-]*[-_])?{_WORD}(?:[-_][\w-]*)?)"
    r"(\s*=\s*|\s+)('[^']*'|\"[^\"]*\"|\S+)",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name usually holds a secret: ``HF_TOKEN``, ``--api-key``."""
    return _SECRET_NAME.search(name) is not None and _HARMLESS_NAME.search(name) is None


def shown(name: str, value: object) -> object:
    """The value of a flag or variable, masked when its name is a secret's."""
    return MASK if is_secret_name(name) else value


def masked(text: str) -> str:
    """``--hf-token=********`` for ``--hf-token=abc``; other text as it is."""
    return _SECRET_FLAG.sub(lambda match: match.group(1) + match.group(2) + MASK, text)


def secrets_in(text: str) -> list[str]:
    """What `masked` takes out of the text."""
    return [match.group(3).strip("'\"") for match in _SECRET_FLAG.finditer(text)]
