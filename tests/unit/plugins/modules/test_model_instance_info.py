# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("b", "a"):
        fake.add_model(name, source="local_path", local_path="/m", backend="vLLM", cluster_id=cluster["id"])
    return fake


def test_all_by_name_with_their_models(fleet: FakeGPUStack) -> None:
    instances = call("model_instance_info", fleet)["model_instances"]
    assert [(instance["model"], instance["state"], instance["stale"]) for instance in instances] == [
        ("a", "running", False),
        ("b", "running", False),
    ]
    assert "log" not in instances[0]


def test_by_model_state_and_worker(fleet: FakeGPUStack) -> None:
    (broken,) = fleet.instances_of("a")
    broken.update(state="error", worker_name="gpu-worker-z")
    fleet.logs["a"] = "one\ntwo"

    def found(**options: object) -> list[str]:
        return [instance["model"] for instance in call("model_instance_info", fleet, **options)["model_instances"]]

    assert found(state="error") == ["a"]
    assert found(model="b") == ["b"]
    assert found(model="c") == []
    assert found(worker="gpu-worker-a") == ["b"]
    (row,) = call("model_instance_info", fleet, model="a", log_lines=1)["model_instances"]
    assert row["log"] == ["two"]


def test_further_workers_of_a_distributed_instance_count(fleet: FakeGPUStack) -> None:
    (instance,) = fleet.instances_of("a")
    instance["distributed_servers"] = {"subordinate_workers": [{"worker_name": "gpu-worker-b"}]}
    rows = call("model_instance_info", fleet, worker="gpu-worker-b")["model_instances"]
    assert [row["model"] for row in rows] == ["a"]
