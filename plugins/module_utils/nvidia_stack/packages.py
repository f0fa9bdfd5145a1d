# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The packages of the stack by distribution, as NVIDIA's repositories name them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .cards import OPEN, PROPRIETARY

DEBIAN, UBUNTU, RHEL = "debian", "ubuntu", "rhel"

# Compute only: no X server, no desktop libraries. {suffix} is -580 on Ubuntu, and nothing from branch 590 on.
DRIVER: dict[tuple[str, str], tuple[str, ...]] = {
    (DEBIAN, PROPRIETARY): ("nvidia-kernel-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
    (DEBIAN, OPEN): ("nvidia-kernel-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
    (UBUNTU, PROPRIETARY): (
        "nvidia-dkms{suffix}",
        "libnvidia-compute{suffix}",
        "nvidia-utils{suffix}",
        "nvidia-compute-utils{suffix}",
    ),
    (UBUNTU, OPEN): (
        "nvidia-dkms{suffix}-open",
        "libnvidia-compute{suffix}",
        "nvidia-utils{suffix}",
        "nvidia-compute-utils{suffix}",
    ),
    (RHEL, PROPRIETARY): (
        "kmod-nvidia-latest-dkms",
        "nvidia-driver",
        "nvidia-driver-cuda",
        "nvidia-driver-cuda-libs",
        "nvidia-persistenced",
    ),
    (RHEL, OPEN): (
        "kmod-nvidia-open-dkms",
        "nvidia-driver",
        "nvidia-driver-cuda",
        "nvidia-driver-cuda-libs",
        "nvidia-persistenced",
    ),
}
LAST_SUFFIXED_BRANCH = 580
# Never the packages cuda, cuda-12-9 and cuda-runtime-12-9: each of them brings a driver along.
CUDA = {"toolkit": "cuda-toolkit-{series}", "libraries": "cuda-libraries-{series}"}
NCCL = {DEBIAN: "libnccl2", UBUNTU: "libnccl2", RHEL: "libnccl"}
FABRIC_MANAGER = "nvidia-fabricmanager"
DCGM = "datacenter-gpu-manager-4-cuda12"
PERSISTENCED_UNIT = "nvidia-persistenced.service"
FABRIC_MANAGER_UNIT = "nvidia-fabricmanager.service"
DCGM_UNIT = "nvidia-dcgm.service"
UNITS = (PERSISTENCED_UNIT, FABRIC_MANAGER_UNIT, DCGM_UNIT)
CONTAINER_TOOLKIT = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)


@dataclass(frozen=True)
class Package:
    """A package and its version, of which the end may be left out; an empty version is any."""

    name: str
    version: str = ""


def driver(family: str, kernel_modules: str, branch: int, version: str) -> list[Package]:
    """The driver with kernel modules of the given kind."""
    suffix = f"-{branch}" if branch <= LAST_SUFFIXED_BRANCH else ""
    return [Package(name.format(suffix=suffix), version) for name in DRIVER[family, kernel_modules]]


def cuda(what: str, version: str) -> list[Package]:
    """The toolkit or the libraries of a CUDA release such as 12.9 or 12.9.1; nothing for ``none``."""
    return [Package(CUDA[what].format(series=series(version)), version)] if what in CUDA else []


def series(cuda_version: str) -> str:
    """12-9 of 12.9.1."""
    return "-".join(cuda_version.split(".")[:2])


def headers(family: str, kernel_release: str, installed: Collection[str]) -> list[Package]:
    """Headers of the running kernel, and what brings the next kernel's along with it."""
    if family == RHEL:
        version, _dot, _architecture = kernel_release.rpartition(".")  # 5.14.0-570.el9 of 5.14.0-570.el9.x86_64
        return [Package("kernel-devel", version), Package("kernel-devel-matched")]
    return [Package(f"linux-headers-{kernel_release}"), *(Package(name) for name in _header_metapackages(installed))]


def _header_metapackages(installed: Iterable[str]) -> list[str]:
    """linux-headers-generic for linux-image-generic: a kernel without its headers gets no module from DKMS."""
    images = (re.fullmatch(r"linux-image-([a-z].*)", name) for name in sorted(installed))
    return [f"linux-headers-{image[1]}" for image in images if image and "dbg" not in image[1]]
