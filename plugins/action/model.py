# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how far a model's instances are while the task waits.

A module can say nothing before it ends. So this plugin runs the module without waiting, again and again, which is one
step of it at a time, and shows what the same judge says that waits inside the module. Each step goes the module's usual
way, so it works for a delegated task as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import (
    Instance,
    NoAnswer,
    Outcome,
    Snapshot,
    failure_message,
    follow,
)

MODULE = "gpuops.gpustack.model"
INFO_MODULE = "gpuops.gpustack.model_info"
# Failures of a module that a server has while it restarts.
AWAY = ("Unreachable", "ServerError")
CONNECTION_OPTIONS = ("server_url", "username", "password", "api_key", "validate_certs", "ca_path", "timeout")

display = Display()


class ActionModule(ActionBase):
    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        wait_timeout = self._wait_timeout()
        if wait_timeout is None:
            in_background = self._task.async_val and not self._connection.has_native_async
            result.update(self._execute_module(MODULE, task_vars=task_vars, wrap_async=in_background))
            return result

        steps = _Steps(self, task_vars)
        try:
            end = follow(
                steps.look,
                steps.read_log,
                timeout_seconds=wait_timeout,
                clock=time.monotonic,
                sleep=time.sleep,
                report=self._reporter(task_vars or {}),
            )
        except (_StepFailed, NoAnswer):
            result.update({**steps.together(), **steps.failure, "changed": steps.changed})
            return result
        result.update(steps.together())
        if end.verdict.outcome is Outcome.FAILED:
            del result["model"]
            result.update(failed=True, msg=failure_message(end), log=list(end.log))
        return result

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

    def execute(self, module: str, options: Mapping[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module, module_args=dict(options), task_vars=task_vars)
        return answer


class _StepFailed(Exception):
    """A run of the module failed; `_Steps.failure` has its answer."""


class _Steps:
    """Runs of the module without waiting, put together to what one run with waiting would have returned."""

    def __init__(self, action: ActionModule, task_vars: dict[str, Any] | None) -> None:
        self._action = action
        self._task_vars = task_vars
        self._options = {**action._task.args, "wait": False}
        self._answers: list[dict[str, Any]] = []
        self.failure: dict[str, Any] = {}

    @property
    def changed(self) -> bool:
        return any(answer["changed"] for answer in self._answers)

    def look(self) -> Snapshot:
        answer = self._action.execute(MODULE, self._options, self._task_vars)
        if answer.get("failed") or "instances" not in answer:
            self.failure = answer
            # The first step also tells a wrong address, which no patience cures.
            raise NoAnswer if self._answers and answer.get("error") in AWAY else _StepFailed
        self._answers.append(answer)
        recreates = boolean(self._options.get("recreate", True))
        stale = answer["stale_instances"] if recreates else []
        return Snapshot(answer["model"]["name"], answer["model"]["replicas"], answer["instances"], stale)

    def read_log(self, instance: Instance) -> Sequence[str]:
        options = {name: self._options[name] for name in CONNECTION_OPTIONS if name in self._options}
        options.update(name=self._options["name"], log_lines=self._options.get("log_lines", 40))
        answer = self._action.execute(INFO_MODULE, options, self._task_vars)
        rows = [row for model in answer.get("models", []) for row in model["instances"] if row["id"] == instance["id"]]
        log: Sequence[str] = rows[0]["log"] if rows else []
        return log

    def together(self) -> dict[str, Any]:
        """The present is in the last answer; what changed, and its difference, in the first that changed something."""
        if not self._answers:
            return {}
        first = next((answer for answer in self._answers if answer["changed"]), self._answers[0])
        recreated = [name for answer in self._answers for name in answer["recreated_instances"]]
        together = {**self._answers[-1], "changed": self.changed, "recreated_instances": recreated}
        if "diff" in first:
            together["diff"] = first["diff"]
        return together
