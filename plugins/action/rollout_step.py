# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.report import line, noted, parse, text

display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Shows a step and keeps it; hosts of a batch write one after the other."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validated, given = self.validate_argument_spec(
            argument_spec={
                "report": {"type": "path", "required": True},
                "kind": {"type": "str", "choices": ["run", "host", "model"], "required": True},
                "name": {"type": "str", "required": True},
                "step": {"type": "str", "required": True},
                "begins": {"type": "bool", "default": False},
                "measures": {"type": "str", "choices": ["drain", "change", "ready", "first_answer", "back"]},
                "details": {"type": "dict", "default": {}},
            }
        )
        seconds = None if self._task.check_mode else self._keep(given)
        display.display("  " + line(given["name"], given["step"], seconds, given["details"]))
        return {**result, "changed": False, "seconds": seconds}

    def _keep(self, given: dict[str, Any]) -> float | None:
        path = Path(given["report"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            report, seconds = noted(
                parse(file.read()),
                given["kind"],
                given["name"],
                given["step"],
                given["details"],
                time.time(),
                begins=given["begins"],
                measures=given["measures"],
            )
            file.truncate(0)
            file.write(text(report))
        return seconds
