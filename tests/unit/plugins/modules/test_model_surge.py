# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import COMES_UP, ON_WORKER, FakeGPUStack

OLD = ["--max-model-len=8192"]
NEW = ["--max-model-len=16384"]
DECLARED: dict[str, Any] = {"name": "qwen", "local_path": "/m", "backend": "vLLM", "backend_parameters": NEW}
SURGE = "qwen-surge"


@pytest.fixture
def one_replica(fake: FakeGPUStack) -> FakeGPUStack:
    """A declared model on the two cards of one of two workers."""
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("gpu-worker-a", "gpu-worker-b"):
        fake.add_worker(name, cluster)
    fake.add_model(
        "qwen",
        source="local_path",
        local_path="/m",
        backend="vLLM",
        cluster_id=cluster["id"],
        backend_parameters=OLD,
        env={"GPUOPS_CONFIGURATION": "0123456789ab 2026-03-01T09:00:00Z"},
    )
    for row in fake.instances.values():
        row.update({**ON_WORKER, "port": 40000})
    elsewhere = {**ON_WORKER, "worker_name": "gpu-worker-b", "port": 40000}
    fake.life = lambda _instance: [{**step, **elsewhere} for step in COMES_UP]
    return fake


def bring(fake: FakeGPUStack, strategy: str = "auto", *, check: bool = False, **changes: Any) -> dict[str, Any]:
    return call("model_surge", fake, check=check, name="qwen", strategy=strategy, declaration={**DECLARED, **changes})


def model(fake: FakeGPUStack, name: str) -> dict[str, Any]:
    return next(row for row in fake.models.values() if row["name"] == name)


def weights(fake: FakeGPUStack) -> dict[str, int]:
    return {fake.models[target["model_id"]]["name"]: target["weight"] for target in fake.targets.values()}


def test_one_replica_gets_another_beside_it_where_cards_are_free(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica)
    assert (out["changed"], out["strategy"], out["reason"], out["members"]) == (
        True,
        "surge",
        "cards are free",
        [SURGE],
    )
    assert out["targets"] == [{"route": "qwen", "model": SURGE, "weight": 100}]
    made = model(one_replica, SURGE)
    assert made["backend_parameters"] == NEW
    assert made["gpu_selector"]["gpu_ids"] == ["gpu-worker-b:cuda:0", "gpu-worker-b:cuda:1"]
    assert made["env"]["GPUOPS_CONFIGURATION"].endswith(" qwen")
    assert [route["name"] for route in one_replica.routes.values()] == ["qwen"]
    assert model(one_replica, "qwen")["backend_parameters"] == OLD
    assert bring(one_replica)["changed"] is False


def test_without_free_cards_the_gap_is_what_is_left(one_replica: FakeGPUStack) -> None:
    one_replica.workers[max(one_replica.workers)]["state"] = "unreachable"
    out = bring(one_replica)
    assert (out["changed"], out["strategy"], out["members"]) == (False, "gap", [])
    assert out["reason"] == "one replica, and no free cards for another"
    refused = bring(one_replica, "surge")
    assert (refused["failed"], refused["error"]) == (True, "Conflict")
    assert "surge of qwen needs free cards for 1 more replicas, 2 of one kind each" in refused["msg"]
    assert len(one_replica.models) == 1


@pytest.mark.parametrize("strategy", ["drain", "gap", "recreate"])
def test_other_strategies_need_nothing_more(one_replica: FakeGPUStack, strategy: str) -> None:
    out = bring(one_replica, strategy)
    assert (out["changed"], out["strategy"], out["members"]) == (False, strategy, [])


def test_several_replicas_are_drained_unless_told_otherwise(one_replica: FakeGPUStack) -> None:
    assert bring(one_replica, replicas=2)["strategy"] == "drain"


def test_check_mode_creates_nothing(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica, check=True)
    assert (out["changed"], out["members"]) == (True, [SURGE])
    assert one_replica.writes() == []


def test_requests_move_in_shares_until_the_others_are_out(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica, "blue_green")
    call("model_turn", one_replica, name=SURGE, state="ended", targets=out["targets"])
    assert weights(one_replica) == {"qwen": 100, SURGE: 1}
    first = call("model_surge", one_replica, name="qwen", state="weighted", share=10)
    assert (first["changed"], first["left"]) == (True, [])
    assert weights(one_replica) == {"qwen": 90, SURGE: 10}
    last = call("model_surge", one_replica, name="qwen", state="weighted", share=100)
    assert last["left"] == ["qwen"]
    assert weights(one_replica) == {SURGE: 100}
    # The turn of the one that is out brings it back.
    turn = call("model_turn", one_replica, name="qwen", state="begun")
    assert turn["targets"] == [{"route": "qwen", "model": "qwen", "weight": 100}]
    call("model_turn", one_replica, name="qwen", state="ended", targets=turn["targets"])
    assert set(weights(one_replica)) == {"qwen", SURGE}
    assert call("model_surge", one_replica, name="qwen", state="absent")["members"] == [SURGE]
    assert [row["name"] for row in one_replica.models.values()] == ["qwen"]
    assert call("model_surge", one_replica, name="qwen", state="absent")["changed"] is False


def test_target_that_somebody_else_has_put_into_the_route_keeps_its_requests(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica, "blue_green")
    call("model_turn", one_replica, name=SURGE, state="ended", targets=out["targets"])
    canary = one_replica.add_model("canary", source="local_path", local_path="/c")
    route = next(target for target in one_replica.targets.values() if target["route_name"] == "qwen")
    target = next(target for target in one_replica.targets.values() if target["model_id"] == canary["id"])
    target.update(route_id=route["route_id"], route_name="qwen", weight=5)
    call("model_surge", one_replica, name="qwen", state="weighted", share=10)
    assert weights(one_replica) == {"qwen": 90, SURGE: 10, "canary": 5}
    assert call("model_surge", one_replica, name="qwen", state="weighted", share=100)["left"] == ["qwen"]
    assert weights(one_replica) == {SURGE: 100, "canary": 5}


def test_members_that_run_and_get_no_requests_are_told(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica, "blue_green")
    call("model_turn", one_replica, name=SURGE, state="ended", targets=out["targets"])
    assert call("model_surge", one_replica, name="qwen", state="outside")["targets"] == []
    call("model_surge", one_replica, name="qwen", state="weighted", share=100)
    found = call("model_surge", one_replica, name="qwen", state="outside")
    assert (found["changed"], found["members"]) == (False, [SURGE])
    assert found["targets"] == [{"route": "qwen", "model": "qwen", "weight": 100}]
    call("model_turn", one_replica, name="qwen", state="ended", targets=found["targets"])
    assert set(weights(one_replica)) == {"qwen", SURGE}


def test_last_one_that_serves_is_not_taken_out(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica, "blue_green")
    call("model_turn", one_replica, name=SURGE, state="ended", targets=out["targets"])
    call("model_surge", one_replica, name="qwen", state="weighted", share=100)
    refused = call("model_turn", one_replica, name=SURGE, state="begun", min_available=1)
    assert (refused["failed"], refused["error"]) == (True, "Conflict")


@pytest.mark.parametrize("share", [0, 101])
def test_share_that_is_none_is_refused(one_replica: FakeGPUStack, share: int) -> None:
    answer = call("model_surge", one_replica, name="qwen", state="weighted", share=share)
    assert answer["msg"] == f"share is {share}; wanted is a percentage from 1 to 100."


def test_name_that_somebody_else_uses_is_refused(one_replica: FakeGPUStack) -> None:
    one_replica.add_model(SURGE, source="local_path", local_path="/other")
    refused = bring(one_replica)
    assert "surge needs the name qwen-surge, which another model has." in refused["msg"]


def test_what_a_killed_run_has_left_goes_with_the_next(one_replica: FakeGPUStack) -> None:
    out = bring(one_replica)
    call("model_turn", one_replica, name=SURGE, state="ended", targets=out["targets"])
    declared = {**DECLARED, "backend_parameters": OLD}
    applied = call("models", one_replica, models=[declared], defer_running=True, evaluation="ignore")
    assert applied.get("failed", False) is False, applied
    assert [row["name"] for row in one_replica.models.values()] == ["qwen"]
