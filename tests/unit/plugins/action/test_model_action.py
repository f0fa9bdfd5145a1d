# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest
from api_modules import call, clock_of
from fake_gpustack import COMES_UP, CRASHES, FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.action import model as action_model
from ansible_collections.gpuops.gpustack.plugins.plugin_utils import stepwise

DECLARED: dict[str, Any] = {
    "name": "qwen",
    "local_path": "/var/lib/models/Qwen",
    "backend_parameters": ["--max-model-len=32768"],
    "env": {"HF_TOKEN": "hf_abcdefgh"},
}
LONGER = {**DECLARED, "backend_parameters": ["--max-model-len=65536"]}


class Runner:
    """Runs the action plugin; the modules that it starts run here, against the fake."""

    def __init__(self, fake: FakeGPUStack) -> None:
        self.fake = fake
        self.lines: list[str] = []
        self.modules: list[tuple[str, bool | None]] = []
        self.before_step: Callable[[int], None] = lambda number: None

    def run(self, *, task: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        attributes = {"async_val": 0, "check_mode": False, "delegate_to": None, "no_log": False, **(task or {})}
        plugin = action_model.ActionModule(
            MagicMock(args=options, **attributes), MagicMock(), MagicMock(), None, None, None
        )
        plugin._execute_module = self._execute
        self.options = options
        return plugin.run(task_vars={"inventory_hostname": "gpustack-server"})

    def _execute(self, name: str, module_args: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
        arguments = self.options if module_args is None else module_args
        self.modules.append((name, arguments.get("wait")))
        self.before_step(len(self.modules))
        return call(name.rsplit(".", 1)[1], self.fake, check=bool(how.get("check")), **arguments)


@pytest.fixture
def runner(fake: FakeGPUStack, monkeypatch: pytest.MonkeyPatch) -> Runner:
    fake.add_cluster("racks", is_default=True)
    runner = Runner(fake)
    monkeypatch.setattr(stepwise, "time", clock_of(fake))
    monkeypatch.setattr(stepwise, "display", MagicMock(display=runner.lines.append))
    return runner


def test_shows_how_far_the_model_is_whenever_that_changes(runner: Runner) -> None:
    result = runner.run(**DECLARED)
    (instance,) = runner.fake.instances_of("qwen")
    name = instance["name"]
    assert runner.lines == [
        f"  [gpustack-server] qwen: 0 of 1 running; {name} pending",
        f"  [gpustack-server] qwen: 0 of 1 running; {name} downloading 40 % on gpu-worker-a",
        f"  [gpustack-server] qwen: 0 of 1 running; {name} starting on gpu-worker-a",
        f"  [gpustack-server] qwen: 1 of 1 running; {name} running on gpu-worker-a",
    ]
    assert result["changed"] is True
    assert result["diff"]["after"]["backend_parameters"] == ["--max-model-len=32768"]
    assert set(runner.modules) == {("gpuops.gpustack.model", False)}


def test_answers_what_the_module_alone_would(runner: Runner) -> None:
    with FakeGPUStack() as other:
        other.add_cluster("racks", is_default=True)
        alone = [call("model", other, **options) for options in (DECLARED, DECLARED, LONGER) if not other.advance(60)]
    shown = [runner.run(**options) for options in (DECLARED, DECLARED, LONGER) if not runner.fake.advance(60)]
    for answer in (*alone, *shown):
        answer.pop("invocation", None)  # ansible-core 2.21 leaves it out
        for row in answer["instances"]:
            del row["updated_at"], row["created_at"]
        for name in ("created_at", "updated_at", "env"):
            del answer["model"][name]
        del answer["configuration"]
    assert shown == alone


def test_second_run_is_one_step(runner: Runner) -> None:
    runner.run(**DECLARED)
    runner.modules.clear()
    result = runner.run(**DECLARED)
    assert (result["changed"], len(runner.modules)) == (False, 1)


def test_replaces_replicas_one_after_the_other_and_lists_them(runner: Runner) -> None:
    runner.run(**DECLARED, replicas=2)
    runner.fake.advance(60)
    old = [row["name"] for row in runner.fake.instances_of("qwen")]
    result = runner.run(**LONGER, replicas=2)
    assert (result["changed"], result["recreated_instances"], result["stale_instances"]) == (True, old, [])
    assert result["diff"]["after"] == {"backend_parameters": ["--max-model-len=65536"]}


def test_failure_comes_with_message_and_log(runner: Runner) -> None:
    runner.fake.life = lambda row: CRASHES
    runner.fake.logs["qwen"] = "CUDA out of memory for hf_abcdefgh"
    result = runner.run(**DECLARED, log_lines=5)
    assert (result["failed"], result["changed"]) == (True, True)
    assert "stopped and was restarted (Inference server exited or unhealthy)" in result["msg"]
    assert result["log"] == ["CUDA out of memory for ********"]


def test_refusal_of_the_module_is_passed_on(runner: Runner) -> None:
    result = runner.run(name="1st")
    assert result["failed"] is True
    assert result["msg"].startswith("name is '1st'")
    assert (result["changed"], len(runner.modules), runner.lines) == (False, 1, [])


def test_server_that_is_not_there_is_told_at_once(runner: Runner) -> None:
    result = runner.run(**DECLARED, server_url="http://127.0.0.1:9")
    assert (result["failed"], result["error"], len(runner.modules)) == (True, "Unreachable", 1)


def test_restart_of_the_server_while_waiting_is_survived(runner: Runner) -> None:
    def restart(step: int) -> None:
        runner.fake.faults = [503] * 4 if step == 2 else []

    runner.before_step = restart
    result = runner.run(**DECLARED)
    assert result.get("msg") is None
    assert runner.lines[1] == "  [gpustack-server] GPUStack does not answer; waiting for it to come back"
    assert result["progress"].startswith("qwen: 1 of 1 running")


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ({"check_mode": True}, {}),
        ({"async_val": 60}, {}),
        ({}, {"wait": False}),
        ({}, {"wait": "perhaps"}),
        ({}, {"wait_timeout": "long"}),
        ({}, {"state": "absent"}),
    ],
)
def test_module_does_it_alone_where_there_is_nothing_to_show(
    runner: Runner, task: dict[str, Any], options: dict[str, Any]
) -> None:
    runner.run(task=task, **DECLARED, **options)
    assert runner.modules == [("gpuops.gpustack.model", options.get("wait"))]
    assert runner.lines == []


def test_task_that_must_not_be_logged_shows_nothing(runner: Runner) -> None:
    assert runner.run(task={"no_log": True}, **DECLARED)["changed"] is True
    assert runner.lines == []
    assert len(runner.modules) > len(COMES_UP)


def test_connection_options_are_those_of_the_modules() -> None:
    base = importlib.import_module("ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module")
    assert set(stepwise.CONNECTION_OPTIONS) == set(base.CONNECTION_OPTIONS)
