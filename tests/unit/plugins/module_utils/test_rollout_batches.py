# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.batches import batches

HOSTS = ["a", "b", "c", "d", "e"]


def test_canary_then_the_last_size_again_and_again() -> None:
    assert batches(HOSTS, [1, 2], {}) == [["a"], ["b", "c"], ["d", "e"]]


def test_percentages_count_all_hosts_and_are_at_least_one() -> None:
    assert batches(HOSTS, ["10%", "60%"], {}) == [["a"], ["b", "c", "d"], ["e"]]


def test_hosts_of_one_route_are_never_in_one_batch() -> None:
    routes = {"a": ["qwen"], "b": ["qwen"], "c": ["bge"], "d": ["qwen", "bge"]}
    assert batches(HOSTS, [5], routes) == [["a", "c", "e"], ["b"], ["d"]]


def test_nothing_to_do_is_no_batch() -> None:
    assert batches([], [1], {}) == []


@pytest.mark.parametrize("size", ["many", "0", 0, "0%", "-1", ""])
def test_size_that_is_none_is_told(size: str) -> None:
    with pytest.raises(ValueError, match="is no batch size"):
        batches(HOSTS, [size], {})
