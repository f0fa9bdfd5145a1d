# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

RACKS = {"name": "racks", "description": "V100 racks", "worker_config": {"worker_port": 10150}}
NOTHING_TO_DO = {"GET": 3, "login": 1}


def test_create_in_check_mode_writes_nothing(fake: FakeGPUStack) -> None:
    answer = call("cluster", fake, check=True, **RACKS, default=True)
    assert answer["changed"] is True
    assert answer["diff"] == {"before": {"is_default": False}, "after": {**RACKS, "is_default": True}}
    assert (answer["cluster"]["name"], answer["cluster"]["is_default"]) == ("racks", True)
    assert fake.counts() == NOTHING_TO_DO


def test_create(fake: FakeGPUStack) -> None:
    answer = call("cluster", fake, **RACKS, default=True)
    assert answer["changed"] is True
    assert fake.writes() == [("POST", "/v2/clusters"), ("POST", "/v2/clusters/1/set-default")]
    assert fake.requests[4].body == {**RACKS, "provider": "Docker"}
    assert answer["cluster"]["id"] == 1


def test_second_run_changes_nothing(fake: FakeGPUStack) -> None:
    call("cluster", fake, **RACKS, default=True)
    assert call("cluster", fake, **RACKS, default=True)["changed"] is False
    assert fake.counts() == NOTHING_TO_DO


def test_update_in_check_mode_shows_the_difference(fake: FakeGPUStack) -> None:
    call("cluster", fake, **RACKS)
    answer = call("cluster", fake, check=True, name="racks", worker_config={"debug": True})
    assert answer["diff"] == {
        "before": {"worker_config": {"worker_port": 10150}},
        "after": {"worker_config": {"worker_port": 10150, "debug": True}},
    }
    assert fake.writes() == []


def test_update_changes_only_what_is_given(fake: FakeGPUStack) -> None:
    call("cluster", fake, **RACKS)
    assert call("cluster", fake, name="racks", worker_config={"debug": True})["changed"] is True
    assert fake.writes() == [("PUT", "/v2/clusters/1")]
    assert fake.clusters[1]["description"] == "V100 racks"
    assert fake.clusters[1]["worker_config"] == {"worker_port": 10150, "debug": True}
    assert (
        call("cluster", fake, name="racks", worker_config={"debug": True, "worker_port": "10150"})["changed"] is False
    )


def test_default_moves_from_one_cluster_to_another(fake: FakeGPUStack) -> None:
    fake.add_cluster("old", is_default=True)
    fake.add_cluster("new")
    assert call("cluster", fake, name="new", default=True)["changed"] is True
    assert [cluster["is_default"] for cluster in fake.clusters.values()] == [False, True]
    assert call("cluster", fake, name="old")["changed"] is False


def test_delete_in_check_mode_writes_nothing(fake: FakeGPUStack) -> None:
    call("cluster", fake, **RACKS)
    assert call("cluster", fake, check=True, name="racks", state="absent")["changed"] is True
    assert fake.writes() == []


def test_delete_and_again(fake: FakeGPUStack) -> None:
    call("cluster", fake, **RACKS)
    assert call("cluster", fake, name="racks", state="absent")["changed"] is True
    assert fake.writes() == [("DELETE", "/v2/clusters/1")]
    assert call("cluster", fake, name="racks", state="absent")["changed"] is False


def test_cluster_in_use_is_not_deleted_but_explained(fake: FakeGPUStack) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    answer = call("cluster", fake, name="racks", state="absent")
    assert (answer["status"], answer["failed"]) == (409, True)
    assert "has workers, cannot be deleted" in answer["msg"]


def test_secret_among_the_defaults_of_workers_is_in_no_output(fake: FakeGPUStack) -> None:
    secret = {"name": "racks", "worker_config": {"huggingface_token": "hf_abcdefgh", "debug": True}}
    answer = call("cluster", fake, **secret)
    assert "hf_abcdefgh" not in str(answer)
    assert answer["cluster"]["worker_config"] == {"huggingface_token": "********", "debug": True}
    assert fake.clusters[1]["worker_config"]["huggingface_token"] == "hf_abcdefgh"
    secret["worker_config"] = {"huggingface_token": "hf_ijklmnop"}
    answer = call("cluster", fake, **secret)
    assert answer["diff"]["after"] == {"worker_config": {"huggingface_token": "******** (changed)", "debug": True}}


@pytest.mark.parametrize("name", ["rack", "RACKS", "racks "])
def test_only_the_very_name_counts(fake: FakeGPUStack, name: str) -> None:
    fake.add_cluster("racks")
    assert call("cluster", fake, check=True, name=name)["changed"] is True
