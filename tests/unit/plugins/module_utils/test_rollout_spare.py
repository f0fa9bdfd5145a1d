# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.spare import spare_cards

V100, A100 = "Tesla V100-PCIE-32GB", "NVIDIA A100-SXM4-80GB"


def worker(name: str, cards: int, kind: str = V100, **fields: Any) -> dict[str, Any]:
    devices = [{"index": index, "name": kind, "type": "cuda"} for index in range(cards)]
    return {"name": name, "state": "ready", "maintenance": None, "status": {"gpu_devices": devices}, **fields}


def instance(name: str, *indexes: int, **fields: Any) -> dict[str, Any]:
    return {"worker_name": name, "gpu_indexes": list(indexes), **fields}


def cards(name: str, *indexes: int) -> frozenset[str]:
    return frozenset(f"{name}:cuda:{index}" for index in indexes)


RUNS = instance("a", 0, 1)
OWN = cards("a", 0, 1)


def test_cards_that_no_instance_has_are_free() -> None:
    workers = [worker("a", 2), worker("b", 2)]
    assert spare_cards(workers, [RUNS], OWN, 2) == [["b:cuda:0", "b:cuda:1"]]
    assert spare_cards(workers, [RUNS, instance("b", 1)], OWN, 1) == []


def test_whole_workers_stay_whole_where_that_can_be() -> None:
    workers = [worker("a", 2), worker("b", 8), worker("c", 4)]
    assert spare_cards(workers, [RUNS, instance("c", 0, 1)], OWN, 1) == [["c:cuda:2", "c:cuda:3"]]


def test_cards_of_another_kind_are_not_what_the_plan_was_made_for() -> None:
    assert spare_cards([worker("a", 2), worker("b", 2, A100)], [RUNS], OWN, 1) == []


def test_worker_that_takes_no_instances_has_no_free_cards() -> None:
    away = worker("b", 2, state="unreachable")
    maintained = worker("c", 2, maintenance={"enabled": True})
    assert spare_cards([worker("a", 2), away, maintained], [RUNS], OWN, 1) == []


def test_replica_over_two_workers_gets_as_many_on_each_of_two() -> None:
    workers = [worker(name, 2) for name in "abcd"]
    servers = {"subordinate_workers": [{"worker_name": "b", "gpu_indexes": [0, 1]}]}
    runs = instance("a", 0, 1, distributed_servers=servers)
    own = OWN | cards("b", 0, 1)
    assert spare_cards(workers, [runs], own, 1) == [["c:cuda:0", "c:cuda:1", "d:cuda:0", "d:cuda:1"]]
    assert spare_cards(workers[:3], [runs], own, 1) == []
