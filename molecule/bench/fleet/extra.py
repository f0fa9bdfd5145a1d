# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a scenario of its own, beside the fleet of the bench and in its network."""

from __future__ import annotations

from . import hosts, images
from .docker import docker
from .profile import Profile
from .progress import Progress
from .state import State

LABEL = "gpuops-bench.extra"


def up(profile: Profile, state: State) -> None:
    """The hosts, as bare as at the beginning."""
    image = images.ensure_images(state, Progress())["host"]
    down(profile)
    hosts.ensure_ssh_files(profile, state)
    for host in profile.hosts:
        hosts.create(host, image, LABEL, state)
        docker("start", host.name)
    for host in profile.hosts:
        hosts.await_boot(host, state)


def down(profile: Profile) -> None:
    """Removes what ``up`` has made."""
    for host in profile.hosts:
        hosts.remove(host.name)
