# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.memory import begun

BUILT_IN = {"os": "Linux", "arch": "amd64", "worker-name": "gpu-worker-a"}
NAME = {"name": "gpu-worker-a"}
NOTHING_TO_DO = {"GET": 3, "login": 1}


@pytest.fixture
def worker(fake: FakeGPUStack) -> dict[str, Any]:
    return fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))


def test_update_in_check_mode_shows_the_difference(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    answer = call("worker", fake, check=True, **NAME, labels={"rack": 12}, maintenance=True)
    assert answer["changed"] is True
    assert answer["diff"] == {
        "before": {"labels": BUILT_IN, "maintenance": {"enabled": False, "message": None}},
        "after": {"labels": {**BUILT_IN, "rack": "12"}, "maintenance": {"enabled": True, "message": None}},
    }
    assert answer["worker"]["maintenance"]["enabled"] is True
    assert fake.counts() == NOTHING_TO_DO


def test_labels_are_added_and_nothing_else_is_wiped(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    worker["maintenance"] = {"enabled": True, "message": "new driver"}
    assert call("worker", fake, **NAME, labels={"rack": "12"})["changed"] is True
    assert fake.writes() == [("PUT", "/v2/workers/2")]
    assert worker["labels"] == {**BUILT_IN, "rack": "12"}
    assert worker["maintenance"] == {"enabled": True, "message": "new driver"}


def test_second_run_changes_nothing(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    options = {**NAME, "labels": {"rack": 12}, "maintenance": True, "maintenance_message": "new driver"}
    call("worker", fake, **options)
    assert call("worker", fake, **options)["changed"] is False
    assert fake.counts() == NOTHING_TO_DO


def test_label_is_removed_by_null(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    call("worker", fake, **NAME, labels={"rack": "12", "row": "3"})
    assert call("worker", fake, **NAME, labels={"rack": None})["changed"] is True
    assert worker["labels"] == {**BUILT_IN, "row": "3"}
    assert call("worker", fake, **NAME, labels={"rack": None})["changed"] is False


def test_maintenance_on_and_off(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    answer = call("worker", fake, **NAME, maintenance=True, maintenance_message="new driver")
    assert (answer["worker"]["state"], worker["maintenance"]["message"]) == ("maintenance", "new driver")
    answer = call("worker", fake, **NAME, maintenance=False)
    assert (answer["changed"], answer["worker"]["state"]) == (True, "ready")
    assert worker["maintenance"] == {"enabled": False, "message": None}
    assert worker["labels"] == BUILT_IN
    assert call("worker", fake, **NAME, maintenance=False)["changed"] is False


def test_what_a_person_has_written_stays_where_nothing_else_is_said(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    worker["maintenance"] = {"enabled": True, "message": "new power supply"}
    assert call("worker", fake, **NAME, maintenance=True)["changed"] is False


@pytest.mark.parametrize("maintenance", [True, False])
def test_turn_that_was_interrupted_is_not_forgotten(
    fake: FakeGPUStack, worker: dict[str, Any], maintenance: bool
) -> None:
    worker["maintenance"] = begun(None, ["qwen"], [{"route": "qwen", "model": "qwen", "weight": 100}])
    answer = call("worker", fake, **NAME, maintenance=maintenance)
    assert "is in a turn of a roll-out that was interrupted" in answer["msg"]
    assert "playbooks/rolling_update.yml" in answer["msg"]
    assert fake.writes() == []


def test_worker_that_never_was_in_maintenance_need_not_leave_it(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    assert call("worker", fake, **NAME, maintenance=False)["changed"] is False


def test_delete_in_check_mode_writes_nothing(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    assert call("worker", fake, check=True, **NAME, state="absent")["changed"] is True
    assert fake.writes() == []


def test_delete_and_again(fake: FakeGPUStack, worker: dict[str, Any]) -> None:
    assert call("worker", fake, **NAME, state="absent")["changed"] is True
    assert fake.writes() == [("DELETE", "/v2/workers/2")]
    assert call("worker", fake, **NAME, state="absent")["changed"] is False


def test_worker_that_is_not_registered_is_an_error_with_the_remedy(fake: FakeGPUStack) -> None:
    answer = call("worker", fake, **NAME, labels={"rack": "12"})
    assert answer["msg"].startswith("No worker 'gpu-worker-a' is registered. Start its container first")


def test_worker_that_check_mode_did_not_start_is_no_error(fake: FakeGPUStack) -> None:
    answer = call("worker", fake, check=True, **NAME, labels={"rack": "12"})
    assert (answer["changed"], answer["worker"]) == (True, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": {"a": True}}, "labels has values that are neither text nor number: a"),
        ({"maintenance_message": "x"}, "missing parameter(s) required by 'maintenance_message': maintenance"),
    ],
)
def test_nonsense_is_refused(fake: FakeGPUStack, worker: dict[str, Any], options: dict[str, Any], message: str) -> None:
    assert message in call("worker", fake, **NAME, **options)["msg"]
    assert fake.writes() == []
