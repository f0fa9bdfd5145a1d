# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The argument list of an engine that runs, read as vLLM reads it.

A running engine has accepted its arguments, so nothing is refused here: of a flag given twice the last one counts, and
flags that the table of this collection does not know are kept as they are.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from .planning.vllm_flags import BOOLEAN, LIST, SWITCH, Flag, known_flags

_MULTIPLIERS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def split_items(items: Iterable[str]) -> list[str]:
    """The words that GPUStack makes of ``backend_parameters``.

    An item with ``=`` stays one word, every other item is split like a shell does
    (gpustack 2.1.1, worker/backends/base.py, _flatten_backend_param).
    """
    words: list[str] = []
    for item in items:
        name, equals, value = item.strip().partition("=")
        words += [f"{name.strip()}={value.strip()}"] if equals else shlex.split(name)
    return words


def read(words: Sequence[str], vllm_version: str) -> dict[str, Any]:
    """The flags by long name with their values: a bool, a number, a JSON value or a text.

    Words before the first flag (``vllm serve PATH``) are skipped.
    """
    flags = known_flags(vllm_version)
    values: dict[str, Any] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not _is_flag(word):
            continue
        name, equals, text = word.partition("=")
        name = name.replace("_", "-") if name.startswith("--") else name
        flag = flags.get(name)
        if flag is not None and flag.kind in (BOOLEAN, SWITCH):
            values[flag.name] = name != flag.negation
            continue
        given = [text] if equals else []
        limit = len(words) if flag is not None and flag.kind == LIST else 1
        while not equals and position < len(words) and len(given) < limit and not _is_flag(words[position]):
            given.append(words[position])
            position += 1
        values[flag.name if flag else name] = _value(flag, " ".join(given)) if given else True
    return values


def _is_flag(word: str) -> bool:
    return word.startswith("-") and re.fullmatch(r"-\d.*", word) is None


def _value(flag: Flag | None, text: str) -> Any:
    """The value in a form in which equal settings are equal, however they are spelled."""
    kind = flag.type if flag else "str"
    try:
        if kind == "json":
            return json.loads(text)
        if kind == "float":
            return float(text)
        if kind == "int":
            return int(text)
        if kind == "size":
            return int(float(text[:-1]) * _MULTIPLIERS[text[-1]]) if text[-1:] in _MULTIPLIERS else int(text)
    except ValueError:
        pass
    return text
