# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reading as the public structure of ``ansible_facts.gpustack_gpu``."""

from __future__ import annotations

from typing import Any

from .identity import identified
from .problems import problem
from .reading import Device, Problem, Reading


def _with_mig(device: Device) -> list[Problem]:
    """The device's problems and what MIG adds: nothing that wants the whole card can run."""
    if device.mig != "enabled":
        return device.problems
    code = "mig_without_instances" if device.mig_instances == 0 else "mig_enabled"
    count = "an unknown number of" if device.mig_instances is None else device.mig_instances
    mig = problem(code, f"MIG mode is enabled with {count} instances", device.pci_bus_id, device.index)
    # The instances hold the memory, so that a missing total is no news.
    return [p for p in device.problems if p.lacks != "memory_total_mib"] + [mig]


def _shown(problems: list[Problem]) -> list[dict[str, str]]:
    shown = [{"code": p.code, "message": p.message, "remedy": p.remedy} for p in problems]
    return [entry for at, entry in enumerate(shown) if entry not in shown[:at]]


def facts(reading: Reading) -> dict[str, Any]:
    """Devices in the reading's order; problems of the host first, then the faults of each card."""
    devices = [identified(device) for device in reading.devices]
    problems = [_with_mig(device) for device in devices]
    return {
        "driver_version": reading.driver_version,
        "cuda_version": reading.cuda_version,
        "devices": [
            {
                "index": device.index,
                "uuid": device.uuid,
                "pci_bus_id": device.pci_bus_id,
                "name": device.name,
                "architecture": device.architecture,
                "compute_capability": device.compute_capability,
                "memory_total_mib": device.memory_total_mib,
                "memory_used_mib": device.memory_used_mib,
                "mig": device.mig,
                "usable": not any(p.blocking for p in told),
                "problems": _shown(told),
            }
            for device, told in zip(devices, problems)
        ],
        "links": {
            f"{a}-{b}": {"topology": link.topology, "nvlinks": link.nvlinks, "p2p_read": link.p2p_read}
            for (a, b), link in sorted(reading.links.items())
        },
        "nvlink": reading.nvlink,
        "problems": _shown(reading.problems + [p for told in problems for p in told if not p.configured]),
    }
