# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):  # type: ignore[misc]
    """Shows a text on the terminal as it is."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Show the text, unless the task's results are secret."""
        result = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(argument_spec={"text": {"type": "str", "required": True}})
        if not self._task.no_log:
            self._display.display(arguments["text"].rstrip("\n"))
        return {**result, "changed": False}
