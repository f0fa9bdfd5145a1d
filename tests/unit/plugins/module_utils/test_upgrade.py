# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.filter.upgrade import FilterModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.upgrade import IDENTITY, other_releases

filters = FilterModule().filters()
problems, differences = filters["release_problems"], filters["snapshot_differences"]


def test_way_to_a_known_release_is_open() -> None:
    assert problems("v2.1.1", "2.3.0") == []
    assert problems("v2.1.1", "2.1.1") == []


@pytest.mark.parametrize(
    ("origin", "declared", "words"),
    [
        ("v2.3.0", "2.1.1", "GPUStack's database does not go back"),
        ("v0.7.1", "2.1.1", "have lost clusters and workers"),
        ("v2.1.1", "2.4.0", "a release below 2.4.0, which nobody has tried"),
        ("v2.1.1", "2.2.0", "Take 2.2.1 or later"),
        ("v2.1.1", "latest", "'latest' is no release of GPUStack"),
        ("v0.0.0-dirty", "2.1.1", "have lost clusters"),
        (None, "2.1.1", "None is no release of GPUStack"),
    ],
)
def test_way_that_breaks_is_refused(origin: str, declared: str, words: str) -> None:
    (problem,) = problems(origin, declared)
    assert words in problem


def test_refusal_says_what_was_found_what_was_wanted_and_what_to_do() -> None:
    assert problems("v2.3.0", "2.1.1", "the backup was made by") == [
        "The backup was made by 2.3.0, and 2.1.1 is declared; wanted is the same release or a later one: GPUStack's "
        "database does not go back. Set gpustack_server_version to 2.3.0, or restore a backup that was made before the "
        "upgrade (playbooks/restore.yml)."
    ]


def test_server_that_runs_a_broken_release_may_stay_and_leave() -> None:
    assert problems("v2.2.0", "2.2.0") == []
    assert problems("v2.2.0", "2.2.3") == []


def test_workers_of_another_release_than_the_server_are_named() -> None:
    assert other_releases("2.3.0", {"b": "2.1.1", "a": "v2.3.0"}) == {"b": "2.1.1"}


def test_what_is_gone_or_another_is_told_and_what_is_new_is_not() -> None:
    before = {"model": {"qwen": {"id": 1, "replicas": 2}, "bge": {"id": 2}}, "worker": {"a": {"id": 1, "old": 1}}}
    after = {"model": {"qwen": {"id": 1, "replicas": 1}, "new": {"id": 3}}, "worker": {"a": {"id": 1}}}
    assert differences(before, after) == ["model qwen: replicas was 2 and is 1", "model bge is gone"]
    assert differences(before, before) == []


def test_what_is_declared_may_change_and_identities_may_not() -> None:
    before = {"model": {"qwen": {"id": 1, "replicas": 2}}, "worker": {"a": {"id": 1, "labels": {}}}}
    after = {"model": {"qwen": {"id": 1, "replicas": 1}}, "worker": {"a": {"id": 3, "labels": 1}}}
    assert differences(before, after, IDENTITY) == ["worker a: id was 1 and is 3"]


def test_snapshot_is_summed_up_by_kind() -> None:
    taken = {"cluster": {"racks": {}}, "worker": {"a": {}, "b": {}}, "API key": {}}
    assert filters["snapshot_summary"](taken) == ["1 cluster", "2 workers", "0 API keys"]


@pytest.mark.parametrize(
    ("server", "worker", "through"),
    [
        ("2.1.1", "v2.1.2", True),
        ("2.3.0", "2.2.0", True),
        ("v2.3.0", "v2.1.1", False),
        ("2.1.2", "2.2.0", False),
        ("2.3.0", "", True),
    ],
)
def test_requests_come_through_between_releases_that_name_engines_alike(
    server: str, worker: str, through: bool
) -> None:
    assert filters["forwards_to"](server, worker) is through
