# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a roll-out goes: what is declared for the fleet, and what a model says otherwise. Pure.

The settings are those of `gpustack_rollout`; docs/rolling-updates.md says what each costs. A model's own `rollout` is a
strategy, or a mapping with those settings that concern one model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import Invalid
from .batches import batches

AUTO, DRAIN, SURGE, BLUE_GREEN, GAP, RECREATE = "auto", "drain", "surge", "blue_green", "gap", "recreate"
Value = TypeVar("Value")
STRATEGIES = (AUTO, DRAIN, SURGE, BLUE_GREEN, GAP)
# How GPUStack shall have the replicas is part of a model's own, for the planner places them accordingly.
STRATEGIES_OF_A_MODEL = (*STRATEGIES, RECREATE)


@dataclass(frozen=True)
class Setting:
    """A setting: its default, how a value is read (raises ValueError or TypeError), what is wanted, and whose it is."""

    default: Any
    read: Callable[[Any], Any]
    wanted: str
    of_a_model: bool = True


def _whole(value: Any) -> int:
    return _that(int(str(value)), lambda number: number >= 0)


def _one_or_more(value: Any) -> int:
    return _that(int(str(value)), lambda number: number >= 1)


def _percentage(value: Any) -> int:
    return _that(int(str(value)), lambda number: 0 <= number <= 100)


def _that(value: Value, holds: Callable[[Value], bool]) -> Value:
    if not holds(value):
        raise ValueError(value)
    return value


def _strategy(value: Any) -> str:
    return str(_that(value, lambda name: name in STRATEGIES_OF_A_MODEL))


def _optional_whole(value: Any) -> int | None:
    return None if value is None or value == "" else _whole(value)


def _text(value: Any) -> str:
    return str(_that(value, lambda text: isinstance(text, str)))


def _serial(value: Any) -> list[Any]:
    sizes = list(value) if isinstance(value, (list, tuple)) else [value]
    batches(["any"], sizes, {})
    return sizes


def _weights(value: Any) -> list[int]:
    weights = [_one_or_more(weight) for weight in _that(value, lambda given: isinstance(given, (list, tuple)))]
    return list(_that(weights, lambda each: each == sorted(set(each)) and each[-1:] == [100]))


SECONDS = "whole seconds"
SETTINGS: Mapping[str, Setting] = {
    "strategy": Setting(AUTO, _strategy, " or ".join(STRATEGIES)),
    "serial": Setting((1, 1), _serial, "numbers of hosts or percentages such as 25%", of_a_model=False),
    "max_fail_percentage": Setting(0, _percentage, "a percentage", of_a_model=False),
    "min_available": Setting(None, _optional_whole, "a number of targets, or null for all others"),
    "drain_timeout": Setting(300, _whole, SECONDS),
    "ready_timeout": Setting(1800, _one_or_more, SECONDS),
    "settle": Setting(30, _whole, SECONDS),
    "canary_prompt": Setting("Say hello in five words.", _text, "a text; empty asks nothing"),
    "canary_requests": Setting(8, _one_or_more, "a number of requests"),
    "canary_timeout": Setting(120, _one_or_more, SECONDS),
    "kv_cache_tolerance": Setting(10, _percentage, "a percentage"),
    "weights": Setting((10, 50, 100), _weights, "rising percentages that end with 100, such as [10, 50, 100]"),
    "report": Setting("build/rollout/report.json", _text, "a file on the controller", of_a_model=False),
}


def surge_name(name: str, number: int) -> str:
    """The name of a declared model's additional replica of that number, counted from 1."""
    return f"{name}-surge" if number == 1 else f"{name}-surge-{number}"


def is_surge(name: str, declared: str) -> bool:
    """Whether a model of this name is an additional replica of the declared model."""
    return name == surge_name(declared, 1) or name.startswith(f"{surge_name(declared, 1)}-")


def policy_of(fleet: Any, model: Any = None, *, named: str = "") -> dict[str, Any]:
    """Every setting with its value: the model's, else the fleet's, else the default.

    `fleet` is `gpustack_rollout`, `model` the `rollout` of a model that is `named` so; None and empty say nothing.
    Raises Invalid, in one sentence, for what is no setting or no value of it.
    """
    own = {"strategy": model} if isinstance(model, str) and model else model
    chosen = _read(fleet, "gpustack_rollout", set(SETTINGS), STRATEGIES)
    allowed = {name for name, setting in SETTINGS.items() if setting.of_a_model}
    chosen.update(_read(own, f"rollout of model {named}", allowed, STRATEGIES_OF_A_MODEL))
    policy = {name: setting.read(setting.default) for name, setting in SETTINGS.items()} | chosen
    if policy["strategy"] == GAP and policy["min_available"] is None:
        policy["min_available"] = 0
    return policy


def _read(given: Any, where: str, allowed: set[str], strategies: tuple[str, ...]) -> dict[str, Any]:
    if given is None or given == "":
        return {}
    if not isinstance(given, Mapping):
        raise Invalid(f"{where} is {given!r}; wanted is a mapping of settings, or for a model a strategy.")
    read = {}
    for name, value in given.items():
        if name not in allowed:
            raise Invalid(f"{where} has {name!r}, which is no setting there. It takes {', '.join(sorted(allowed))}.")
        try:
            read[name] = SETTINGS[name].read(value)
        except (ValueError, TypeError):
            raise Invalid(f"{where}: {name} is {value!r}; wanted is {_wanted(name, strategies)}.") from None
    if read.get("strategy", strategies[0]) not in strategies:
        raise Invalid(f"{where}: strategy is {read['strategy']!r}; wanted is {_wanted('strategy', strategies)}.")
    return read


def _wanted(name: str, strategies: tuple[str, ...]) -> str:
    return " or ".join(strategies) if name == "strategy" else SETTINGS[name].wanted
