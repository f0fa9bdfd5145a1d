# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images of the fleet: what goes into each, and building one only when its inputs changed.

An image's tag is a hash of everything it is built from (its files, its parent's tag, the machine's mirrors and
certificates), so an image that is there is right, and one that is right is never built again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import bootstrap
from .docker import docker, ensure_tools, inspect, logged
from .machine import pip_conf, proxy_variables
from .progress import Progress
from .state import State

BENCH = Path(__file__).resolve().parent.parent
PREFIX = "gpuops-bench"


@dataclass(frozen=True)
class Image:
    """One image. ``files`` maps a path in the build context to the file or directory it comes from, later ones win.

    What is ``on_demand`` is built only when it is named, since most uses of the fleet do without.
    """

    name: str
    files: dict[str, Path]
    parent: str | None
    seconds: int
    repository: str | None = None
    needs_pip: bool = False
    on_demand: bool = False


def _gpustack(release: str, name: str, *, on_demand: bool = False) -> Image:
    """GPUStack of one release, with the versions of the tools that this release looks for."""
    return Image(
        name,
        {
            "Dockerfile": BENCH / "images" / "gpustack" / "Dockerfile",
            "constraints.txt": BENCH / "images" / "gpustack" / f"constraints-{release}.txt",
            "stand_ins/gpustack": BENCH / "stand_ins" / "gpustack",
            "stand_ins/gpustack/third_party/bin/versions.json": BENCH / "images" / "gpustack" / f"tools-{release}.json",
        },
        "base",
        150,
        f"gpustack/gpustack:v{release}",
        needs_pip=True,
        on_demand=on_demand,
    )


RUNNER_FLAGS = BENCH.parent.parent / "plugins" / "module_utils" / "planning" / "vllm_flags.py"

IMAGES = (
    Image("base", {"bootstrap.py": BENCH / "fleet" / "bootstrap.py"}, None, 60),
    Image(
        "host",
        {
            "Dockerfile": BENCH / "images" / "host" / "Dockerfile",
            "files": BENCH / "images" / "host" / "files",
            "stand_ins/cards": BENCH / "stand_ins" / "cards",
            "stand_ins/runc": BENCH / "stand_ins" / "runc",
        },
        "base",
        45,
    ),
    Image("registry", {"Dockerfile": BENCH / "images" / "registry" / "Dockerfile"}, "base", 10),
    Image("pause", {"Dockerfile": BENCH / "images" / "pause" / "Dockerfile"}, "base", 2, "gpustack/runtime:pause"),
    Image(
        "runner",
        {
            "Dockerfile": BENCH / "images" / "runner" / "Dockerfile",
            "stand_ins/engine": BENCH / "stand_ins" / "engine",
            "stand_ins/engine/bench_engine/vllm_flags.py": RUNNER_FLAGS,
        },
        "base",
        15,
        "gpustack/runner:cuda12.9-vllm0.17.1",
    ),
    _gpustack("2.1.1", "gpustack"),
    _gpustack("2.3.0", "gpustack-newest", on_demand=True),
)


def tags() -> dict[str, str]:
    """Image name → the tag it has to have now."""
    result: dict[str, str] = {}
    for image in IMAGES:
        digest = hashlib.sha256()
        for text in _surroundings(image, result):
            digest.update(text.encode() + b"\0")
        for target, source in _contents(image):
            digest.update(target.encode() + b"\0" + source.read_bytes() + b"\0")
        result[image.name] = f"{PREFIX}/{image.name}:{digest.hexdigest()[:12]}"
    return result


def ensure_images(state: State, progress: Progress, names: Iterable[str] | None = None) -> dict[str, str]:
    """Builds what is missing of these images (None: all but those on demand), in order; returns ``tags()``."""
    wanted = tags()
    chosen = {image.name for image in IMAGES if not image.on_demand} if names is None else set(names)
    for image in IMAGES:
        if image.name in chosen and inspect("image", wanted[image.name]) is None:
            if image.parent is None:
                ensure_tools({"debootstrap": "debootstrap"}, state, progress)
            progress.say(f"building the {image.name} image (about {image.seconds} s) …")
            _build(image, wanted, state)
    return wanted


def remove_images(keep: Iterable[str] = ()) -> None:
    """Removes the fleet's images, except those to keep and those that a container still uses."""
    listing = docker("image", "ls", "--filter", f"label={PREFIX}", "--format", "{{.Repository}}:{{.Tag}}")
    for reference in sorted(set(listing.split()) - set(keep)):
        if reference.startswith(f"{PREFIX}/") or not keep:
            docker("image", "rm", reference, check=False)
    if not keep:
        docker("image", "prune", "--force", "--filter", f"label={PREFIX}", check=False)


def _surroundings(image: Image, known: dict[str, str]) -> list[str]:
    """What an image depends on beside its own files."""
    if image.parent is None:
        return bootstrap.inputs()
    return [known[image.parent]]


def _contents(image: Image) -> list[tuple[str, Path]]:
    """(path in the context, source file) of every file, directories expanded, in a fixed order."""
    pairs: dict[str, Path] = {}
    for target, source in image.files.items():
        if source.is_dir():
            for path in source.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    pairs[f"{target}/{path.relative_to(source)}"] = path
        else:
            pairs[target] = source
    return sorted(pairs.items())


def _build(image: Image, wanted: dict[str, str], state: State) -> None:
    log = state.logs / f"build-{image.name}.log"
    if image.parent is None:
        bootstrap.build(wanted[image.name], f"{PREFIX}={image.name}", state.build / "base", log)
        return
    context = state.build / image.name
    shutil.rmtree(context, ignore_errors=True)
    for target, source in _contents(image):
        path = context / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
    if image.needs_pip:
        (context / "pip.conf").write_text(pip_conf(), encoding="utf-8")
    proxies = [item for name, value in proxy_variables().items() for item in ("--build-arg", f"{name}={value}")]
    command = ["docker", "build", "--network=host", "--label", f"{PREFIX}={image.name}", "--tag", wanted[image.name]]
    logged([*command, "--build-arg", f"BASE={wanted[image.parent]}", *proxies, str(context)], log)
    shutil.rmtree(context)
