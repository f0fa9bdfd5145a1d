# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The user's own ``backend_parameters``, read as GPUStack splits them and as vLLM parses them.

GPUStack keeps an item that holds ``=`` as one token and splits every other item like a shell
(gpustack/worker/backends/base.py, _flatten_backend_param). vLLM takes ``_`` for ``-`` in names, short forms, unique
abbreviations, ``--json-flag.key=value`` and ``-O3`` (vllm/utils/argparse_utils.py). Its last duplicate wins, GPUStack's
scheduler reads the first (gpustack/utils/command.py, find_parameter), so a duplicate is an error here.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from .errors import PlanError, nearest
from .mask import masked
from .vllm_flags import BOOLEAN, LIST, OPTIONAL, SWITCH, Flag, known_flags

Value = Union[str, int, float, bool]

_WHERE = "backend_parameters"


@dataclass(frozen=True)
class Parameter:
    """One flag of the user: the flag, its value as vLLM reads it, and the spelling it came in.

    ``path`` is the key below a JSON flag (``mode`` of ``--compilation-config.mode=3``), else empty.
    """

    flag: Flag
    path: str
    value: Value
    values: tuple[str, ...]
    spelling: str

    @property
    def name(self) -> str:
        """The long name, with the key below a JSON flag."""
        return f"{self.flag.name}.{self.path}" if self.path else self.flag.name

    @property
    def items(self) -> tuple[str, ...]:
        """The form that GPUStack and vLLM both read right: one ``--flag`` or ``--flag=value`` per item."""
        if self.flag.kind in (BOOLEAN, SWITCH):
            return (self.flag.name if self.value else self.flag.negation,)
        if self.flag.kind == OPTIONAL and not self.values:
            return (self.flag.name,)
        if len(self.values) > 1:
            return (self.flag.name, *(value if "=" in value else shlex.quote(value) for value in self.values))
        return (f"{self.name}={self.values[0]}",)


Parameters = Mapping[str, Parameter]


def _tokens(items: Sequence[str]) -> list[str]:
    tokens: list[str] = []
    for item in items:
        text = item.strip()
        if "=" in text:
            head, _equals, tail = (part.strip() for part in text.partition("="))
            if not head:
                raise PlanError(f"{_WHERE} has {masked(item)!r}, which belongs to no flag: write --flag=value")
            if re.search(r"\s", head):
                raise PlanError(
                    f"{_WHERE} has {masked(item)!r}: GPUStack passes an item with '=' as one word, so write one "
                    f"--flag=value per item"
                )
            if re.search(r"\s--?[A-Za-z]", tail) and not tail.lstrip().startswith(("{", "[", "'", '"')):
                raise PlanError(f"{_WHERE} has two flags in {masked(item)!r}: write one --flag=value per item")
            tokens.append(f"{head}={tail}")
            continue
        try:
            tokens.extend(shlex.split(text))
        except ValueError as error:
            raise PlanError(
                f"{_WHERE} has {masked(item)!r}, which has an unclosed quote: write --flag=value"
            ) from error
    return tokens


def _spread(tokens: Sequence[str], flags: Mapping[str, Flag]) -> list[str]:
    """Undo the spellings that argparse knows but a table does not: ``_`` in names and ``-O3``."""
    level = "--optimization-level" if "--optimization-level" in flags else "--compilation-config"
    spread: list[str] = []
    for token in tokens:
        if token.startswith("--"):
            name, equals, value = token.partition("=")
            head, dot, path = name.partition(".")
            spread.append(head.replace("_", "-") + dot + path + equals + value)
        elif re.fullmatch(r"-O=?\d", token):
            spread.append(f"{level}={token[-1]}")
        else:
            spread.append(token)
    return spread


def _flag(name: str, flags: Mapping[str, Flag], version: str) -> tuple[str, Flag]:
    """The flag behind a spelling; an abbreviation counts when, as for argparse, it fits one flag only."""
    if name in flags:
        return name, flags[name]
    if name.startswith("--"):
        matches = {flags[spelling].name: spelling for spelling in flags if spelling.startswith(name)}
        if len(matches) == 1:
            spelling = next(iter(matches.values()))
            return spelling, flags[spelling]
    raise PlanError(
        f"{_WHERE} has {name}, which vLLM {version} does not know{nearest(name, flags)}: correct or drop it"
    )


def _short_with_value(token: str, flags: Mapping[str, Flag]) -> tuple[str, str] | None:
    """``-tp2`` and ``-tp=2`` as ``("-tp", "2")``, the longest short form first."""
    for short in sorted((name for name in flags if not name.startswith("--")), key=len, reverse=True):
        if token.startswith(short) and len(token) > len(short) and flags[short].kind != BOOLEAN:
            return short, token[len(short) :].lstrip("=")
    return None


_MULTIPLIERS = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip


def _number(text: str, flag: Flag) -> Value:
    """An ``int``, ``size`` or ``float`` as vLLM reads it; 32k is 32,000 and 32K is 32,768."""
    text = text.strip()
    try:
        if flag.type == "float":
            number = float(text)
            if not math.isfinite(number):
                raise ValueError(text)
            return number
        if flag.type == "size":
            if text.lower() == "auto":
                return -1
            match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text)
            if match and (match.group(2).islower() or "." not in match.group(1)):
                return int(float(match.group(1)) * _MULTIPLIERS[match.group(2)])
        return int(text)
    except ValueError as error:
        wanted = {"float": "a number", "size": "a whole number or one like 64k"}.get(flag.type, "a whole number")
        raise PlanError(f"{flag.name} is {text!r} in {_WHERE}, wanted {wanted}: correct it") from error


def _value(flag: Flag, path: str, values: Sequence[str]) -> Value:
    if flag.type in ("int", "size", "float") and not path:
        numbers = [_number(value, flag) for value in values]
        return numbers[0] if flag.kind != LIST else " ".join(values)
    if flag.type == "json" and not path and values[0].lstrip().startswith(("{", "[")):
        try:
            json.loads(values[0])
        except ValueError as error:
            raise PlanError(f"{flag.name} in {_WHERE} is not valid JSON ({error}): correct it") from error
    return " ".join(values)


def parse_parameters(items: Sequence[str], vllm_version: str) -> dict[str, Parameter]:
    """The user's flags by long name, in their order.

    Raises PlanError for a flag that this vLLM does not know (with the nearest one that it does), a missing or needless
    value, a value of the wrong type, a flag given twice, and an item that GPUStack would split wrongly.
    """
    flags = known_flags(vllm_version)
    parameters: dict[str, Parameter] = {}
    tokens = _spread(_tokens(items), flags)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if not token.startswith("-") or re.fullmatch(r"-\d.*", token):
            raise PlanError(f"{_WHERE} has {masked(token)!r}, which belongs to no flag: write --flag=value")
        name, equals, text = token.partition("=")
        given: list[str] = [text] if equals else []
        if not name.startswith("--") and name not in flags:
            short = _short_with_value(token, flags)
            if short:
                name, given, equals = short[0], [short[1]], "="
        head, _dot, path = name.partition(".")
        spelling, flag = _flag(head, flags, vllm_version)
        if path and flag.type != "json":
            raise PlanError(f"{_WHERE} has {name}, but {flag.name} has no keys below it: write {flag.name}=value")
        negated = spelling == flag.negation and spelling != ""
        if flag.kind in (BOOLEAN, SWITCH):
            if given:
                raise PlanError(
                    f"{_WHERE} has {masked(token)}, but {flag.name} takes no value: {_switch_advice(flag, given[0])}"
                )
        elif not given:
            limit = None if flag.kind == LIST else 1
            while position < len(tokens) and not _is_flag(tokens[position]) and (limit is None or len(given) < limit):
                given.append(tokens[position])
                position += 1
            if not given and flag.takes_value:
                raise PlanError(f"{_WHERE} has {name} without a value: write {flag.name}=value")
        value: Value = not negated if flag.kind in (BOOLEAN, SWITCH) else _value(flag, path, given) if given else True
        parameter = Parameter(flag, path, value, tuple(given), token)
        if parameter.name in parameters:
            both = f"{masked(parameters[parameter.name].spelling)} and {masked(token)}"
            raise PlanError(
                f"{_WHERE} has {parameter.name} twice ({both}); vLLM takes the last, GPUStack's scheduler "
                "the first: keep one"
            )
        parameters[parameter.name] = parameter
    return parameters


def _is_flag(token: str) -> bool:
    return token.startswith("-") and not re.fullmatch(r"-\d.*", token)


def _switch_advice(flag: Flag, text: str) -> str:
    if text.strip().lower() in ("false", "0", "no"):
        return f"write {flag.negation}" if flag.negation else "drop it"
    return f"write {flag.name} alone"
