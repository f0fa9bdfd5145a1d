# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.fleet_plan``: all declared models planned together on one fleet."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.fleet_plan import DeclarationError, plan_models


def fleet_plan(
    declared: Any, gpu_facts: Any, host_facts: Any = None, defaults: Any = None
) -> dict[str, dict[str, Any]]:
    """Plan every declared model; see ``fleet_plan.yml`` for shapes and errors."""
    try:
        return plan_models(declared, gpu_facts, host_facts or {}, defaults or {})
    except DeclarationError as exc:
        raise AnsibleFilterError(f"gpuops.gpustack.fleet_plan: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"fleet_plan": fleet_plan}
