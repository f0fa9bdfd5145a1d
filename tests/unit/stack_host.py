# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts and settings for tests of the NVIDIA stack."""

from __future__ import annotations

from typing import Any

V100 = {"pci_bus_id": "00000000:3B:00.0", "device_id": 0x1DB6, "name": "Tesla V100-PCIE-32GB", "architecture": "volta"}
A100 = {
    "pci_bus_id": "00000000:41:00.0",
    "device_id": 0x20B5,
    "name": "NVIDIA A100 80GB PCIe",
    "architecture": "ampere",
}
H100 = {"pci_bus_id": "00000000:51:00.0", "device_id": 0x2331, "name": "NVIDIA H100 PCIe", "architecture": "hopper"}
GH200 = {"pci_bus_id": "00000009:01:00.0", "device_id": 0x2342, "name": "NVIDIA GH200 480GB", "architecture": "hopper"}
B200 = {"pci_bus_id": "00000000:61:00.0", "device_id": 0x2901, "name": "NVIDIA B200", "architecture": "blackwell"}
K80 = {"pci_bus_id": "00000000:04:00.0", "device_id": 0x102D, "name": None, "architecture": None}

SETTINGS = {
    "driver_version": "580.95.05",
    "kernel_modules": "auto",
    "cuda": "libraries",
    "cuda_version": "12.9",
    "nccl_version": "2.27.5-1+cuda12.9",
    "container_toolkit_version": "1.18.2",
    "cuda_repository_url": "https://mirror.example.org/cuda",
    "container_toolkit_repository_url": "https://mirror.example.org/libnvidia-container/",
}
INSTALLED = {
    "nvidia-kernel-dkms": "580.95.05-1",
    "nvidia-driver-cuda": "580.95.05-1",
    "nvidia-persistenced": "580.95.05-1",
    "cuda-libraries-12-9": "12.9.1-1",
    "libnccl2": "2.27.5-1+cuda12.9",
    "nvidia-container-toolkit": "1.18.2-1",
    "nvidia-container-toolkit-base": "1.18.2-1",
    "libnvidia-container-tools": "1.18.2-1",
    "libnvidia-container1": "1.18.2-1",
}

# A key of 1024 bits made for these tests alone.
KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mI0Eaw3lxAEEAL9TM2f059KOD22NHNvWn9jQXkk419FUbI4D40aLrT4TBPF2ymJ+
h28AfAjFFLpsY2XV8tRPYpDZw77wB3HMC9p0gFQmShpRqxbLUL4RVzPzVQf8TejE
C/uujwP+YhBhHpDNQLPCzH8g86lhj1gDDUpqY365egq1fohDJR94tJrjABEBAAG0
F3Rlc3QgPHRlc3RAZXhhbXBsZS5vcmc+iM4EEwEKADgWIQQTWjW/uarlGnQda3k/
3CEQPn2c9AUCaw3lxAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRA/3CEQ
Pn2c9F4mA/0aVAfyFq71ZQg7MINGAkw/xKZDTz953i2lCFec68RqXc/d7MKv+j+l
peFhXoCrCPx3+FQNgybrUcF66CpP3Te7b7Fohbw7+HJY7eDMHIG5/HAXVlr84c12
r7if4Qpc+W5N5Q2NuL0C44afrGP4s6FcMfG1hj8MB7t0JT+Ri0YLPw==
=jPa6
-----END PGP PUBLIC KEY BLOCK-----
"""
FINGERPRINT = "135A35BFB9AAE51A741D6B793FDC21103E7D9CF4"


def stack_facts(*cards: dict[str, Any], **other: Any) -> dict[str, Any]:
    """A bare Debian host with these cards; ``modules`` and ``kernel`` are merged, everything else is replaced."""
    facts: dict[str, Any] = {
        "distribution": {"id": "debian", "version_id": "12"},
        "architecture": "x86_64",
        "cards": list(cards),
        "nvswitches": 0,
        "kernel": {"release": "6.1.0-40-amd64", "headers": True},
        "modules": {
            "loaded": None,
            "loaded_kind": None,
            "installed": None,
            "installed_kind": None,
            "nouveau": False,
        },
        "dkms_log": [],
        "secure_boot": False,
        "packages": {},
        "held": [],
        "gpu_processes": [],
        "driver_installer": None,
        "files": {},
        "services": [],
        "persistenced_command": "",
        "initramfs_tool": "update-initramfs",
        "nccl_version": None,
    }
    for name in ("modules", "kernel"):
        facts[name].update(other.pop(name, {}))
    return {**facts, **other}


def installed_facts(*cards: dict[str, Any], **other: Any) -> dict[str, Any]:
    """The same host with the whole stack on it."""
    version = {"loaded": "580.95.05", "installed": "580.95.05"}
    stack = {
        "packages": dict(INSTALLED),
        "held": sorted(INSTALLED),
        "nccl_version": 22705,
        "services": ["nvidia-persistenced.service"],
    }
    return stack_facts(*cards, **{**stack, "modules": version, **other})
