# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout import proof


def kv_cache_problems(
    instances: Sequence[Mapping[str, Any]], predicted: Mapping[str, Any] | None, tolerance_percent: Any
) -> list[str]:
    """One sentence for each instance whose KV cache is not the predicted one."""
    return proof.kv_cache_problems(instances, predicted or {}, float(tolerance_percent))


class FilterModule:
    """The collection's filter on start-up figures."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"kv_cache_problems": kv_cache_problems}
