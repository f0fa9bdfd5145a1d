# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.filter.upgrade import FilterModule

filters = FilterModule().filters()
problems, differences = filters["upgrade_problems"], filters["snapshot_differences"]


def test_way_to_a_known_release_is_open() -> None:
    assert problems("v2.1.1", "2.3.0", {"a": "2.3.0", "b": "2.3.0"}) == []
    assert problems("v2.1.1", "2.1.1", {"a": "2.1.1"}) == []


@pytest.mark.parametrize(
    ("running", "server", "workers", "words"),
    [
        ("v2.3.0", "2.1.1", {}, "GPUStack's database cannot go back"),
        ("v0.7.1", "2.1.1", {}, "an upgrade in place has lost clusters and workers"),
        ("v2.1.1", "2.4.0", {}, "nobody has tried 2.4.0 and later"),
        ("v2.1.1", "2.2.0", {}, "take 2.2.1 or later"),
        ("v2.1.1", "2.3.0", {"a": "2.1.1", "b": "2.3.0"}, "something else: a 2.1.1."),
        ("v2.1.1", "latest", {}, "'latest' is no release of GPUStack"),
        (None, "2.1.1", {}, "None is no release of GPUStack"),
    ],
)
def test_way_that_breaks_is_refused(running: str, server: str, workers: dict, words: str) -> None:
    (problem,) = problems(running, server, workers)
    assert words in problem


def test_server_that_runs_a_broken_release_may_stay_and_leave() -> None:
    assert problems("v2.2.0", "2.2.0", {}) == []
    assert problems("v2.2.0", "2.2.3", {}) == []


def test_what_is_gone_or_another_is_told_and_what_is_new_is_not() -> None:
    before = {"model": {"qwen": {"id": 1, "replicas": 2}, "bge": {"id": 2}}, "worker": {"a": {"id": 1, "old": 1}}}
    after = {"model": {"qwen": {"id": 1, "replicas": 1}, "new": {"id": 3}}, "worker": {"a": {"id": 1}}}
    assert differences(before, after) == ["model qwen: replicas was 2 and is 1", "model bge is gone"]
    assert differences(before, before) == []
