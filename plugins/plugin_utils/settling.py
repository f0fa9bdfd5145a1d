# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how far a module is that waits until something has settled.

A module can say nothing before it ends. So the module is run with `wait_timeout: 0`, which is one look, again and
again, and its `progress` is shown whenever it changes, with how long it has been going on. Each look goes the module's
usual way, so it works for a delegated task as well.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import until_settled

display = Display()


class SettlingAction(ActionBase):  # type: ignore[misc]
    """Base of the action plugins of such modules: `module` is its name, `default_timeout` of its `wait_timeout`."""

    module = ""
    default_timeout = 600
    poll_seconds = 1.0
    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        timeout = self._timeout()
        if timeout is None:
            in_background = self._task.async_val and not self._connection.has_native_async
            result.update(self._execute_module(self.module, task_vars=task_vars, wrap_async=in_background))
            return result
        options = {**self._task.args, "wait_timeout": 0}
        host = self._task.delegate_to or (task_vars or {}).get("inventory_hostname")

        def look() -> dict[str, Any]:
            answer: dict[str, Any] = self._execute_module(self.module, module_args=options, task_vars=task_vars)
            return answer

        def report(line: str, seconds: float) -> None:
            if not self._task.no_log:
                display.display(f"  [{host}] {line}" + (f" (after {seconds:.0f} s)" if seconds >= 1 else ""))

        result.update(
            until_settled(
                look,
                timeout_seconds=timeout,
                clock=time.monotonic,
                sleep=time.sleep,
                report=report,
                poll_seconds=self.poll_seconds,
            )
        )
        return result

    def _timeout(self) -> float | None:
        """How long to wait here; None where the module does all: in the background, or with an option to refuse."""
        if self._task.async_val or self._task.check_mode:
            return None
        try:
            return float(self._task.args.get("wait_timeout", self.default_timeout))
        except (TypeError, ValueError):
            return None
