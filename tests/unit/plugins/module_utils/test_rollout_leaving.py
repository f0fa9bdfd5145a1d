# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.leaving import Leave, leave

ROUTES = [{"id": 1, "name": "qwen"}]
MODELS = [{"id": 10, "name": "qwen"}, {"id": 11, "name": "qwen-r2"}, {"id": 12, "name": "qwen-r3"}]


def target(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "route_id": 1, "model_id": number, "weight": 100, **fields}


def instance(model_id: int, worker: str, state: str = "running") -> dict[str, Any]:
    return {"name": f"instance-{model_id}", "model_id": model_id, "worker_name": worker, "state": state}


def from_a(targets: list[dict[str, Any]], instances: list[dict[str, Any]], minimum: int | None = None) -> Leave:
    return leave(lambda row: row["worker_name"] == "a", ROUTES, targets, instances, MODELS, minimum)


def test_target_leaves_where_another_serves() -> None:
    found = from_a([target(10), target(11, weight=40)], [instance(10, "b"), instance(11, "a")])
    assert found.targets == ({"route": "qwen", "model": "qwen-r2", "weight": 40},)
    assert (found.gaps, found.refusals) == ((), ())


def test_route_without_another_target_is_a_gap_and_is_left_alone() -> None:
    found = from_a([target(10)], [instance(10, "a")])
    assert found == Leave((), ("qwen does not answer meanwhile: it has no other replica",), ())


def test_replicas_of_one_model_cannot_be_taken_out_one_by_one() -> None:
    found = from_a([target(10)], [instance(10, "a"), instance(10, "b")])
    assert found.gaps == (
        "qwen does not answer meanwhile at its replica here: replicas of one GPUStack model cannot be taken out of a "
        "route one by one",
    )


def test_nothing_is_taken_out_while_another_replica_is_down() -> None:
    targets = [target(10), target(11), target(12)]
    instances = [instance(10, "a"), instance(11, "b"), instance(12, "c", "starting")]
    assert from_a(targets, instances).refusals == (
        "qwen would be left with 1 of 3 targets that serve, and must keep 2",
    )
    allowed = from_a(targets, instances, minimum=1)
    assert [row["model"] for row in allowed.targets] == ["qwen"]
    assert allowed.refusals == ()


def test_minimum_forbids_the_gap_of_a_single_replica() -> None:
    assert from_a([target(10)], [instance(10, "a")], minimum=1).refusals == (
        "qwen would be left with 0 of 1 targets that serve, and must keep 1",
    )


def test_instances_that_do_not_run_or_run_elsewhere_do_not_count() -> None:
    assert from_a([target(10)], [instance(10, "a", "error")]) == Leave((), (), ())
    assert from_a([target(10)], [instance(10, "b")]) == Leave((), (), ())


def test_target_at_another_provider_serves_on() -> None:
    outside = {"id": 9, "route_id": 1, "provider_id": 4, "weight": 1}
    found = from_a([target(10), outside], [instance(10, "a")])
    assert [row["model"] for row in found.targets] == ["qwen"]
