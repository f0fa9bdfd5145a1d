#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of this scenario and the package repository between them.

hosts.py up      the repository and three hosts without a driver, made anew
hosts.py down    removes them
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "molecule" / "bench"))

from fleet import hosts, images
from fleet.docker import docker
from fleet.errors import BenchError
from fleet.machine import confinement
from fleet.profile import Host, load
from fleet.progress import Progress
from fleet.state import State
from repository import image

PROFILE = Path(__file__).parent / "hardware" / "profile.yml"
REPOSITORY, REPOSITORY_ADDRESS = "stack-repository", "172.30.0.30"
LABEL = "gpuops-bench.stack"
BOOT_SECONDS = 60
# What the image has of a driver; here the role brings it.
DRIVER_OF_THE_IMAGE = "rm -f /usr/bin/nvidia-* /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
# The image has no logind, which shutdown asks. These hosts live for minutes, and NCCL alone has 430 MB.
REBOOT = r"#!/bin/sh\nexec systemctl --no-block reboot\n"
SHUTDOWN = f"rm /sbin/shutdown; printf '{REBOOT}' >/sbin/shutdown; chmod 755 /sbin/shutdown"
UNSAFE_IO = "echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/20bench"


def up() -> None:
    """The repository and the hosts, as bare as at the beginning."""
    state, progress = State(CHECKOUT), Progress()
    wanted = images.ensure_images(state, progress)
    progress.say("the package repository (about 60 s where it is not built yet) …")
    packages = image.ensure_image(wanted["base"], state)
    down()
    hosts.ensure_network()
    image.serve(REPOSITORY, packages, hosts.NETWORK, REPOSITORY_ADDRESS, LABEL)
    fingerprint = state.root / "stack" / "fingerprint"
    fingerprint.parent.mkdir(exist_ok=True)
    fingerprint.write_text(image.fingerprint(REPOSITORY) + "\n", encoding="ascii")
    profile = load(PROFILE)
    for host in profile.hosts:
        create(host, wanted["host"])
    for host in profile.hosts:
        await_boot(host.name)
        docker("exec", host.name, "sh", "-c", f"{DRIVER_OF_THE_IMAGE}; {SHUTDOWN}; {UNSAFE_IO}; apt-get update -q")


def down() -> None:
    """Removes what ``up`` has made."""
    for name in docker("ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}").split():
        docker("rm", "--force", "--volumes", name)


def create(host: Host, tag: str) -> None:
    """A host that comes back when it reboots."""
    docker(
        *("create", "--name", host.name, "--hostname", host.name, "--label", LABEL, "--restart=always"),
        *("--network", hosts.NETWORK, "--ip", host.address, "--tmpfs", "/run", "--tmpfs", "/run/lock"),
        *("-v", "/var/lib/docker", *hosts.options(confinement()), tag),
    )
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in {
            "etc/gpu-bench/profile.json": json.dumps(host.document),
            "etc/gpu-bench/cards.tsv": hosts.cards_table(host.document),
            "etc/gpu-bench/product_uuid": host.document["product_uuid"] + "\n",
        }.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content.encode()), 0o644
            tar.addfile(member, io.BytesIO(content.encode()))
    subprocess.run(["docker", "cp", "-", f"{host.name}:/"], input=archive.getvalue(), check=True, capture_output=True)
    docker("start", host.name)


def await_boot(name: str) -> None:
    """Waits until systemd has started everything."""
    deadline = time.monotonic() + BOOT_SECONDS
    while docker("exec", name, "systemctl", "is-system-running", check=False) not in ("running", "degraded"):
        if time.monotonic() > deadline:
            raise BenchError(
                f"{name} did not come up in {BOOT_SECONDS} s; look at: docker exec {name} systemctl --failed"
            )
        time.sleep(0.5)


if __name__ == "__main__":
    try:
        {"up": up, "down": down}[sys.argv[1]]()
    except BenchError as error:
        sys.exit(str(error))
