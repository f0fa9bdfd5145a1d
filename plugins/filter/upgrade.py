# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.upgrade import (
    IDENTITY,
    forwards_to,
    release_problems,
    snapshot_differences,
    snapshot_summary,
)


class FilterModule:
    """The collection's filters on upgrades."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "forwards_to": forwards_to,
            "release_problems": release_problems,
            "snapshot_differences": snapshot_differences,
            "snapshot_summary": snapshot_summary,
            "lost_identities": lost_identities,
        }


def lost_identities(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The differences that no declaration can have wanted."""
    return snapshot_differences(before, after, IDENTITY)
