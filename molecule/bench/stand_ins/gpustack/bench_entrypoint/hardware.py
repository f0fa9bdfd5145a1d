# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host and its cards as GPUStack's ``resources:`` configuration declares them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

PROFILE = Path("/run/gpu-bench/profile.json")


def merge(config: dict[str, Any], profile: dict[str, Any] | None) -> dict[str, Any]:
    """The configuration with the hardware added; what the user declared himself stays.

    ``profile`` is what the container runtime handed in, None where it did not: then there are no cards, as in reality.
    """
    declared = system(profile)
    if profile and profile["gpus"]:
        declared["gpu_devices"] = [gpu_device(gpu, profile["cuda_version"]) for gpu in profile["gpus"]]
    return {**config, "resources": {**declared, **(config.get("resources") or {})}}


def gpu_device(gpu: dict[str, Any], cuda_version: str) -> dict[str, Any]:
    """One card in GPUStack's terms; ``runtime_version`` is the newest CUDA that the driver supports."""
    return {
        "name": gpu["name"],
        "vendor": "nvidia",
        "type": "cuda",
        "index": gpu["index"],
        "device_index": gpu["index"],
        "device_chip_index": 0,
        "arch_family": gpu["architecture"],
        "compute_capability": gpu["compute_capability"],
        "runtime_version": cuda_version,
        "memory": {"total": gpu["memory_total_mib"] << 20, "is_unified_memory": False},
    }


def system(profile: dict[str, Any] | None) -> dict[str, Any]:
    """The host beside its cards. Declared in full, GPUStack never looks for it with a tool it would have to download."""
    kernel = os.uname()
    disk = os.statvfs("/")
    uptime_s = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    boot = time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(time.time() - uptime_s))
    return {
        "cpu": {"total": profile["cpu_cores"] if profile else os.cpu_count()},
        "memory": {"total": profile["memory_total_gib"] << 30 if profile else memory},
        "swap": {"total": 1 << 30},
        "filesystem": [
            {"name": "root", "mount_point": "/", "mount_from": "/dev/sda1", "total": disk.f_frsize * disk.f_blocks}
        ],
        "os": {"name": "Debian GNU/Linux", "version": "12"},
        "kernel": {
            "name": kernel.sysname,
            "release": kernel.release,
            "version": kernel.version,
            "architecture": kernel.machine,
        },
        "uptime": {"uptime": int(uptime_s * 1000), "boot_time": boot},
    }
