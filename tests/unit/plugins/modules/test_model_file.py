# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

QWEN: dict[str, Any] = {"worker": "gpu-worker-a", "huggingface_repo_id": "Qwen/Qwen2.5-14B-Instruct"}


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    return fake


def test_create_in_check_mode_writes_nothing(fleet: FakeGPUStack) -> None:
    answer = call("model_file", fleet, check=True, **QWEN)
    assert answer["diff"]["after"] == {"source": "huggingface", "huggingface_repo_id": QWEN["huggingface_repo_id"]}
    assert fleet.writes() == []


def test_create_waits_until_it_is_there(fleet: FakeGPUStack) -> None:
    answer = call("model_file", fleet, **QWEN)
    assert fleet.writes() == [("POST", "/v2/model-files")]
    assert (answer["model_file"]["state"], answer["model_file"]["worker"]) == ("ready", "gpu-worker-a")


def test_second_run_changes_nothing(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN)
    assert call("model_file", fleet, **QWEN)["changed"] is False
    assert fleet.counts() == {"GET": 5, "login": 1}


def test_update_in_check_mode_and_update(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN)
    answer = call("model_file", fleet, check=True, **QWEN, cleanup_on_delete=True)
    assert answer["diff"] == {"before": {"cleanup_on_delete": None}, "after": {"cleanup_on_delete": True}}
    assert fleet.writes() == []
    assert call("model_file", fleet, **QWEN, cleanup_on_delete=True)["changed"] is True
    assert call("model_file", fleet, **QWEN, cleanup_on_delete=True)["changed"] is False


def test_another_variant_is_another_file(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN)
    assert call("model_file", fleet, **QWEN, huggingface_filename="*q4*.gguf")["changed"] is True
    assert call("model_file", fleet, **QWEN, local_dir="/data")["changed"] is True
    assert len(fleet.model_files) == 3


def test_what_failed_is_fetched_again(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN)
    (file,) = fleet.model_files.values()
    file.update(state="error", state_message="disk full")
    answer = call("model_file", fleet, **QWEN)
    assert answer["diff"] == {"before": {"state": "error"}, "after": {"state": "downloading"}}
    assert fleet.writes() == [("POST", f"/v2/model-files/{file['id']}/reset")]
    assert answer["model_file"]["state"] == "ready"


def test_failure_is_told_with_its_reason(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN, wait=False)
    (file,) = fleet.model_files.values()
    file["state"] = "ready"
    call("model_file", fleet, **QWEN, wait=False)
    file.update(state="downloading", download_progress=-100)
    answer = call("model_file", fleet, **QWEN, wait_timeout=0)
    assert "After 0 seconds" in answer["msg"]


def test_delete_in_check_mode_and_delete_and_again(fleet: FakeGPUStack) -> None:
    call("model_file", fleet, **QWEN)
    assert call("model_file", fleet, check=True, **QWEN, state="absent")["changed"] is True
    assert fleet.writes() == []
    assert call("model_file", fleet, **QWEN, state="absent", cleanup_on_delete=True)["changed"] is True
    (delete,) = [request for request in fleet.requests if request.method == "DELETE"]
    assert delete.query == {"cleanup": "true"}
    assert call("model_file", fleet, **QWEN, state="absent")["changed"] is False


def test_worker_that_is_not_registered(fleet: FakeGPUStack) -> None:
    other = {**QWEN, "worker": "gpu-worker-z"}
    assert "No worker 'gpu-worker-z' is registered." in call("model_file", fleet, **other)["msg"]
    assert call("model_file", fleet, check=True, **other)["changed"] is True
    assert call("model_file", fleet, **other, state="absent")["changed"] is False


def test_one_place_is_needed(fleet: FakeGPUStack) -> None:
    answer = call("model_file", fleet, worker="gpu-worker-a")
    assert "one of the following is required: huggingface_repo_id, model_scope_model_id, local_path" in answer["msg"]
