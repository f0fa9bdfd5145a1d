# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.batches import batches


def rollout_batches(hosts: Sequence[str], sizes: Sequence[Any], routes: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The hosts by batch."""
    try:
        return batches(list(hosts), list(sizes), routes)
    except ValueError as error:
        raise AnsibleFilterError(f"rollout_batches: {error}") from error


class FilterModule:
    """The collection's filter on batches."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rollout_batches": rollout_batches}
