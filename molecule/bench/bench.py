#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated fleet: the real GPUStack on simulated GPU hosts in this machine's Docker engine.

bench.py up        builds, starts and waits for what is missing; quick when all is there
bench.py status    says what runs where
bench.py reset     gives every host an empty disk again; images and registry stay
bench.py welcome   tells how to look around once site.yml has run
bench.py gpustack  builds GPUStack's image of every release, also the newest, and prints them
bench.py down      removes hosts, volumes and network; with --images the images too
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fleet import lifecycle, welcome
from fleet.errors import BenchError
from fleet.profile import load
from fleet.progress import Progress
from fleet.state import State

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def main() -> int:
    """Runs one command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("up", "status", "welcome", "reset", "gpustack", "down"))
    parser.add_argument("--profile", default="reference", help="a file of molecule/bench/profiles, without .yml")
    parser.add_argument("--images", action="store_true", help="down: remove the images and the registry's store too")
    options = parser.parse_args()
    try:
        profile = load(HERE / "profiles" / f"{options.profile}.yml")
        state, progress = State(CHECKOUT), Progress()
        if options.command == "up":
            lifecycle.up(profile, state, progress)
        elif options.command == "reset":
            lifecycle.reset(profile, state, progress)
        elif options.command == "down":
            lifecycle.down(state, progress, with_images=options.images)
        elif options.command == "gpustack":
            lifecycle.gpustack_images(state, progress)
        elif options.command == "welcome":
            print(welcome.text(profile, state))
        else:
            lifecycle.status(profile, state)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
