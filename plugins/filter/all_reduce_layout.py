# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import all_reduce


def all_reduce_layout(gpus: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Which ranks each host takes, as ``all_reduce.layout`` says."""
    try:
        return all_reduce.layout({host: int(count) for host, count in gpus.items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnsibleFilterError(f"all_reduce_layout: {error}. The number of usable GPUs by host is wanted.") from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"all_reduce_layout": all_reduce_layout}
