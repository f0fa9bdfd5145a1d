#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of this scenario, beside the fleet of the bench and served by its package repository.

hosts.py up      three hosts, made anew
hosts.py down    removes them
"""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "molecule" / "bench"))

from fleet import extra
from fleet.errors import BenchError
from fleet.profile import load
from fleet.state import State

PROFILE = load(Path(__file__).parent / "hardware" / "profile.yml")

if __name__ == "__main__":
    try:
        if sys.argv[1] == "up":
            extra.up(PROFILE, State(CHECKOUT))
        else:
            extra.down(PROFILE)
    except BenchError as error:
        sys.exit(str(error))
