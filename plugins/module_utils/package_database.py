# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host's package manager knows: installed versions and holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

VERSIONLOCK = Path("/etc/dnf/plugins/versionlock.list")


def list_packages(module: Any) -> tuple[dict[str, str], list[str]]:
    """Versions of the installed packages by name, and the names of the held ones. ``module`` runs the commands."""
    query = module.get_bin_path("dpkg-query")
    if query is not None:
        _rc, out, _err = module.run_command([query, "-W", "-f", "${db:Status-Abbrev}|${Package}|${Version}\n"])
        return read_dpkg(out)
    query = module.get_bin_path("rpm")
    if query is None:
        return {}, []
    _rc, out, _err = module.run_command([query, "-qa", "--qf", "%{NAME}|%{EVR}\n"])
    lock = VERSIONLOCK.read_text(encoding="utf-8") if VERSIONLOCK.exists() else ""
    return read_rpm(out), read_versionlock(lock)


def read_dpkg(output: str) -> tuple[dict[str, str], list[str]]:
    """Of lines such as ``hi |libnccl2|2.27.5-1+cuda12.9``; the second letter tells that it is installed."""
    rows = [line.split("|") for line in output.splitlines() if line[1:2] == "i"]
    return {name: version for _status, name, version in rows}, sorted(
        name for status, name, _version in rows if status[0] == "h"
    )


def read_rpm(output: str) -> dict[str, str]:
    """Of lines such as ``nvidia-driver-cuda|3:580.95.05-1.el9``."""
    return dict(line.split("|", 1) for line in output.splitlines() if "|" in line)


def read_versionlock(text: str) -> list[str]:
    """The names in dnf's list, whose lines are such as ``nvidia-driver-cuda-3:580.95.05-1.el9.*``."""
    return sorted(set(re.findall(r"^(?![#!\s])(\S+)-[^-\s]+-[^-\s]+$", text, re.MULTILINE)))
