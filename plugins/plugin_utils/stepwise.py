# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how far models are while a task waits for them.

A module can say nothing before it ends. So the action plugin runs the module without waiting, again and again, which is
one step of it at a time, and shows what the same judge says that waits inside the module. Each step goes the module's
usual way, so it works for a delegated task as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import CONNECTION_OPTIONS
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import (
    AWAY_ERRORS,
    Instance,
    NoAnswer,
    Result,
    Snapshot,
    follow_all,
)

INFO_MODULE = "gpuops.gpustack.model_info"

display = Display()


class StepFailed(Exception):
    """A run of the module failed as a whole; `Steps.failure` has its answer."""


class Steps:
    """Runs of the module without waiting, put together to what one run with waiting would have returned."""

    def __init__(self, action: StepwiseAction, task_vars: dict[str, Any] | None) -> None:
        self._action = action
        self._task_vars = task_vars
        self._options = {**action._task.args, "wait": False}
        self._answers: list[dict[str, Any]] = []
        self.failure: dict[str, Any] = {}

    @property
    def changed(self) -> bool:
        return any(answer["changed"] for answer in self._answers)

    def look(self) -> Sequence[Snapshot]:
        """One more step, and how the models are after it."""
        raise NotImplementedError

    def read_log(self, instance: Instance) -> Sequence[str]:
        raise NotImplementedError

    def answer(self, ends: Mapping[str, Result] | None) -> dict[str, Any]:
        """What the steps come to; `ends` of the wait, None where a step failed as a whole."""
        raise NotImplementedError

    def step(self, is_answer: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The answer of one run of the module. The first also tells a wrong address, which no patience cures."""
        answer = self._action.execute(self._action.module, self._options, self._task_vars)
        if not is_answer(answer):
            self.failure = answer
            raise NoAnswer if self._answers and answer.get("error") in AWAY_ERRORS else StepFailed
        self._answers.append(answer)
        return answer

    def log_of(self, model: str, instance: Instance) -> Sequence[str]:
        options = {name: self._options[name] for name in CONNECTION_OPTIONS if name in self._options}
        options.update(name=model, log_lines=self._options.get("log_lines", 40))
        answer = self._action.execute(INFO_MODULE, options, self._task_vars)
        rows = [row for found in answer.get("models", []) for row in found["instances"] if row["id"] == instance["id"]]
        log: Sequence[str] = rows[0]["log"] if rows else []
        return log


class StepwiseAction(ActionBase):
    """Base of the action plugins of modules that wait for models."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    module: str
    steps: type[Steps]

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        wait_timeout = self._wait_timeout()
        if wait_timeout is None:
            in_background = self._task.async_val and not self._connection.has_native_async
            result.update(self._execute_module(self.module, task_vars=task_vars, wrap_async=in_background))
            return result

        steps = self.steps(self, task_vars)
        try:
            ends = follow_all(
                steps.look,
                steps.read_log,
                timeout_seconds=wait_timeout,
                clock=time.monotonic,
                sleep=time.sleep,
                report=self._reporter(task_vars or {}),
            )
        except (StepFailed, NoAnswer):
            result.update({**steps.answer(None), **steps.failure, "changed": steps.changed})
        else:
            result.update(steps.answer(ends))
        return result

    def execute(self, module: str, options: Mapping[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module, module_args=dict(options), task_vars=task_vars)
        return answer

    def _reporter(self, task_vars: Mapping[str, Any]) -> Callable[[str], None]:
        host = self._task.delegate_to or task_vars.get("inventory_hostname")
        if self._task.no_log:
            return lambda line: None
        return lambda line: display.display(f"  [{host}] {line}")

    def _wait_timeout(self) -> float | None:
        """How long to wait here; None where the module does all: no waiting, or options that it has to refuse."""
        options = self._task.args
        if self._task.async_val or self._task.check_mode or options.get("state", "present") != "present":
            return None
        try:
            return float(options.get("wait_timeout", 1800)) if boolean(options.get("wait", True)) else None
        except (TypeError, ValueError):
            return None
