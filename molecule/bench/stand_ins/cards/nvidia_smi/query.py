# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""--query-gpu and --query-compute-apps: comma separated answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .state import Gpu, Host

Getter = Callable[[Host, Gpu], Any]


def _fixed(value: Any) -> Getter:
    return lambda host, gpu: value


def _now(host: Host, gpu: Gpu) -> str:
    seconds = time.time()
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"


def _pci(name: str) -> Getter:
    def value(host: Host, gpu: Gpu) -> str:
        pci = gpu.pci
        both = {"device_id": ("device", "vendor"), "sub_device_id": ("subsystem_device", "subsystem_vendor")}[name]
        return "0x" + "".join(pci[part][2:].upper() for part in both)

    return value


#: Field → (unit, value).
FIELDS: dict[str, tuple[str, Getter]] = {
    "timestamp": ("", _now),
    "driver_version": ("", lambda host, gpu: host.driver_version),
    "count": ("", lambda host, gpu: len(host.gpus)),
    "name": ("", lambda host, gpu: gpu.name),
    "serial": ("", _fixed("[N/A]")),
    "uuid": ("", lambda host, gpu: gpu.uuid),
    "index": ("", lambda host, gpu: gpu.index),
    "pci.bus_id": ("", lambda host, gpu: gpu.pci_bus_id),
    "pci.domain": ("", lambda host, gpu: "0x" + gpu.pci_bus_id[4:8]),
    "pci.bus": ("", lambda host, gpu: "0x" + gpu.pci_bus_id[9:11]),
    "pci.device": ("", lambda host, gpu: "0x" + gpu.pci_bus_id[12:14]),
    "pci.device_id": ("", _pci("device_id")),
    "pci.sub_device_id": ("", _pci("sub_device_id")),
    "pcie.link.gen.current": ("", _fixed(3)),
    "pcie.link.gen.max": ("", _fixed(3)),
    "pcie.link.width.current": ("", _fixed(16)),
    "pcie.link.width.max": ("", _fixed(16)),
    "display_mode": ("", _fixed("Disabled")),
    "display_active": ("", _fixed("Disabled")),
    "persistence_mode": ("", lambda host, gpu: "Enabled" if host.persistence else "Disabled"),
    "addressing_mode": ("", _fixed("HMM")),
    "accounting.mode": ("", _fixed("Disabled")),
    "vbios_version": ("", _fixed("88.00.80.00.01")),
    "inforom.ecc": ("", _fixed("5.0")),
    "fan.speed": ("%", _fixed("[N/A]")),
    "pstate": ("", _fixed("P0")),
    "memory.total": ("MiB", lambda host, gpu: gpu.memory_total_mib),
    "memory.reserved": ("MiB", lambda host, gpu: gpu.reserved_mib),
    "memory.used": ("MiB", lambda host, gpu: gpu.used_mib),
    "memory.free": ("MiB", lambda host, gpu: gpu.free_mib),
    "compute_mode": ("", _fixed("Default")),
    "compute_cap": ("", lambda host, gpu: gpu.compute_capability),
    "utilization.gpu": ("%", _fixed(0)),
    "utilization.memory": ("%", _fixed(0)),
    "ecc.mode.current": ("", _fixed("Enabled")),
    "ecc.mode.pending": ("", _fixed("Enabled")),
    "ecc.errors.corrected.volatile.total": ("", _fixed(0)),
    "ecc.errors.uncorrected.volatile.total": ("", lambda host, gpu: gpu.uncorrected_errors),
    "ecc.errors.corrected.aggregate.total": ("", _fixed(0)),
    "ecc.errors.uncorrected.aggregate.total": ("", lambda host, gpu: gpu.uncorrected_errors),
    "retired_pages.pending": ("", _fixed("No")),
    "temperature.gpu": ("", lambda host, gpu: gpu.temperature_c),
    "power.management": ("", _fixed("Enabled")),
    "power.draw": ("W", lambda host, gpu: f"{gpu.power_w:.2f}"),
    "power.limit": ("W", lambda host, gpu: f"{gpu.power_limit_w:.2f}"),
    "enforced.power.limit": ("W", lambda host, gpu: f"{gpu.power_limit_w:.2f}"),
    "power.default_limit": ("W", lambda host, gpu: f"{gpu.power_limit_w:.2f}"),
    "clocks.current.sm": ("MHz", _fixed(1230)),
    "clocks.current.memory": ("MHz", _fixed(877)),
    "clocks.max.sm": ("MHz", _fixed(1380)),
    "clocks.max.memory": ("MHz", _fixed(877)),
    "mig.mode.current": ("", lambda host, gpu: "Disabled" if gpu.mig == "Disabled" else "[N/A]"),
    "mig.mode.pending": ("", lambda host, gpu: "Disabled" if gpu.mig == "Disabled" else "[N/A]"),
}
ALIASES = {
    "gpu_name": "name",
    "gpu_serial": "serial",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
}
APP_FIELDS = {"gpu_name": "", "gpu_bus_id": "", "gpu_uuid": "", "pid": "", "process_name": "", "used_memory": "MiB"}
APP_ALIASES = {"used_gpu_memory": "used_memory", "name": "process_name"}


class UnknownField(Exception):
    """The field that nvidia-smi does not have."""


def gpus(host: Host, chosen: Sequence[Gpu], fields: Sequence[str], formats: Sequence[str]) -> str:
    """The answer to --query-gpu."""
    known = [(field, FIELDS[_canonical(field, ALIASES, FIELDS)]) for field in fields]
    rows = [[(getter(host, gpu), unit) for _, (unit, getter) in known] for gpu in chosen]
    return _csv([(field, unit) for field, (unit, _) in known], rows, formats)


def apps(chosen: Sequence[Gpu], fields: Sequence[str], formats: Sequence[str]) -> str:
    """The answer to --query-compute-apps."""
    names = [_canonical(field, APP_ALIASES, APP_FIELDS) for field in fields]
    rows = []
    for gpu in chosen:
        for process in gpu.processes:
            values = {
                "gpu_name": gpu.name,
                "gpu_bus_id": gpu.pci_bus_id,
                "gpu_uuid": gpu.uuid,
                "pid": process.pid,
                "process_name": process.name,
                "used_memory": process.used_mib,
            }
            rows.append([(values[name], APP_FIELDS[name]) for name in names])
    return _csv([(field, APP_FIELDS[name]) for field, name in zip(fields, names)], rows, formats)


def _canonical(field: str, aliases: dict[str, str], known: dict[str, Any]) -> str:
    name = aliases.get(field, field)
    if name not in known:
        raise UnknownField(field)
    return name


def _csv(head: Sequence[tuple[str, str]], rows: Sequence[Sequence[tuple[Any, str]]], formats: Sequence[str]) -> str:
    units = "nounits" not in formats
    lines = []
    if "noheader" not in formats:
        lines.append(", ".join(f"{name} [{unit}]" if unit else name for name, unit in head))
    for row in rows:
        lines.append(
            ", ".join(f"{value} {unit}" if unit and units and value != "[N/A]" else str(value) for value, unit in row)
        )
    return "".join(line + "\n" for line in lines)
