#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of this scenario, beside the fleet of the bench, and the site around it: Docker's repository, a registry.

hosts.py up      made anew; fingerprint and CA of the site are in .bench/site then
hosts.py down    removes them
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
sys.path.insert(0, str(CHECKOUT / "molecule" / "bench"))

from fleet import extra, images, registry
from fleet.docker import docker, logged
from fleet.errors import BenchError
from fleet.hosts import NETWORK
from fleet.machine import proxy_variables
from fleet.profile import load
from fleet.progress import Progress
from fleet.state import State

PROFILE = load(HERE / "hardware" / "profile.yml")
SITE, ADDRESS = "gpuops-bench-site", "172.30.0.4"
# What others have left on the host: their settings, and their entry for Docker's repository.
SETTINGS = '{"labels": ["rack=7"], "dns": ["172.30.0.1"], "log-opts": {"max-size": "1g"}}'
ENTRY = "deb [signed-by=/etc/apt/keyrings/docker.gpg] https://download.docker.com/linux/debian bookworm stable"


def up() -> None:
    """The site, then the host."""
    state = State(CHECKOUT)
    build(state)
    down()
    # The registry has the store of the bench's own one.
    place = ["--name", SITE, "--network", NETWORK, "--ip", ADDRESS, "--volume", f"{registry.NAME}:/var/lib/registry"]
    docker("run", "--detach", *place, SITE)
    target = state.root / "site"
    target.mkdir(exist_ok=True)
    for name in ("fingerprint", "tls/ca.crt"):
        docker("cp", f"{SITE}:/srv/site/{name}", str(target))
    extra.up(PROFILE, state)
    (host,) = PROFILE.hosts
    leave = f"mkdir -p /etc/docker; echo '{SETTINGS}' >/etc/docker/daemon.json; "
    leave += f"echo '{ENTRY}' >/etc/apt/sources.list.d/download_docker_com_linux_debian.list"
    docker("exec", host.name, "sh", "-c", leave)
    push_sleeper(host.name)


def build(state: State) -> None:
    """The site's image; Docker knows whether there is anything to do."""
    wanted = images.ensure_images(state, Progress())
    proxies = [item for name, value in proxy_variables().items() for item in ("--build-arg", f"{name}={value}")]
    arguments = [f"--build-arg=HOST={wanted['host']}", f"--build-arg=REGISTRY={wanted['registry']}", *proxies]
    command = ["docker", "build", "--network=host", "--label", "gpuops-bench=site", "--tag", SITE, *arguments]
    logged([*command, str(HERE / "site")], state.logs / "build-site.log")


def push_sleeper(host: str) -> None:
    """An image of 3 MB that can only sleep, made of the host's own files."""
    parts = "bin lib lib64 usr/bin/sleep usr/lib64 usr/lib/x86_64-linux-gnu/libc.so.6"
    parts += " usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    archive = ["docker", "exec", host, "sh", "-c", f"tar -C / -c {parts}"]
    reference = f"127.0.0.1:{registry.published_port()}/site/sleeper:1"
    tar = subprocess.run(archive, check=True, capture_output=True).stdout
    subprocess.run(["docker", "import", "-", reference], input=tar, check=True, capture_output=True)
    docker("push", reference)
    docker("image", "rm", reference)


def down() -> None:
    """Removes what ``up`` has made."""
    docker("rm", "--force", "--volumes", SITE, check=False)
    extra.down(PROFILE)


if __name__ == "__main__":
    try:
        {"up": up, "down": down}[sys.argv[1]]()
    except BenchError as error:
        sys.exit(str(error))
