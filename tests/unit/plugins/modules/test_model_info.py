# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    fake.add_cluster("racks")
    for name in ("qwen", "bge"):
        fake.add_model(name, source="local_path", local_path=f"/{name}", cluster_id=1, env={"HF_TOKEN": "hf_abcdefgh"})
    return fake


def test_models_by_name_with_routes_and_instances(fleet: FakeGPUStack) -> None:
    answer = call("model_info", fleet)
    assert answer["changed"] is False
    assert [model["name"] for model in answer["models"]] == ["bge", "qwen"]
    qwen = answer["models"][1]
    assert qwen["edited"] is None
    assert (qwen["configuration"], qwen["stale_instances"], qwen["env"]) == (None, [], {"HF_TOKEN": "********"})
    (route,) = qwen["routes"]
    assert (route["name"], route["access_policy"], route["weight"], route["state"]) == ("qwen", "authed", 100, "active")
    (instance,) = qwen["instances"]
    assert (instance["state"], instance["worker_name"], instance["stale"]) == ("running", "gpu-worker-a", False)
    assert "log" not in instance


def test_number_of_requests_does_not_grow_with_the_models(fleet: FakeGPUStack) -> None:
    call("model_info", fleet)
    assert fleet.counts() == {"GET": 6, "login": 1}
    fleet.add_model("third", source="local_path", local_path="/m", cluster_id=1)
    call("model_info", fleet)
    assert fleet.counts() == {"GET": 6, "login": 1}


def test_one_model_is_asked_for_alone(fleet: FakeGPUStack) -> None:
    (model,) = call("model_info", fleet, name="qwen")["models"]
    assert [instance["name"].rsplit("-", 1)[0] for instance in model["instances"]] == ["qwen"]
    assert call("model_info", fleet, name="qwe")["models"] == []


def test_instance_of_an_older_configuration_is_told(fleet: FakeGPUStack) -> None:
    fleet.advance(60)
    call("model", fleet, name="qwen", backend_parameters=["--a=1"], recreate=False, wait=False)
    (model,) = call("model_info", fleet, name="qwen")["models"]
    assert model["configuration"].endswith(" 2026-03-01T09:31:00Z")
    assert model["edited"] is False
    assert model["stale_instances"] == [model["instances"][0]["name"]]
    assert model["instances"][0]["stale"] is True


def test_further_workers_of_a_distributed_instance(fleet: FakeGPUStack) -> None:
    (instance,) = fleet.instances_of("qwen")
    further = {"worker_name": "gpu-worker-b", "gpu_indexes": [0, 1], "state": "running", "ports": [1, 2]}
    instance["distributed_servers"] = {"mode": "initialize_later", "subordinate_workers": [further]}
    (model,) = call("model_info", fleet, name="qwen")["models"]
    (worker,) = model["instances"][0]["distributed_servers"]["subordinate_workers"]
    assert (worker["worker_name"], worker["gpu_indexes"], worker["state"]) == ("gpu-worker-b", [0, 1], "running")


def test_end_of_the_log_without_secrets(fleet: FakeGPUStack) -> None:
    fleet.logs["qwen"] = "one\ntwo hf_abcdefgh\nthree"
    (model,) = call("model_info", fleet, name="qwen", log_lines=2)["models"]
    assert model["instances"][0]["log"] == ["two ********", "three"]


def test_instance_without_a_worker_has_no_log(fleet: FakeGPUStack) -> None:
    fleet.life = lambda row: []
    fleet.instances_of("qwen")[0]["worker_name"] = None
    (model,) = call("model_info", fleet, name="qwen", log_lines=2)["models"]
    assert model["instances"][0]["log"] == []
    assert [r.path for r in fleet.requests if r.path.endswith("/logs")] == []


def test_empty_server(fake: FakeGPUStack) -> None:
    assert call("model_info", fake)["models"] == []
    assert fake.counts() == {"GET": 3, "login": 1}
