# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import ON_WORKER, FakeGPUStack

A = {"name": "gpu-worker-a"}
ON_B = {**ON_WORKER, "worker_id": 2, "worker_name": "gpu-worker-b", "worker_ip": "192.0.2.12", "port": 40000}


@pytest.fixture
def two_replicas(fake: FakeGPUStack) -> FakeGPUStack:
    """One route with a replica on either worker, each a model of its own."""
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("gpu-worker-a", "gpu-worker-b"):
        fake.add_worker(name, cluster)
    for name in ("qwen", "qwen-r2"):
        fake.add_model(name, source="local_path", local_path="/m", backend="vLLM", categories=["llm"], ready_replicas=1)
    own, other = fake.routes.values()
    for target in fake.targets.values():
        target.update(route_id=own["id"])
    del fake.routes[other["id"]]
    for row, place in zip(fake.instances.values(), ({**ON_WORKER, "port": 40000}, ON_B)):
        row.update(place)
    return fake


def worker(fake: FakeGPUStack, name: str = "gpu-worker-a") -> dict[str, Any]:
    return next(row for row in fake.workers.values() if row["name"] == name)


def routed(fake: FakeGPUStack) -> list[str]:
    return sorted(fake.models[target["model_id"]]["name"] for target in fake.targets.values())


def test_worker_goes_out_and_comes_back_as_it_was(two_replicas: FakeGPUStack) -> None:
    fake = two_replicas
    labels = dict(worker(fake)["labels"])
    out = call("worker_turn", fake, **A, state="begun")
    assert (out["changed"], out["settled"], out["gaps"], out["interrupted"]) == (True, True, [], False)
    assert out["progress"] == "gpu-worker-a is out; qwen left qwen"
    assert out["engines"] == [
        {
            "instance": fake.instances_of("qwen")[0]["name"],
            "model": "qwen",
            "address": "192.0.2.11:40000",
            "drained": True,
            "chats": True,
        }
    ]
    assert (worker(fake)["state"], routed(fake)) == ("maintenance", ["qwen-r2"])

    assert call("worker_turn", fake, **A, state="resumed")["settled"] is True
    assert (worker(fake)["state"], routed(fake)) == ("ready", ["qwen-r2"])

    back = call("worker_turn", fake, **A, state="ended")
    assert (back["changed"], back["settled"], back["progress"]) == (True, True, "gpu-worker-a is back")
    assert routed(fake) == ["qwen", "qwen-r2"]
    assert [target["weight"] for target in fake.targets.values()] == [100, 100]
    assert worker(fake)["maintenance"] == {"enabled": False, "message": None}
    assert worker(fake)["labels"] == labels


def test_every_state_is_reached_once(two_replicas: FakeGPUStack) -> None:
    for state in ("begun", "resumed", "ended"):
        assert call("worker_turn", two_replicas, **A, state=state)["changed"] is True
        assert call("worker_turn", two_replicas, **A, state=state)["changed"] is False
        assert two_replicas.writes() == []


def test_check_mode_tells_and_writes_nothing(two_replicas: FakeGPUStack) -> None:
    out = call("worker_turn", two_replicas, check=True, **A, state="begun")
    assert (out["changed"], out["routes"]) == (True, ["qwen"])
    assert two_replicas.writes() == []


def test_maintenance_of_a_person_outlives_the_turn(two_replicas: FakeGPUStack) -> None:
    before = {"enabled": True, "message": "New power supply"}
    worker(two_replicas).update(maintenance=dict(before), state="maintenance")
    for state in ("begun", "resumed", "ended"):
        call("worker_turn", two_replicas, **A, state=state)
        assert worker(two_replicas)["state"] == "maintenance"
    assert worker(two_replicas)["maintenance"] == before


def test_second_worker_stays_while_the_first_is_out(two_replicas: FakeGPUStack) -> None:
    call("worker_turn", two_replicas, **A, state="begun")
    two_replicas.instances_of("qwen")[0]["state"] = "starting"
    refused = call("worker_turn", two_replicas, name="gpu-worker-b", state="begun", min_available=1)
    assert (refused["failed"], refused["error"]) == (True, "Conflict")
    assert "qwen would be left with 0 of 1 targets that serve, and must keep 1" in refused["msg"]
    assert two_replicas.writes() == []


def test_turn_of_a_killed_run_is_ended_by_the_next(two_replicas: FakeGPUStack) -> None:
    call("worker_turn", two_replicas, **A, state="begun")
    again = call("worker_turn", two_replicas, **A, state="begun")
    assert (again["interrupted"], again["changed"]) == (True, False)
    assert [target["model"] for target in again["targets"]] == ["qwen"]
    call("worker_turn", two_replicas, **A, state="ended")
    assert routed(two_replicas) == ["qwen", "qwen-r2"]


def test_waits_for_instances_that_ran_before(two_replicas: FakeGPUStack) -> None:
    call("worker_turn", two_replicas, **A, state="begun")
    row = two_replicas.instances_of("qwen")[0]
    two_replicas._ages[row["id"]] = 1  # it comes up again while it is waited for
    row["state"] = "starting"
    look = call("worker_turn", two_replicas, **A, state="resumed", wait_timeout=0)
    assert look["settled"] is False
    assert look["progress"] == f"gpu-worker-a: waiting for {row['name']} (downloading)"
    assert call("worker_turn", two_replicas, **A, state="resumed")["settled"] is True


def test_time_that_is_over_is_no_success(two_replicas: FakeGPUStack) -> None:
    call("worker_turn", two_replicas, **A, state="begun")
    two_replicas.life = lambda row: [{"state": "error"}] * 100
    row = two_replicas.instances_of("qwen")[0]
    two_replicas._ages[row["id"]] = 0
    end = call("worker_turn", two_replicas, **A, state="resumed", wait_timeout=9)
    assert (end["settled"], end["waited_seconds"]) == (False, 9.0)


def test_model_that_is_gone_meanwhile_is_not_waited_for(two_replicas: FakeGPUStack) -> None:
    call("worker_turn", two_replicas, **A, state="begun")
    gone = next(model for model in two_replicas.models.values() if model["name"] == "qwen")
    two_replicas.instances = {i: row for i, row in two_replicas.instances.items() if row["model_id"] != gone["id"]}
    del two_replicas.models[gone["id"]]
    assert call("worker_turn", two_replicas, **A, state="resumed")["settled"] is True
    assert call("worker_turn", two_replicas, **A, state="ended")["settled"] is True
    assert routed(two_replicas) == ["qwen-r2"]


def test_unknown_worker_is_told(fake: FakeGPUStack) -> None:
    answer = call("worker_turn", fake, name="gpu-worker-z", state="begun")
    assert (answer["failed"], answer["error"]) == (True, "NotFound")
    assert answer["msg"].startswith("No worker 'gpu-worker-z' is registered")


def declared(fake: FakeGPUStack) -> None:
    """As the collection has made them: each says for which declared model."""
    for row in fake.models.values():
        row["env"] = {"GPUOPS_CONFIGURATION": "0123456789ab 2026-03-01T09:00:00Z qwen"}


def test_replica_that_an_interrupted_turn_has_left_out_serves_before_the_worker_goes(
    two_replicas: FakeGPUStack,
) -> None:
    declared(two_replicas)
    call("model_turn", two_replicas, name="qwen-r2", state="begun")
    assert routed(two_replicas) == ["qwen"]
    out = call("worker_turn", two_replicas, **A, state="begun")
    assert (out["settled"], out["gaps"]) == (True, [])
    assert routed(two_replicas) == ["qwen-r2"]


def test_what_another_worker_s_turn_has_taken_out_stays_out(two_replicas: FakeGPUStack) -> None:
    declared(two_replicas)
    call("worker_turn", two_replicas, name="gpu-worker-b", state="begun")
    out = call("worker_turn", two_replicas, **A, state="begun")
    assert routed(two_replicas) == ["qwen"]
    assert out["gaps"] == ["qwen does not answer meanwhile: it has no other replica"]
