# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Something that is wrong, in the shape that preflight's problems have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ERROR = "error"
WARNING = "warning"


def problem(
    code: str, title: str, *, found: str, wanted: str, remedy: str, hosts: Iterable[str], severity: str = ERROR
) -> dict[str, Any]:
    """``{"code", "severity", "hosts", "title", "found", "wanted", "remedy"}``; no hosts means the fleet as a whole."""
    return {
        "code": code,
        "severity": severity,
        "hosts": sorted(hosts),
        "title": title,
        "found": found,
        "wanted": wanted,
        "remedy": remedy,
    }
