# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.fleet_plan``: all declared models planned together on one fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.fleet_plan import plan_declared
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError


def fleet_plan(
    declared: Any, gpu_facts: Any, host_facts: Any = None, defaults: Any = None, worker_names: Any = None
) -> dict[str, dict[str, Any]]:
    """Plans by model name; see ``fleet_plan.yml`` for shapes and errors."""
    try:
        return plan_declared(declared, gpu_facts, host_facts or {}, defaults or {}, worker_names or {})
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fleet_plan": fleet_plan}
