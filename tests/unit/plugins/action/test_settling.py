# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.gpuops.gpustack.plugins.action import engine_requests, model_turn, worker_turn
from ansible_collections.gpuops.gpustack.plugins.plugin_utils import settling


class Runner:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.calls: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []

    def run(self, *, kind: Any = worker_turn, task: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        attributes = {"async_val": 0, "check_mode": False, "delegate_to": None, "no_log": False, **(task or {})}
        plugin = kind.ActionModule(MagicMock(args=options, **attributes), MagicMock(), MagicMock(), None, None, None)
        plugin._execute_module = self._execute
        return plugin.run(task_vars={"inventory_hostname": "gpu-worker-a"})

    def _execute(self, name: str, module_args: dict[str, Any] | None = None, **_how: Any) -> dict[str, Any]:
        self.calls.append({"name": name, "args": module_args})
        return self.answers.pop(0)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    runner = Runner()
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(settling, "time", clock)
    monkeypatch.setattr(settling, "display", MagicMock(display=runner.lines.append))
    return runner


def test_looks_again_until_settled_and_says_what_is_new(runner: Runner) -> None:
    runner.answers = [
        {"changed": True, "settled": False, "progress": "waiting for x"},
        {"changed": False, "settled": False, "progress": "waiting for x"},
        {"changed": False, "settled": True, "progress": "all run"},
    ]
    answer = runner.run(name="gpu-worker-a", state="resumed")
    assert (answer["changed"], answer["settled"], answer["waited_seconds"]) == (True, True, 2.0)
    assert runner.lines == ["  [gpu-worker-a] waiting for x", "  [gpu-worker-a] all run (after 2 s)"]
    assert runner.calls[0] == {
        "name": "gpuops.gpustack.worker_turn",
        "args": {"name": "gpu-worker-a", "state": "resumed", "wait_timeout": 0},
    }


def test_default_of_the_module_is_the_default_here(runner: Runner) -> None:
    runner.answers = [{"changed": False, "settled": False, "progress": "3 requests in flight"}]
    assert runner.run(kind=engine_requests, addresses=["x:1"])["settled"] is False
    assert len(runner.calls) == 1


def test_what_has_nothing_to_wait_for_is_asked_once(runner: Runner) -> None:
    runner.answers = [{"changed": False, "configuration": {"replicas": 1}}]
    assert runner.run(kind=model_turn, name="qwen", state="kept")["configuration"] == {"replicas": 1}
    assert len(runner.calls) == 1


AWAY = {"failed": True, "error": "Unreachable", "msg": "GPUStack can't be reached"}


def test_server_that_is_restarted_meanwhile_is_waited_for(runner: Runner) -> None:
    runner.answers = [
        {"settled": False, "progress": "waiting for x"},
        AWAY,
        AWAY,
        {"settled": True, "progress": "all run"},
    ]
    assert runner.run(name="x", state="resumed")["settled"] is True
    assert "  [gpu-worker-a] GPUStack does not answer; waiting for it to come back (after 1 s)" in runner.lines


def test_server_that_stays_away_fails(runner: Runner) -> None:
    runner.answers = [{"settled": False, "progress": "waiting for x"}, *([AWAY] * 500)]
    assert runner.run(name="x", state="resumed", wait_timeout=1000)["msg"] == AWAY["msg"]
    assert 180 <= len(runner.calls) <= 185


def test_server_that_never_answered_is_told_at_once(runner: Runner) -> None:
    runner.answers = [AWAY]
    assert runner.run(name="x", state="resumed")["msg"] == AWAY["msg"]


def test_failure_ends_it(runner: Runner) -> None:
    runner.answers = [{"failed": True, "msg": "no"}]
    assert runner.run(name="x", state="begun")["msg"] == "no"


@pytest.mark.parametrize(("task", "timeout"), [({"check_mode": True}, 60), ({"async_val": 60}, 60), ({}, "long")])
def test_module_does_it_alone_where_there_is_nothing_to_show(
    runner: Runner, task: dict[str, Any], timeout: Any
) -> None:
    runner.answers = [{"changed": False}]
    runner.run(task=task, name="x", state="begun", wait_timeout=timeout)
    assert runner.calls == [{"name": "gpuops.gpustack.worker_turn", "args": None}]


def test_task_that_must_not_be_logged_shows_nothing(runner: Runner) -> None:
    runner.answers = [{"changed": False, "settled": True, "progress": "secret"}]
    runner.run(task={"no_log": True}, name="x", state="begun")
    assert runner.lines == []
