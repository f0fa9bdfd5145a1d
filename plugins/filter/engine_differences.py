# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_verification


def engine_differences(
    plan: Mapping[str, Any], engines: Mapping[str, Mapping[str, Any]], model: str, replicas: int = 1
) -> list[dict[str, Any]]:
    """What runs otherwise than planned, as ``engine_verification.differences`` says."""
    for name, value in (("the plan", plan), ("engines", engines)):
        if not isinstance(value, Mapping):
            raise AnsibleFilterError(
                f"engine_differences: {name} is a {type(value).__name__}. The result of vllm_plan and the results of "
                "engine_info by host name are wanted."
            )
    try:
        return engine_verification.differences(plan, engines, model, int(replicas))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise AnsibleFilterError(
            f"engine_differences: {type(error).__name__} {error}. The result of vllm_plan and the results of "
            "engine_info by host name are wanted."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"engine_differences": engine_differences}
