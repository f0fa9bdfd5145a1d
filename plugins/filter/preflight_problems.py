# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import preflight


def preflight_problems(fleet: Any, needs: Any = None) -> list[dict[str, Any]]:
    """Everything that is wrong with the fleet, as ``preflight.problems_of`` says."""
    if not isinstance(fleet, Mapping):
        raise AnsibleFilterError(f"preflight_problems: a {type(fleet).__name__} was given, a dictionary is wanted.")
    try:
        return preflight.problems_of(fleet) if needs is None else preflight.problems_of(fleet, needs)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise AnsibleFilterError(
            f"preflight_problems: {error}. See the filter's documentation for the shape."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight_problems": preflight_problems}
