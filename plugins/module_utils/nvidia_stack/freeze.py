# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps the stack from moving: pins, holds, and the blacklist of unattended upgrades."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from .files import MANAGED
from .packages import CONTAINER_TOOLKIT, DEBIAN, UBUNTU, series

DRIVER_PATTERNS = ("*nvidia*", "libcuda1", "libcudadebugger1", "libnvcuvid1", "cuda-drivers*")
NCCL_PATTERNS = ("libnccl*",)
DCGM_PATTERNS = ("datacenter-gpu-manager*",)
# Every one of them brings a driver of whatever branch is newest.
DRIVER_BRINGERS = ("cuda", "cuda-[0-9]*", "cuda-runtime-*", "cuda-drivers*", "nvidia-open", "nvidia-open-*")
DISTRIBUTION_ORIGIN = {DEBIAN: "Debian", UBUNTU: "Ubuntu"}


def held_patterns(cuda_version: str) -> list[str]:
    """Names of packages that stay as they are once they are installed, as shell patterns."""
    return [*DRIVER_PATTERNS, *NCCL_PATTERNS, *DCGM_PATTERNS, f"*-{series(cuda_version)}"]


def frozen(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Those of the names that one of the patterns matches."""
    patterns = list(patterns)
    return sorted(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))


def preferences(family: str, driver_version: str, nccl_version: str, container_toolkit_version: str) -> str:
    """The apt preferences. The first record that matches counts; 1000 takes a package back to an older version too."""
    distribution = DISTRIBUTION_ORIGIN[family]
    records = [
        ("These bring a driver of whatever branch is newest.", DRIVER_BRINGERS, "version *", -1),
        ("All four at one version.", CONTAINER_TOOLKIT, f"version {container_toolkit_version}-*", 1000),
        (
            "The driver comes from one repository only.",
            ("*nvidia*", "libcuda1", "libcudadebugger1", "libnccl*"),
            f"release o={distribution}",
            -1,
        ),
        ("", DRIVER_PATTERNS[:-1], f"version {driver_version}*", 1000),
    ]
    if nccl_version:
        records.append(("Built for this CUDA release.", NCCL_PATTERNS, f"version {nccl_version}*", 1000))
    return "\n".join(_record(*record) for record in records)


def unattended_upgrades_blacklist(cuda_version: str) -> str:
    """The part of apt's configuration that unattended-upgrades reads; the entries are regular expressions."""
    patterns = [
        "nvidia-",
        "libnvidia-",
        "libcuda",
        "libnccl",
        "cuda-",
        "datacenter-gpu-manager",
        f".*-{series(cuda_version)}$",
    ]
    lines = "".join(f'  "{pattern}";\n' for pattern in patterns)
    return f"// {MANAGED}\nUnattended-Upgrade::Package-Blacklist {{\n{lines}}};\n"


def versionlock(names: Iterable[str]) -> list[str]:
    """dnf's command that locks the installed versions of these packages."""
    return ["dnf", "versionlock", "add", *sorted(names)]


def _record(explanation: str, packages: Iterable[str], pin: str, priority: int) -> str:
    lines = [f"Explanation: {explanation}"] if explanation else []
    lines += [f"Package: {' '.join(packages)}", f"Pin: {pin}", f"Pin-Priority: {priority}", ""]
    return "\n".join(lines)
