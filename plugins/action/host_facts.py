# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs the module and compares the host's clock with the controller's, which only the controller can do."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module once; its facts get ``clock_offset_s`` and ``clock_uncertainty_s``."""
        result = super().run(tmp, task_vars)
        sent_s = time.time()
        result.update(self._execute_module(task_vars=task_vars))
        answered_s = time.time()
        facts = (result.get("ansible_facts") or {}).get("gpustack_host")
        if facts is not None:
            # The host read its clock at some moment between the two, so the middle is wrong by half of the time at
            # most.
            facts["clock_offset_s"] = round(facts["time_unix_s"] - (sent_s + answered_s) / 2, 3)
            facts["clock_uncertainty_s"] = round((answered_s - sent_s) / 2, 3)
        return result
