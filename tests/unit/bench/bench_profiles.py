# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of the bench's own profiles, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fleet.profile import load

PROFILES = Path(__file__).resolve().parents[3] / "molecule" / "bench" / "profiles"


def document(profile: str, host: str) -> dict[str, Any]:
    """What the stand-ins on one host read."""
    return next(entry.document for entry in load(PROFILES / f"{profile}.yml").hosts if entry.name == host)
