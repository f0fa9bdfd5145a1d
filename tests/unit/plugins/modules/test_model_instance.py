# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import CRASHES, FakeGPUStack


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    cluster = fake.add_cluster("racks", is_default=True)
    fake.add_worker("gpu-worker-a", cluster)
    fake.add_model("qwen", source="local_path", local_path="/m", backend="vLLM", cluster_id=cluster["id"], replicas=2)
    fake.advance(3600)
    return fake


def names(fake: FakeGPUStack) -> list[str]:
    return sorted(instance["name"] for instance in fake.instances_of("qwen"))


ALL: dict[str, Any] = {"model": "qwen", "created_before": "2026-03-01T10:00:00Z"}


def test_check_mode_tells_what_would_go(fleet: FakeGPUStack) -> None:
    answer = call("model_instance", fleet, check=True, **ALL)
    assert (answer["changed"], answer["replaced"]) == (True, names(fleet))
    assert fleet.writes() == []


def test_one_after_the_other_and_only_once(fleet: FakeGPUStack) -> None:
    old = names(fleet)
    answer = call("model_instance", fleet, **ALL)
    assert answer["replaced"] == old
    assert set(names(fleet)).isdisjoint(old)
    assert [instance["state"] for instance in answer["model_instances"]] == ["running", "running"]
    first, second = (i for i, request in enumerate(fleet.requests) if request.method == "DELETE")
    assert second - first > 4  # looked meanwhile until the first one's successor ran
    assert call("model_instance", fleet, **ALL)["changed"] is False


def test_one_by_its_name(fleet: FakeGPUStack) -> None:
    first, second = names(fleet)
    fleet.logs["qwen"] = "started\nhangs"
    answer = call("model_instance", fleet, name=first, log_lines=1)
    assert (answer["replaced"], answer["logs"]) == ([first], {first: ["hangs"]})
    assert second in names(fleet)
    assert call("model_instance", fleet, name=first)["changed"] is False


def test_without_waiting_all_go_at_once(fleet: FakeGPUStack) -> None:
    call("model_instance", fleet, **ALL, wait=False)
    assert [method for method, _path in fleet.writes()] == ["DELETE", "DELETE"]


def test_one_that_does_not_come_up_stops_the_rest(fleet: FakeGPUStack) -> None:
    old = names(fleet)
    fleet.life = lambda instance: CRASHES
    answer = call("model_instance", fleet, **ALL)
    assert answer["failed"] is True
    assert "stopped and was restarted" in answer["msg"]
    assert answer["replaced"] == old[:1]
    assert old[1] in names(fleet)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "x", "created_before": "2026-03-01"}, "There is no model 'x'; there are: qwen."),
        ({"model": "qwen", "created_before": "yesterday"}, "created_before is 'yesterday'; wanted is a time such as"),
        ({"model": "qwen"}, "parameters are required together: model, created_before"),
    ],
)
def test_nonsense_is_refused(fleet: FakeGPUStack, options: dict[str, Any], message: str) -> None:
    assert message in call("model_instance", fleet, **options)["msg"]
    assert fleet.writes() == []
