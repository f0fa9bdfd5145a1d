# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
from api_modules import call, clock_of
from fake_gpustack import COMES_UP, CRASHES, FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.action import models as action_models
from ansible_collections.gpuops.gpustack.plugins.plugin_utils import stepwise

QWEN: dict[str, Any] = {"name": "qwen", "local_path": "/q", "replicas": 2, "backend_parameters": ["--a=1"]}
LONGER = {**QWEN, "backend_parameters": ["--a=2"]}
BGE: dict[str, Any] = {"name": "bge", "local_path": "/b"}


class Runner:
    """Runs the action plugin; the modules that it starts run here, against the fake."""

    def __init__(self, fake: FakeGPUStack) -> None:
        self.fake = fake
        self.lines: list[str] = []
        self.steps: list[dict[str, Any]] = []

    def run(self, *models: dict[str, Any], **options: Any) -> dict[str, Any]:
        arguments = {"models": list(models), **options}
        attributes = {"async_val": 0, "check_mode": False, "delegate_to": None, "no_log": False}
        task = MagicMock(args=arguments, **attributes)
        plugin = action_models.ActionModule(task, MagicMock(), MagicMock(), None, None, None)
        plugin._execute_module = self._execute
        self.lines.clear()
        return plugin.run(task_vars={"inventory_hostname": "localhost"})

    def _execute(self, name: str, module_args: dict[str, Any], **_how: Any) -> dict[str, Any]:
        self.steps.append(module_args)
        return call(name.rsplit(".", 1)[1], self.fake, **module_args)


@pytest.fixture
def runner(fake: FakeGPUStack, monkeypatch: pytest.MonkeyPatch) -> Runner:
    fake.add_cluster("racks", is_default=True)
    runner = Runner(fake)
    monkeypatch.setattr(stepwise, "time", clock_of(fake))
    monkeypatch.setattr(stepwise, "display", MagicMock(display=runner.lines.append))
    return runner


def test_shows_every_model_whenever_it_is_further(runner: Runner) -> None:
    result = runner.run(QWEN, BGE)
    assert (result["changed"], [model["failed"] for model in result["models"]]) == (True, [False, False])
    assert [line for line in runner.lines if " bge: " in line] == _lines_of_bge(runner.fake)
    assert any(line.startswith("  [localhost] qwen: 2 of 2 running; ") for line in runner.lines)


def _lines_of_bge(fake: FakeGPUStack) -> list[str]:
    (instance,) = fake.instances_of("bge")
    name = instance["name"]
    states = [
        f"0 of 1 running; {name} pending",
        f"0 of 1 running; {name} downloading 40 % on gpu-worker-a",
        f"0 of 1 running; {name} starting on gpu-worker-a",
        f"1 of 1 running; {name} running on gpu-worker-a",
    ]
    return [f"  [localhost] bge: {state}" for state in states]


def test_nothing_to_do_is_one_step_and_says_nothing(runner: Runner) -> None:
    runner.run(QWEN, BGE)
    runner.steps.clear()
    assert runner.run(QWEN, BGE)["changed"] is False
    assert (len(runner.steps), runner.lines) == (1, [])


def test_answers_what_the_module_alone_would(runner: Runner) -> None:
    runs = ([QWEN, BGE], [QWEN, BGE], [LONGER, BGE])
    with FakeGPUStack() as other:
        other.add_cluster("racks", is_default=True)
        alone = [call("models", other, models=models) for models in runs if not other.advance(60)]
    shown = [runner.run(*models) for models in runs if not runner.fake.advance(60)]
    for mine, modules in zip(shown, alone):
        for name in ("changed", "pruned", "rollouts", "diff"):
            assert mine[name] == modules[name]
        for one, theirs in zip(mine["models"], modules["models"]):
            for name in ("name", "changed", "members", "recreated_instances", "stale_instances", "failed", "progress"):
                assert one[name] == theirs[name]


def test_failed_model_stops_no_other_and_is_tried_once(runner: Runner) -> None:
    result = runner.run({**QWEN, "backend_parameters": ["--port=1"]}, BGE, prune=True)
    assert result["msg"].startswith("1 of 2 models failed. qwen: GPUStack refuses POST /v2/models")
    assert [[model["name"] for model in step["models"]] for step in runner.steps][:3] == [
        ["qwen", "bge"],
        ["bge"],
        ["bge"],
    ]
    assert [step["prune"] for step in runner.steps][:3] == [True, False, False]
    assert [(model["name"], model["failed"]) for model in result["models"]] == [("qwen", True), ("bge", False)]


def test_log_of_a_crashed_engine_is_returned_with_its_model(runner: Runner) -> None:
    runner.fake.life = lambda row: CRASHES if row["model_name"] == "qwen-r2" else COMES_UP
    runner.fake.logs["qwen-r2"] = "CUDA error: out of memory"
    result = runner.run(QWEN, BGE)
    assert result["models"][0]["log"] == ["CUDA error: out of memory"]
    assert result["models"][1]["failed"] is False
    assert "models" in result


def test_refusal_of_everything_is_the_modules_own(runner: Runner) -> None:
    result = runner.run(QWEN, {**BGE, "name": "qwen-r2"})
    assert (result["failed"], result["error"], runner.fake.models) == (True, "Invalid", {})
