# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host as GPUStack's ``resources:`` configuration declares it.

The cards are not declared: GPUStack finds them itself, through the library that the container runtime hands in.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

PROFILE = Path("/run/gpu-bench/profile.json")


def merge(config: dict[str, Any], profile: dict[str, Any] | None) -> dict[str, Any]:
    """The configuration with the host's size added; what the user declared himself stays.

    ``profile`` is what the container runtime handed in, None where it did not.
    """
    return {**config, "resources": {**system(profile), **(config.get("resources") or {})}}


def system(profile: dict[str, Any] | None) -> dict[str, Any]:
    """The host beside its cards. With all of it declared, GPUStack never calls the tool it would have to download."""
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
