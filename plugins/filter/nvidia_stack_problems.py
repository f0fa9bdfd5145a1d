# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import nvidia_stack


def nvidia_stack_problems(hosts: Any) -> list[dict[str, Any]]:
    """What is wrong with the stack of a fleet, as ``nvidia_stack.problems_of`` says."""
    if not isinstance(hosts, Mapping):
        raise AnsibleFilterError(f"nvidia_stack_problems: a {type(hosts).__name__} was given, a dictionary is wanted.")
    try:
        return nvidia_stack.problems_of(hosts)
    except (ValueError, TypeError, KeyError) as error:
        raise AnsibleFilterError(
            f"nvidia_stack_problems: {error}. See the filter's documentation for the shape."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nvidia_stack_problems": nvidia_stack_problems}
