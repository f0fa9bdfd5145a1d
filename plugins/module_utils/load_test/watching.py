# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is seen while a load test runs: engines that stop, and a series of figures that stays small however long it is.

GPUStack sets ``restart_count`` back to 0 as soon as an engine runs again, and a restarted engine counts its requests
from 0, so a look afterwards tells nothing: only who looks all the time sees a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .prometheus import COUNTED
from .series import Sample, Series

MOST_STOPS = 50


@dataclass
class _Engine:
    """What is remembered of one instance. ``restarts`` is its count when it last ran, ``noted`` the stops since."""

    up: bool
    restarts: int
    noted: int = 0
    counters: dict[str, float] = field(default_factory=dict)
    last_log: list[str] = field(default_factory=list)


class Watch:
    """Takes one look after the other. ``stops`` and ``samples`` are what there is to tell."""

    def __init__(self) -> None:
        self.stops: list[dict[str, Any]] = []
        self._series = Series(_together)
        self._engines: dict[str, _Engine] = {}
        self._totals: dict[str, float] = dict.fromkeys(COUNTED, 0.0)

    @property
    def samples(self) -> list[Sample]:
        return self._series.samples

    def look(
        self,
        at: float,
        instances: Iterable[Mapping[str, Any]],
        engines: Mapping[str, Mapping[str, float]],
        cpu_busy: float | None,
    ) -> None:
        """One look. ``instances`` as GPUStack lists them; ``engines`` the figures of those whose metrics answered, by
        instance; ``cpu_busy`` the share of this machine's processors in use."""
        present = {str(instance["name"]): instance for instance in instances}
        for name in [name for name in self._engines if name not in present]:
            if self._engines[name].up:
                self._stop(at, name, "GPUStack has removed it")
            del self._engines[name]
        for name, instance in present.items():
            self._see(at, name, instance, engines.get(name))
        figures = [engines[name] for name in present if name in engines]
        self._series.add(
            {
                "at": at,
                "running_instances": sum(engine.up for engine in self._engines.values()),
                "engines_answering": len(figures),
                "running": sum(engine.get("running", 0.0) for engine in figures),
                "waiting": sum(engine.get("waiting", 0.0) for engine in figures),
                "kv_cache_usage": max((engine.get("kv_cache_usage", 0.0) for engine in figures), default=None),
                "cpu_busy": cpu_busy,
                **self._totals,
            }
        )

    def remember_log(self, name: str, log: Sequence[str]) -> None:
        """The log of an instance that is down, or answers no more; it goes with its latest stop, or the next one."""
        engine = self._engines.get(name)
        if engine is None or not log:
            return
        if engine.up:
            engine.last_log = list(log)
            return
        for stop in reversed(self.stops):
            if stop["instance"] == name:
                stop["log"] = list(log)
                return

    def _see(self, at: float, name: str, instance: Mapping[str, Any], figures: Mapping[str, float] | None) -> None:
        state, restarts = str(instance["state"]), int(instance.get("restart_count") or 0)
        engine = self._engines.get(name)
        if engine is None:
            engine = self._engines[name] = _Engine(state == "running", restarts)
        if engine.up and state != "running":
            engine.up, engine.noted = False, 1
            message = " ".join(str(instance.get("state_message") or "").split()).rstrip(".")
            self._stop(at, name, f"it went from running to {state}" + (f": {message}" if message else ""))
        while restarts - engine.restarts > engine.noted:
            engine.up, engine.noted = False, engine.noted + 1
            self._stop(at, name, f"GPUStack counts {restarts} restarts")
        if figures is not None:
            self._count(at, name, engine, figures)
        if state == "running":
            engine.up, engine.restarts, engine.noted = True, restarts, 0

    def _count(self, at: float, name: str, engine: _Engine, figures: Mapping[str, float]) -> None:
        counters = {key: figures[key] for key in COUNTED if key in figures}
        began_anew = any(value < engine.counters.get(key, 0.0) for key, value in counters.items())
        if began_anew and engine.up:
            self._stop(at, name, "its counters began anew")
        before = {} if began_anew else engine.counters
        for key, value in counters.items():
            # What it counted before the first look belongs to no load test.
            if engine.counters:
                self._totals[key] += value - before.get(key, 0.0)
        engine.counters = counters

    def _stop(self, at: float, name: str, how: str) -> None:
        engine = self._engines.get(name)
        log = engine.last_log if engine else []
        if len(self.stops) < MOST_STOPS:
            self.stops.append({"at": at, "instance": name, "how": how, "log": log})


_PEAKS = ("running", "waiting", "kv_cache_usage", "cpu_busy")


def _together(samples: Sequence[Sample]) -> Sample:
    """The last of them, with the peaks of all."""
    merged = dict(samples[-1])
    for key in _PEAKS:
        known = [sample[key] for sample in samples if sample[key] is not None]
        merged[key] = max(known, default=None)
    merged["running_instances"] = min(sample["running_instances"] for sample in samples)
    return merged
