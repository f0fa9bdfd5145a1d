# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.without_secrets``: plans that anybody may read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import mask_fields


def without_secrets(plans: Any) -> dict[str, dict[str, Any]]:
    """The same plans, with the values of secret variables and parameters masked."""
    if not isinstance(plans, Mapping) or not all(isinstance(plan, Mapping) for plan in plans.values()):
        raise AnsibleFilterError("without_secrets: wanted are plans by model name, as fleet_plan returns them")
    return {str(name): mask_fields(plan) for name, plan in plans.items()}


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"without_secrets": without_secrets}
