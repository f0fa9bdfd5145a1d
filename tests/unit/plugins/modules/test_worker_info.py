# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_workers_by_name_with_cluster_and_gpus_by_index(fake: FakeGPUStack) -> None:
    racks = fake.add_cluster("racks")
    fake.add_worker("gpu-worker-b", racks)
    fake.add_worker("gpu-worker-a", racks, maintenance={"enabled": True, "message": "new driver"}, state="maintenance")
    answer = call("worker_info", fake)
    assert answer["changed"] is False
    assert [worker["name"] for worker in answer["workers"]] == ["gpu-worker-a", "gpu-worker-b"]
    worker = answer["workers"][0]
    assert (worker["cluster"], worker["state"], worker["version"]) == ("racks", "maintenance", None)
    assert worker["maintenance"] == {"enabled": True, "message": "new driver"}
    assert [gpu["index"] for gpu in worker["gpu_devices"]] == [0, 1]
    assert worker["gpu_devices"][0] == {
        "index": 0,
        "name": "Tesla V100-PCIE-32GB",
        "uuid": None,
        "vendor": "nvidia",
        "type": "cuda",
        "arch_family": "Volta",
        "compute_capability": "7.0",
        "driver_version": None,
        "runtime_version": "12.9",
        "memory_total_mib": 32768,
        "memory_used_mib": 3,
        "memory_allocated_mib": None,
    }
    assert fake.counts() == {"GET": 4, "login": 1}


def test_worker_of_a_newer_server_tells_its_version(fake: FakeGPUStack) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"), worker_version="v2.3.0")
    assert call("worker_info", fake, name="gpu-worker-a")["workers"][0]["version"] == "v2.3.0"


def test_worker_that_has_just_registered_has_no_gpus_yet(fake: FakeGPUStack) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"), status=None)
    assert call("worker_info", fake)["workers"][0]["gpu_devices"] == []


def test_only_workers_of_the_cluster_and_name(fake: FakeGPUStack) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    fake.add_worker("gpu-worker-b", fake.add_cluster("lab"))
    assert [w["name"] for w in call("worker_info", fake, cluster="lab")["workers"]] == ["gpu-worker-b"]
    assert call("worker_info", fake, name="gpu-worker-a", cluster="lab")["workers"] == []
    assert call("worker_info", fake, name="gpu-worker")["workers"] == []


def test_unknown_cluster_is_an_error(fake: FakeGPUStack) -> None:
    fake.add_cluster("racks")
    assert "There is no cluster 'lab'; there are: racks." in call("worker_info", fake, cluster="lab")["msg"]
