# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how far a model's instances are while the task waits; see `plugin_utils/stepwise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import instances_wanted
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import (
    Instance,
    Outcome,
    Result,
    Snapshot,
    failure_message,
)
from ansible_collections.gpuops.gpustack.plugins.plugin_utils.stepwise import Steps, StepwiseAction


class _Steps(Steps):
    def look(self) -> Sequence[Snapshot]:
        answer = self.step(lambda answer: not answer.get("failed") and "instances" in answer)
        recreates = boolean(self._options.get("recreate", True))
        stale = answer["stale_instances"] if recreates else []
        return [Snapshot(answer["model"]["name"], instances_wanted(answer["model"]), answer["instances"], stale)]

    def read_log(self, instance: Instance) -> Sequence[str]:
        return self.log_of(self._options["name"], instance)

    def answer(self, ends: Mapping[str, Result] | None) -> dict[str, Any]:
        """The present is in the last answer; what changed, and its difference, in the first that changed something."""
        if not self._answers:
            return {}
        first = next((answer for answer in self._answers if answer["changed"]), self._answers[0])
        recreated = [name for answer in self._answers for name in answer["recreated_instances"]]
        together = {**self._answers[-1], "changed": self.changed, "recreated_instances": recreated}
        if "diff" in first:
            together["diff"] = first["diff"]
        for end in (ends or {}).values():
            if end.verdict.outcome is Outcome.FAILED:
                del together["model"]
                together.update(failed=True, msg=failure_message(end), log=list(end.log))
        return together


class ActionModule(StepwiseAction):
    module = "gpuops.gpustack.model"
    steps = _Steps
