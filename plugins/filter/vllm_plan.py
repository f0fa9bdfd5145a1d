# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.vllm_plan``: how to run a declared model on a fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan, plan_models


def vllm_plan(model: Any, fleet: Any) -> Any:
    """One plan for a mapping, a list of plans for a list of models."""
    if not isinstance(model, (Mapping, list, tuple)):
        raise AnsibleFilterError(f"vllm_plan wants a model or a list of models, got {type(model).__name__}")
    try:
        return plan(model, fleet) if isinstance(model, Mapping) else plan_models(model, fleet)
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"vllm_plan": vllm_plan}
