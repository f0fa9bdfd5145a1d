# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site's registry: a real one, inside the fleet's network, filled with the fleet's images."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request

from .docker import docker, inspect, logged
from .errors import BenchError
from .hosts import NETWORK
from .images import IMAGES
from .progress import Progress
from .state import State

NAME = "gpuops-bench-registry"
ADDRESS = "172.30.0.2"
PORT = 5000


def ensure_registry(image: str, progress: Progress) -> str:
    """Makes or starts the registry; returns its address on this machine (``127.0.0.1:PORT``)."""
    container = inspect("container", NAME)
    if container is not None and container["Config"]["Image"] != image:
        docker("rm", "--force", NAME)
        container = None
    if container is None:
        progress.say("making the registry")
        port = _free_port()
        docker(
            *("run", "--detach", "--name", NAME, "--hostname", "registry", "--label", NETWORK, "--network", NETWORK),
            *("--ip", ADDRESS, "--publish", f"127.0.0.1:{port}:{PORT}", "-v", f"{NAME}:/var/lib/registry", image),
        )
    else:
        docker("start", NAME)
    local = f"127.0.0.1:{published_port()}"
    _await(local)
    return local


def push(local: str, wanted: dict[str, str], state: State, progress: Progress) -> None:
    """Pushes the built images that the registry lacks; a second tag with the build's hash, pushed last, tells which it
    has."""
    for image in IMAGES:
        if image.repository is None or inspect("image", wanted[image.name]) is None:
            continue
        repository, release = image.repository.split(":")
        build = f"build-{wanted[image.name].split(':')[1]}"
        if build in _tags(local, repository):
            continue
        progress.say(f"pushing {image.repository} to the registry …")
        for tag in (release, build):
            reference = f"{local}/{repository}:{tag}"
            docker("tag", wanted[image.name], reference)
            logged(["docker", "push", reference], state.logs / f"push-{image.name}.log")
            docker("image", "rm", reference)


def published_port() -> int:
    """The registry's port on this machine."""
    return int(docker("port", NAME, f"{PORT}/tcp").rsplit(":", 1)[1])


def remove(*, with_store: bool) -> None:
    """Removes the registry; its store only when asked to."""
    docker("rm", "--force", NAME, check=False)
    if with_store:
        docker("volume", "rm", "--force", NAME, check=False)


def _tags(local: str, repository: str) -> list[str]:
    try:
        with urllib.request.urlopen(f"http://{local}/v2/{repository}/tags/list", timeout=10) as answer:
            return json.load(answer)["tags"] or []
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []
        raise BenchError(f"The registry at {local} answers {error.code} {error.reason}.") from None


def _free_port() -> int:
    """PORT where it is free, any other one otherwise."""
    for candidate in (PORT, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise BenchError("No port is free on 127.0.0.1.")


def _await(local: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"http://{local}/v2/", timeout=2):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise BenchError(f"The registry does not answer on {local}: {error}.") from None
            time.sleep(0.3)
