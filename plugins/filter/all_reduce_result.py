# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import all_reduce


def all_reduce_result(runs: Mapping[str, Any], gpus: Mapping[str, int], minimum_gb_per_s: float = 0) -> dict[str, Any]:
    """What an all-reduce has shown, as ``all_reduce.text`` and ``all_reduce.problems_of`` say."""
    try:
        counted = {host: int(count) for host, count in gpus.items()}
        return {
            "text": all_reduce.text(runs, counted),
            "problems": all_reduce.problems_of(runs, counted, float(minimum_gb_per_s)),
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnsibleFilterError(
            f"all_reduce_result: {error}. The results of the module all_reduce by host are wanted, and the number of "
            "usable GPUs by host."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"all_reduce_result": all_reduce_result}
