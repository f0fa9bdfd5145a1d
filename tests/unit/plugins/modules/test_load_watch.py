# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from api_modules import call
from fake_gpustack import CRASHES, FakeGPUStack


@pytest.fixture(name="flag")
def fixture_flag(tmp_path: Path) -> Path:
    return tmp_path / "running"


@pytest.fixture(name="fleet")
def fixture_fleet(fake: FakeGPUStack) -> FakeGPUStack:
    fake.add_cluster("racks")
    fake.add_model("qwen", source="local_path", local_path="/qwen", cluster_id=1, env={"HF_TOKEN": "hf_abcdefgh"})
    for instance in fake.instances_of("qwen"):
        instance.update(worker_ip="127.0.0.1", port=9)  # nobody listens there
    return fake


def watch(fleet: FakeGPUStack, flag: Path, **options: Any) -> dict[str, Any]:
    return call("load_watch", fleet, name="qwen", while_exists=str(flag), interval=0.01, **options)


def test_looks_once_when_the_test_is_already_over(fleet: FakeGPUStack, flag: Path) -> None:
    answer = watch(fleet, flag)
    assert (answer["changed"], answer["looks"], answer["failed_looks"], answer["stops"]) == (False, 1, 0, [])
    (sample,) = answer["samples"]
    assert (sample["running_instances"], sample["engines_answering"]) == (1, 0)
    assert fleet.writes() == []


def test_ends_after_its_time_while_the_test_still_runs(fleet: FakeGPUStack, flag: Path) -> None:
    flag.touch()
    answer = watch(fleet, flag, watch_timeout=0)
    assert answer["looks"] >= 1
    assert flag.exists()


def test_an_engine_that_crashes_is_seen_with_its_log_and_without_secrets(fleet: FakeGPUStack, flag: Path) -> None:
    fleet.logs["qwen"] = "loading with hf_abcdefgh\nEngineDeadError"
    (instance,) = fleet.instances_of("qwen")
    fleet._ages[instance["id"]] = 0
    fleet.life = lambda _instance: [{"state": "running"}, CRASHES[1], CRASHES[1]]
    flag.touch()
    answer = watch(fleet, flag, watch_timeout=1)
    (stop,) = answer["stops"]
    assert stop["how"] == "it went from running to error: Inference server exited or unhealthy"
    assert stop["log"][-1] == "EngineDeadError"
    assert "hf_abcdefgh" not in str(answer)


def test_a_model_that_is_not_there_is_an_error(fleet: FakeGPUStack, flag: Path) -> None:
    answer = call("load_watch", fleet, name="qwne", while_exists=str(flag))
    assert answer["failed"] is True
    assert "There is no model 'qwne' to watch" in answer["msg"]
