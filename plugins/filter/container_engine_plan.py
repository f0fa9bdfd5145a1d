# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import container_engine


def container_engine_plan(
    settings: Any,
    distribution: Mapping[str, str],
    installed: Mapping[str, Any] | None = None,
    engine_version: str = "",
) -> dict[str, Any]:
    """Where a host's Docker comes from and how it is configured, as ``container_engine.plan`` says."""
    if not isinstance(settings, Mapping):
        raise AnsibleFilterError(
            f"container_engine_plan: a {type(settings).__name__} was given, a dictionary is wanted."
        )
    try:
        return container_engine.plan(distribution, settings, installed, engine_version)
    except (ValueError, TypeError, KeyError) as error:
        raise AnsibleFilterError(
            f"container_engine_plan: {error}. See the filter's documentation for the shape."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"container_engine_plan": container_engine_plan}
