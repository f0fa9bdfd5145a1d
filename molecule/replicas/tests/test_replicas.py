# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One declared model with several replicas, each a model of its own behind one route.

The tests are the steps of one story and run in the order written: one replica on two cards of one host, a second one on
the other host, nothing to do, another name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from demo_fleet import Fleet, engine_command_lines, site

NAME = "qwen2.5-14b-instruct"
SECRET = "hf_of_the_scenario_replicas"
BY_HAND = "made-by-hand"


@pytest.fixture(scope="module", name="fleet")
def fixture_fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    fleet.delete_all_models()
    # Stopped, so that it takes no cards.
    fleet.deploy(BY_HAND, "Qwen2.5-14B-Instruct", replicas=0)
    yield fleet
    fleet.delete_all_models()


def declared(**changes: Any) -> tuple[str, str]:
    source = {"local_path": "/var/lib/models/Qwen2.5-14B-Instruct"}
    model = {"name": NAME, "gpus": 2, "context": 16384, "source": source, "env": {"HF_TOKEN": SECRET}, **changes}
    return "--extra-vars", json.dumps({"gpustack_models_declared": [model]})


def served_on(fleet: Fleet, *models: str) -> list[str]:
    """The workers on which running instances of these models are."""
    instances = [instance for model in models for instance in fleet.instances(model)]
    return sorted(instance["worker_name"] for instance in instances if instance["state"] == "running")


def in_route(fleet: Fleet, name: str) -> list[str]:
    names = {model["id"]: model["name"] for model in fleet.items("/v2/models")}
    targets = fleet.items("/v2/model-route-targets")
    return sorted(names[target["model_id"]] for target in targets if target["route_name"] == name)


def test_one_replica_runs_and_no_secret_is_in_the_loudest_output(fleet: Fleet) -> None:
    run = site(*declared(), "-vvv", "--diff")
    assert run.returncode == 0, run.stdout[-5000:]
    assert SECRET not in run.stdout + run.stderr
    assert (fleet.model(NAME) or {})["env"]["HF_TOKEN"] == SECRET
    assert len(served_on(fleet, NAME)) == 1


def test_second_replica_comes_beside_the_first_which_runs_on(fleet: Fleet) -> None:
    (first,) = fleet.instances(NAME)
    run = site(*declared(replicas=2))
    assert run.returncode == 0, run.stdout[-5000:]
    assert [instance["id"] for instance in fleet.instances(NAME)] == [first["id"]]
    assert served_on(fleet, NAME, f"{NAME}-r2") == ["gpu-worker-a", "gpu-worker-b"]
    assert in_route(fleet, NAME) == [NAME, f"{NAME}-r2"]
    assert len(engine_command_lines(NAME)) == 2
    assert "1 model runs as planned" in run.stdout


def test_what_users_call_is_one_model_that_both_replicas_answer(fleet: Fleet) -> None:
    called = {entry["id"] for entry in fleet.request("GET", "/v1/models").json()["data"]}
    assert (NAME in called, f"{NAME}-r2" in called) == (True, False)
    instances = [*fleet.instances(NAME), *fleet.instances(f"{NAME}-r2")]
    before = [answered(instance) for instance in instances]
    answers = [fleet.chat(NAME, "Hello?", max_tokens=4) for _number in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 8
    assert all(answered(instance) > count for instance, count in zip(instances, before, strict=True))


def answered(instance: dict[str, Any]) -> float:
    """How many requests the engine has answered, as its own metrics tell."""
    text = requests.get(f"http://{instance['worker_ip']}:{instance['port']}/metrics", timeout=10).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("vllm:request_success_total"))


def test_nothing_is_to_be_done_twice(fleet: Fleet) -> None:
    run = site(*declared(replicas=2))
    assert "Nothing changed: everything is as declared." in run.stdout, run.stdout[-3000:]


def test_renamed_model_takes_the_cards_of_the_old_one_and_what_was_made_by_hand_stays(fleet: Fleet) -> None:
    run = site(*declared(name="assistant"), "--extra-vars", "gpustack_models_prune=true")
    assert run.returncode == 0, run.stdout[-5000:]
    assert sorted(model["name"] for model in fleet.items("/v2/models")) == ["assistant", BY_HAND]
    assert NAME not in {route["name"] for route in fleet.items("/v2/model-routes")}
    assert fleet.chat("assistant", "Hello?", max_tokens=4).status_code == 200
