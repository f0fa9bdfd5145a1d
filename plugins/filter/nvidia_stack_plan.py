# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import nvidia_stack


def nvidia_stack_plan(facts: Any, settings: Mapping[str, Any], host: str) -> dict[str, Any]:
    """What has to be done on a host, as ``nvidia_stack.plan`` says."""
    if not isinstance(facts, Mapping):
        raise AnsibleFilterError(
            f"nvidia_stack_plan: a {type(facts).__name__} was given, the facts of nvidia_stack_facts are wanted."
        )
    try:
        return nvidia_stack.plan(facts, settings, host)
    except (ValueError, TypeError, KeyError) as error:
        raise AnsibleFilterError(f"nvidia_stack_plan: {error}. See the filter's documentation for the shape.") from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nvidia_stack_plan": nvidia_stack_plan}
