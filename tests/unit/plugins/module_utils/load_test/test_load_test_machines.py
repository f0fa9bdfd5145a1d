# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.cards import cards, peaks
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.machine import BusyShare, busy_and_total
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.series import MOST_SAMPLES, Series

STAT = "cpu  100 10 50 800 40 0 0 0 30 0\ncpu0 100 10 50 800 40 0 0 0 30 0\nintr 12345\n"


def test_busy_ticks_are_all_but_idle_and_waiting_for_disks() -> None:
    assert busy_and_total(STAT) == (160, 1000)


def test_a_system_without_processor_times_tells_nothing(tmp_path: Path) -> None:
    assert busy_and_total("nonsense") is None
    assert BusyShare(str(tmp_path / "missing")).since_last() is None


def test_busy_share_is_that_of_the_time_between_two_looks(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(STAT)
    share = BusyShare(str(stat))
    stat.write_text("cpu  175 10 50 825 40 0 0 0 30 0\n")
    assert share.since_last() == 0.75
    assert share.since_last() is None


def test_cards_are_read_by_index_and_what_a_driver_does_not_tell_is_none() -> None:
    assert cards("0, 29101, 61, 98\n1, 29101, 58, [N/A]\nNo devices were found\n") == {
        "0": {"memory_used_mib": 29101.0, "temperature_c": 61.0, "utilization_percent": 98.0},
        "1": {"memory_used_mib": 29101.0, "temperature_c": 58.0, "utilization_percent": None},
    }


def test_peaks_of_several_looks_are_each_cards_own() -> None:
    first = {"at": 1.0, "gpus": cards("0, 100, 61, 98\n1, 100, 40, 0\n")}
    second = {"at": 2.0, "gpus": cards("0, 200, 55, [N/A]\n")}
    assert peaks([first, second]) == {
        "at": 2.0,
        "gpus": {
            "0": {"memory_used_mib": 200.0, "temperature_c": 61.0, "utilization_percent": 98.0},
            "1": {"memory_used_mib": 100.0, "temperature_c": 40.0, "utilization_percent": 0.0},
        },
    }


def test_a_series_stays_bounded_and_covers_all_of_the_time() -> None:
    series = Series(lambda samples: {"at": samples[-1]["at"], "looks": sum(sample["looks"] for sample in samples)})
    for at in range(10 * MOST_SAMPLES):
        series.add({"at": at, "looks": 1})
    assert MOST_SAMPLES / 2 <= len(series.samples) < MOST_SAMPLES
    assert sum(sample["looks"] for sample in series.samples) == series.samples[-1]["at"] + 1
