# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how far all declared models are while the task waits; see `plugin_utils/stepwise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.gpuops.gpustack.plugins.module_utils.models_answer import ended, together
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import Instance, Result, Snapshot
from ansible_collections.gpuops.gpustack.plugins.plugin_utils.stepwise import Steps, StepwiseAction


class _Steps(Steps):
    def look(self) -> Sequence[Snapshot]:
        """A model whose step failed is left alone from then on; what is for once is for the first step only."""
        answer = self.step(lambda answer: "models" in answer)
        failed = {model["name"] for model in answer["models"] if model["failed"]}
        left = [model for model in self._options["models"] if model["name"] not in failed]
        self._options = {**self._options, "models": left, "prune": False, "evaluation": "ignore"}
        waits_for_stale = boolean(self._options.get("recreate", True)) and not boolean(
            self._options.get("defer_running", False)
        )
        return [
            Snapshot(
                model["name"],
                model["replicas"],
                model["instances"],
                model["stale_instances"] if waits_for_stale else [],
                busy=model["unfinished"],
            )
            for model in answer["models"]
            if not model["failed"]
        ]

    def read_log(self, instance: Instance) -> Sequence[str]:
        return self.log_of(instance["model"], instance)

    def answer(self, ends: Mapping[str, Result] | None) -> dict[str, Any]:
        return ended(together(self._answers), ends or {})


class ActionModule(StepwiseAction):
    module = "gpuops.gpustack.models"
    steps = _Steps
