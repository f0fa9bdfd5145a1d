# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.policy import policy_of


def rollout_policy(fleet: Any, model: Any = None, name: str = "") -> dict[str, Any]:
    """Every setting of a roll-out with its value, as ``rollout.policy.policy_of`` says."""
    try:
        return policy_of(fleet, model, named=name)
    except Invalid as error:
        raise AnsibleFilterError(f"rollout_policy: {error}") from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rollout_policy": rollout_policy}
