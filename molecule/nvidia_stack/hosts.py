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

from fleet import hosts, images
from fleet.docker import docker
from fleet.errors import BenchError
from fleet.profile import load
from fleet.progress import Progress
from fleet.state import State

PROFILE = load(Path(__file__).parent / "hardware" / "profile.yml")
LABEL = "gpuops-bench.stack"


def up() -> None:
    """The hosts, as bare as at the beginning."""
    state = State(CHECKOUT)
    image = images.ensure_images(state, Progress())["host"]
    down()
    hosts.ensure_ssh_files(PROFILE, state)
    for host in PROFILE.hosts:
        hosts.create(host, image, LABEL, state)
        docker("start", host.name)
    for host in PROFILE.hosts:
        hosts.await_boot(host, state)


def down() -> None:
    """Removes what ``up`` has made."""
    for host in PROFILE.hosts:
        hosts.remove(host.name)


if __name__ == "__main__":
    try:
        {"up": up, "down": down}[sys.argv[1]]()
    except BenchError as error:
        sys.exit(str(error))
