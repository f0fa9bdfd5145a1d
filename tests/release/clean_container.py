#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newcomer's first hour: newcomer.sh in a clean container, with this machine's Docker engine and nothing else of it.

The container is Debian with Python, make and an SSH client; the last commit is copied into it. It takes down a fleet
that runs, since its own needs the same addresses, and takes its own down at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "molecule" / "bench"))

from fleet import images, machine
from fleet.hosts import options
from fleet.progress import Progress
from fleet.state import State

PLACE = "/home/newcomer/gpustack"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PACKAGES = ("python3-venv", "make", "openssh-client", "git")


def main() -> int:
    """Returns the exit code of newcomer.sh."""
    base = images.ensure_images(State(CHECKOUT), Progress(), ["base"])["base"]
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "pip.conf").write_text(machine.pip_conf(), encoding="utf-8")
        container = _start(base, Path(directory))
        try:
            _prepare(container)
            command = ["bash", "tests/release/newcomer.sh"]
            return _run("exec", "--workdir", PLACE, container, *command)
        finally:
            _run("rm", "--force", "--volumes", container)


def _start(base: str, directory: Path) -> str:
    """A container that sleeps: on the machine's network, since the fleet's addresses are only known there."""
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    mounts = {engine: "/var/run/docker.sock", shutil.which("docker"): "/usr/local/bin/docker"}
    mounts[str(directory / "pip.conf")] = "/etc/pip.conf"
    if Path(CERTIFICATES).exists():
        mounts[CERTIFICATES] = CERTIFICATES
    volumes = [argument for source, target in mounts.items() for argument in ("--volume", f"{source}:{target}:ro")]
    proxies = [argument for pair in machine.proxy_variables().items() for argument in ("--env", "=".join(pair))]
    # What the fleet's hosts may be given is read from the process that starts them.
    rights = options(machine.confinement())
    command = ["docker", "run", "--detach", "--init", "--network=host", *rights, *volumes, *proxies]
    result = subprocess.run([*command, base, "sleep", "infinity"], check=True, capture_output=True, text=True)
    return result.stdout.strip()


def _prepare(container: str) -> None:
    install = f"apt-get update -q && apt-get install -y -q --no-install-recommends {' '.join(PACKAGES)}"
    _run("exec", container, "sh", "-ec", f"({install}) >/dev/null && mkdir -p {PLACE}", check=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, check=True, capture_output=True).stdout
    subprocess.run(["docker", "exec", "-i", container, "tar", "-x", "-C", PLACE], input=archive, check=True)


def _run(*arguments: str, check: bool = False) -> int:
    return subprocess.run(["docker", *arguments], check=check).returncode


if __name__ == "__main__":
    sys.exit(main())
