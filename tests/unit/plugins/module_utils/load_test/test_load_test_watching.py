# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.series import MOST_SAMPLES
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.watching import Watch


def instance(state: str = "running", restarts: int = 0, name: str = "qwen-a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "restart_count": restarts, **fields}


class Observed:
    """A watch whose clock ticks once a look."""

    def __init__(self) -> None:
        self.watch, self.at = Watch(), 0

    def look(self, *instances: dict[str, Any], **figures: float) -> Observed:
        self.at += 1
        engines = {found["name"]: figures for found in instances if found["state"] == "running" and figures}
        self.watch.look(self.at, instances, engines, 0.5)
        return self

    @property
    def stops(self) -> list[tuple[float, str]]:
        return [(stop["at"], stop["how"]) for stop in self.watch.stops]


def test_an_engine_that_runs_on_has_not_stopped() -> None:
    assert Observed().look(instance()).look(instance()).stops == []


def test_an_engine_in_error_has_stopped_once_however_long_it_is() -> None:
    broken = instance("error", state_message="Inference server exited\nwith code 1.")
    seen = Observed().look(instance()).look(broken).look(broken).look(instance("starting", 1)).look(instance())
    assert seen.stops == [(2, "it went from running to error: Inference server exited with code 1")]


def test_every_further_crash_while_it_starts_counts() -> None:
    seen = Observed().look(instance()).look(instance("error")).look(instance("starting", 1)).look(instance("error", 2))
    assert seen.stops == [(2, "it went from running to error"), (4, "GPUStack counts 2 restarts")]


def test_two_crashes_with_a_run_between_are_two() -> None:
    seen = Observed().look(instance()).look(instance("error")).look(instance()).look(instance("error"))
    assert [at for at, _how in seen.stops] == [2, 4]


def test_a_restart_between_two_looks_shows_in_the_counters() -> None:
    seen = Observed().look(instance(), answer_tokens=500).look(instance(), answer_tokens=20)
    assert seen.stops == [(2, "its counters began anew")]


def test_an_instance_that_is_gone_has_stopped() -> None:
    seen = Observed().look(instance()).look(instance(name="qwen-b"))
    assert seen.stops == [(2, "GPUStack has removed it")]


def test_what_was_before_the_first_look_is_the_past() -> None:
    assert Observed().look(instance("starting", 3)).look(instance("running", 3)).look(instance()).stops == []


def test_counters_begin_at_the_first_look_and_go_on_over_a_restart() -> None:
    seen = Observed().look(instance(), answer_tokens=500).look(instance(), answer_tokens=600)
    seen.look(instance("error")).look(instance(), answer_tokens=30)
    assert [sample["answer_tokens"] for sample in seen.watch.samples] == [0, 100, 100, 130]


def test_the_log_of_a_stop_is_the_last_one_read_before_the_engine_came_back() -> None:
    seen = Observed().look(instance())
    seen.watch.remember_log("qwen-a", ["still up, but silent"])
    seen.look(instance("error"))
    assert seen.watch.stops[0]["log"] == ["still up, but silent"]
    seen.watch.remember_log("qwen-a", ["the whole log"])
    seen.look(instance())
    seen.watch.remember_log("qwen-a", [])
    assert seen.watch.stops[0]["log"] == ["the whole log"]


def test_a_long_run_keeps_few_samples_and_every_peak() -> None:
    seen = Observed()
    for number in range(5 * MOST_SAMPLES):
        seen.look(instance(), running=1.0, waiting=9.0 if number == 1234 else 0.0, kv_cache_usage=0.1)
    samples = seen.watch.samples
    assert len(samples) < MOST_SAMPLES
    assert samples[-1]["at"] > 4.9 * MOST_SAMPLES
    assert max(sample["waiting"] for sample in samples) == 9.0
