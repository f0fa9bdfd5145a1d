# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a load test asks: profiles, which are data, on an engine's capacity, which is planned or printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# What a request is made of beside prompt and answer: the chat template, and that a text which was put together from
# tokens is not always cut into the same ones again.
TEMPLATE_TOKENS = 64
RETOKENISED_SHARE = 0.01

_LENGTHS = ("prompt_tokens", "context_share")
_CONCURRENCIES = ("concurrency", "concurrency_share")
_ENDS = ("requests", "rounds", "seconds")
_KEYS = {*_LENGTHS, *_CONCURRENCIES, *_ENDS, "answer_tokens", "limits"}


class StageError(ValueError):
    """A profile that makes no stages; the message says what was found, what was wanted and what to do."""


@dataclass(frozen=True)
class Capacity:
    """``max_model_len`` tokens a request; ``concurrency`` requests of that length at once, by the KV cache."""

    max_model_len: int
    concurrency: float


@dataclass(frozen=True)
class Stage:
    """``concurrency`` requests at once, each of ``prompt_tokens`` and ``answer_tokens``: ``requests`` of them in all,
    or as many as ``seconds`` allow. ``level`` is the concurrency as a share of the capacity."""

    name: str
    profile: str
    prompt_tokens: int
    answer_tokens: int
    concurrency: int
    level: float
    requests: int | None = None
    seconds: float | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


def stages(profiles: Mapping[str, Any], chosen: Sequence[str], capacity: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stages of the chosen profiles, in their order.

    ``profiles`` maps a name to a list of steps. A step says how long a prompt is (``prompt_tokens``, or with
    ``context_share`` what the whole request takes of the context), how long an answer is (``answer_tokens``), how many
    requests there are at once (``concurrency``, or ``concurrency_share`` of the capacity) and when it ends
    (``requests``, ``rounds`` of as many requests as there are at once, or ``seconds``). It may have ``limits`` of its
    own, which the verdict puts before the general ones.

    ``capacity`` is ``{"max_model_len", "concurrency"}``. Raises StageError.
    """
    unknown = [name for name in chosen if name not in profiles]
    if unknown:
        raise StageError(
            f"There is no load test profile {', '.join(unknown)}; there are: {', '.join(profiles)}. Name one of them, "
            "or describe yours in gpustack_load_test_profiles."
        )
    if not chosen:
        raise StageError(f"No load test profile is chosen; choose from: {', '.join(profiles)}.")
    known = _capacity(capacity)
    return [
        asdict(_stage(name, number, step, known))
        for name in chosen
        for number, step in enumerate(_steps(name, profiles[name]), 1)
    ]


def _capacity(capacity: Mapping[str, Any]) -> Capacity:
    length, concurrency = capacity.get("max_model_len"), capacity.get("concurrency")
    if not length or not concurrency:
        raise StageError(
            "Neither a plan nor the engine's log tells how long a request may be and how many fit at once, so no load "
            "can be made. Declare the model in gpustack_models_declared, or recreate its instance so that its log is "
            "whole."
        )
    return Capacity(int(length), float(concurrency))


def _steps(profile: str, steps: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        raise StageError(f"Load test profile {profile} is {steps!r}; wanted is a list of steps.")
    return steps


def _stage(profile: str, number: int, step: Any, capacity: Capacity) -> Stage:
    where = f"Step {number} of load test profile {profile}"
    if not isinstance(step, Mapping):
        raise StageError(f"{where} is {step!r}; wanted is a mapping.")
    foreign = sorted(set(step) - _KEYS)
    if foreign:
        raise StageError(f"{where} has {', '.join(foreign)}; known are: {', '.join(sorted(_KEYS))}.")
    answer = int(_positive(where, step, "answer_tokens"))
    concurrency = _concurrency(where, step, capacity)
    prompt = _prompt_tokens(where, step, answer, capacity)
    end = _only(where, step, _ENDS)
    amount = _positive(where, step, end)
    return Stage(
        name=f"{profile}-{number}",
        profile=profile,
        prompt_tokens=prompt,
        answer_tokens=answer,
        concurrency=concurrency,
        level=concurrency / capacity.concurrency,
        requests={"requests": math.ceil(amount), "rounds": math.ceil(amount * concurrency)}.get(end),
        seconds=amount if end == "seconds" else None,
        limits=dict(step.get("limits") or {}),
    )


def _concurrency(where: str, step: Mapping[str, Any], capacity: Capacity) -> int:
    key = _only(where, step, _CONCURRENCIES)
    amount = _positive(where, step, key)
    if key == "concurrency":
        return math.ceil(amount)
    # Up to the capacity what certainly fits, past it one more at least.
    wanted = amount * capacity.concurrency
    return max(1, math.floor(wanted) if amount <= 1 else math.ceil(wanted))


def _prompt_tokens(where: str, step: Mapping[str, Any], answer: int, capacity: Capacity) -> int:
    key = _only(where, step, _LENGTHS)
    amount = _positive(where, step, key)
    longest = math.floor(capacity.max_model_len * (1 - RETOKENISED_SHARE)) - TEMPLATE_TOKENS - answer
    if key == "context_share":
        if amount > 1:
            raise StageError(f"{where} has context_share {amount:g}; a request cannot be longer than 1, the context.")
        prompt = min(math.floor(capacity.max_model_len * amount) - answer, longest)
    else:
        prompt = int(amount)
    if not 1 <= prompt <= longest:
        raise StageError(
            f"{where} wants prompts of {prompt:,} and answers of {answer:,} tokens; a request of this model has "
            f"{capacity.max_model_len:,} for both. Make them shorter."
        )
    return prompt


def _only(where: str, step: Mapping[str, Any], names: Sequence[str]) -> str:
    given = [name for name in names if step.get(name) is not None]
    if len(given) != 1:
        raise StageError(f"{where} has {' and '.join(given) or 'none'} of {', '.join(names)}; wanted is one of them.")
    return given[0]


def _positive(where: str, step: Mapping[str, Any], name: str) -> float:
    value = step.get(name)
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not (0 < number < math.inf):
        raise StageError(f"{where} has {name} {value!r}; wanted is a number above 0.")
    return number
