# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import ON_WORKER, FakeGPUStack

R2 = {"name": "qwen-r2"}
OLD = ["--max-model-len=8192"]
NEW = ["--max-model-len=16384"]
DECLARED = {"name": "qwen", "local_path": "/m", "replicas": 2, "backend": "vLLM", "backend_parameters": NEW}


@pytest.fixture
def replicas(fake: FakeGPUStack) -> FakeGPUStack:
    """A declared model with two replicas, one on either worker."""
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("gpu-worker-a", "gpu-worker-b"):
        fake.add_worker(name, cluster)
    for name in ("qwen", "qwen-r2"):
        fake.add_model(
            name,
            source="local_path",
            local_path="/m",
            backend="vLLM",
            categories=["llm"],
            ready_replicas=1,
            backend_parameters=OLD,
            env={"HF_TOKEN": "hf_abcdefgh", "GPUOPS_CONFIGURATION": "0123456789ab 2026-03-01T09:00:00Z qwen"},
        )
    own, other = fake.routes.values()
    for target in fake.targets.values():
        target.update(route_id=own["id"])
    del fake.routes[other["id"]]
    for row, worker in zip(fake.instances.values(), ("gpu-worker-a", "gpu-worker-b")):
        row.update({**ON_WORKER, "worker_name": worker, "port": 40000})
    return fake


def model(fake: FakeGPUStack) -> dict[str, Any]:
    return next(row for row in fake.models.values() if row["name"] == "qwen-r2")


def routed(fake: FakeGPUStack) -> list[str]:
    return sorted(fake.models[target["model_id"]]["name"] for target in fake.targets.values())


def test_member_leaves_its_route_and_comes_back(replicas: FakeGPUStack) -> None:
    out = call("model_turn", replicas, **R2, state="begun")
    assert (out["changed"], out["gaps"], out["progress"]) == (True, [], "qwen-r2 left qwen")
    assert [(engine["worker"], engine["drained"]) for engine in out["engines"]] == [("gpu-worker-b", True)]
    assert routed(replicas) == ["qwen"]
    assert call("model_turn", replicas, **R2, state="begun")["changed"] is False
    back = call("model_turn", replicas, **R2, state="ended", targets=out["targets"])
    assert (back["changed"], back["settled"]) == (True, True)
    assert routed(replicas) == ["qwen", "qwen-r2"]
    assert call("model_turn", replicas, **R2, state="ended", targets=out["targets"])["changed"] is False


def test_last_one_that_serves_stays_where_that_is_asked(replicas: FakeGPUStack) -> None:
    call("model_turn", replicas, name="qwen", state="begun")
    refused = call("model_turn", replicas, **R2, state="begun", min_available=1)
    assert (refused["failed"], refused["error"]) == (True, "Conflict")
    assert routed(replicas) == ["qwen-r2"]
    assert call("model_turn", replicas, **R2, state="begun")["gaps"] == [
        "qwen does not answer meanwhile: it has no other replica"
    ]


def test_declared_configuration_is_written_to_this_member_only(replicas: FakeGPUStack) -> None:
    answer = call("model_turn", replicas, **R2, state="written", declaration=DECLARED)
    assert answer["changed"] is True
    assert answer["diff"] == {"before": {"backend_parameters": OLD}, "after": {"backend_parameters": NEW}}
    assert model(replicas)["backend_parameters"] == NEW
    assert model(replicas)["env"]["GPUOPS_CONFIGURATION"].endswith(" 2026-03-01T09:30:00Z qwen")
    assert model(replicas)["env"]["HF_TOKEN"] == "hf_abcdefgh"
    assert [row["backend_parameters"] for row in replicas.models.values()] == [OLD, NEW]
    assert call("model_turn", replicas, **R2, state="written", declaration=DECLARED)["changed"] is False


def test_secret_of_a_declaration_is_in_no_output(replicas: FakeGPUStack) -> None:
    parameters = ["--api-key=k1", "--x=http://kim:pw@host"]
    declaration = {**DECLARED, "backend_parameters": parameters, "env": {"HTTPS_PROXY": "http://kim:pw@proxy"}}
    answer = str(call("model_turn", replicas, **R2, state="written", declaration=declaration))
    assert "--api-key=********" in answer
    assert [secret for secret in ("k1", "kim", "pw@") if secret in answer] == []


def test_check_mode_writes_nothing(replicas: FakeGPUStack) -> None:
    assert call("model_turn", replicas, check=True, **R2, state="written", declaration=DECLARED)["changed"] is True
    assert call("model_turn", replicas, check=True, **R2, state="begun")["changed"] is True
    assert replicas.writes() == []


def test_kept_configuration_is_restored_with_its_secrets(replicas: FakeGPUStack) -> None:
    kept = call("model_turn", replicas, **R2, state="kept")["configuration"]
    assert kept["env"] == {"HF_TOKEN": "hf_abcdefgh"}
    call("model_turn", replicas, **R2, state="written", declaration={**DECLARED, "env": {"A": "1"}})
    replicas.advance(60)
    restored = call("model_turn", replicas, **R2, state="restored", configuration=kept)
    assert restored["changed"] is True
    assert model(replicas)["backend_parameters"] == OLD
    assert model(replicas)["env"]["HF_TOKEN"] == "hf_abcdefgh"
    assert "A" not in model(replicas)["env"]
    assert "hf_abcdefgh" not in str(restored)


def test_steady_is_what_has_run_unchanged_long_enough(replicas: FakeGPUStack) -> None:
    young = call("model_turn", replicas, **R2, state="steady", settle_seconds=30, wait_timeout=0)
    assert young["settled"] is False
    steady = call("model_turn", replicas, **R2, state="steady", settle_seconds=30)
    assert (steady["settled"], steady["waited_seconds"]) == (True, 30.0)


def test_engine_that_dies_meanwhile_fails_with_its_log(replicas: FakeGPUStack) -> None:
    replicas.instances_of("qwen-r2")[0].update(state="error", restart_count=2, state_message="engine exited")
    replicas.logs["qwen-r2"] = "CUDA error with hf_abcdefgh"
    answer = call("model_turn", replicas, **R2, state="steady")
    assert answer["failed"] is True
    assert answer["msg"].endswith("ran and is error now, after 2 restarts: engine exited")
    assert answer["log"] == ["CUDA error with ********"]


def test_model_that_is_not_there_is_told(fake: FakeGPUStack) -> None:
    answer = call("model_turn", fake, name="other", state="begun")
    assert (answer["failed"], answer["error"]) == (True, "NotFound")


def test_model_that_is_no_member_is_told(replicas: FakeGPUStack) -> None:
    answer = call("model_turn", replicas, **R2, state="written", declaration={**DECLARED, "replicas": 1})
    assert "'qwen-r2' is none of the members of 'qwen': qwen." in answer["msg"]
