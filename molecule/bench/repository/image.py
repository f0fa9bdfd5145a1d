# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package repositories, as an image that is built once for its inputs and a container that serves them.

NCCL comes from Python's index.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from fleet.docker import docker, inspect, logged
from fleet.errors import BenchError
from fleet.machine import proxy_variables
from fleet.progress import Progress
from fleet.state import State

HERE = Path(__file__).resolve().parent
NCCL = "nvidia-nccl-cu12==2.27.5"
PREFIX = "gpuops-bench"
NAME = "packages"
CONTAINER = f"{PREFIX}-{NAME}"
ADDRESS = "172.30.0.3"
SECONDS = 60


def ensure_image(base: str, state: State, progress: Progress) -> str:
    """The image's tag. It is built where there is none for these inputs, from the base image ``base``."""
    sources = _sources()
    digest = hashlib.sha256(f"{base} {NCCL} {os.uname().release}".encode())
    for target, path in sources.items():
        digest.update(target.encode() + b"\0" + path.read_bytes() + b"\0")
    tag = f"{PREFIX}/{NAME}:{digest.hexdigest()[:12]}"
    if inspect("image", tag) is None:
        progress.say(f"building the {NAME} image (about {SECONDS} s) …")
        _build(tag, base, sources, state)
    return tag


def _sources() -> dict[str, Path]:
    """Path in the build context → the file it comes from."""
    own = sorted(path for path in HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"repository/{path.relative_to(HERE)}": path for path in own}


def _build(tag: str, base: str, sources: dict[str, Path], state: State) -> None:
    context = state.build / NAME
    shutil.rmtree(context, ignore_errors=True)
    for target, path in sources.items():
        (context / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, context / target)
    shutil.move(context / "repository" / "Dockerfile", context / "Dockerfile")
    (context / "wheels").mkdir()
    os.link(_wheel(state), context / "wheels" / _wheel(state).name)
    proxies = [item for name, value in proxy_variables().items() for item in ("--build-arg", f"{name}={value}")]
    command = ["docker", "build", "--network=host", "--label", f"{PREFIX}={NAME}", "--tag", tag]
    logged([*command, "--build-arg", f"BASE={base}", *proxies, str(context)], state.logs / f"build-{NAME}.log")
    shutil.rmtree(context)


def _wheel(state: State) -> Path:
    """NCCL's wheel of 322 MB, downloaded once."""
    directory = state.root / "wheels"
    found = list(directory.glob("nvidia_nccl_cu12-2.27.5-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), NCCL]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        found = list(directory.glob("nvidia_nccl_cu12-2.27.5-*.whl"))
        if not found:
            raise BenchError(f"{NCCL} cannot be downloaded: {result.stderr.strip()[-500:]}")
    return found[0]


def ensure_served(tag: str, network: str, state: State, progress: Progress) -> None:
    """Serves the repositories at ADDRESS, and writes the fingerprint of their key where inventories find it."""
    container = inspect("container", CONTAINER)
    if container is not None and container["Config"]["Image"] != tag:
        remove()
        container = None
    if container is None:
        progress.say("making the package repository")
        place = ["--name", CONTAINER, "--network", network, "--ip", ADDRESS, "--label", network]
        docker("run", "--detach", *place, tag)
    else:
        docker("start", CONTAINER)
    fingerprint = docker("exec", CONTAINER, "cat", "/srv/repository/fingerprint")
    state.packages_fingerprint.write_text(fingerprint + "\n", encoding="ascii")


def remove() -> None:
    """Removes the container."""
    docker("rm", "--force", CONTAINER, check=False)
