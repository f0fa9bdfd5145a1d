# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions as packages write them."""

from __future__ import annotations


def matches(wanted: str, version: str | None) -> bool:
    """Whether a package's version is the wanted one, of which the end may be left out: 580.95.05 is 580.95.05-1.

    An empty ``wanted`` is any version. An epoch (``3:``) does not count.
    """
    if version is None:
        return False
    upstream = version.partition(":")[2] or version
    return not wanted or upstream == wanted or upstream.startswith((f"{wanted}-", f"{wanted}.", f"{wanted}+"))


def branch(driver_version: str) -> int:
    """580 of 580.95.05. Raises ValueError for what is no driver version."""
    number = driver_version.partition(".")[0]
    if not number.isdigit():
        raise ValueError(f"the driver version {driver_version!r} is none: wanted is one such as 580.95.05, or 580")
    return int(number)


def nccl_text(code: int) -> str:
    """2.27.5 of 22705, which is how ncclGetVersion answers."""
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"


def nccl_code(version: str) -> int:
    """22705 of 2.27.5-1+cuda12.9. Raises ValueError for what is no NCCL version."""
    parts = version.partition("-")[0].split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"the NCCL version {version!r} is none: wanted is one such as 2.27.5-1+cuda12.9")
    major, minor, patch = map(int, parts)
    return major * 10000 + minor * 100 + patch
