# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that ``nvidia-smi`` prints without arguments. Its columns cut names ("Tesla V100-PCIE...")."""

from __future__ import annotations

import re

from . import values
from .problems import cuda_problem, problem, sift
from .reading import MAX_DEVICES, Device, Reading

_BANNER = re.compile(r"NVIDIA-SMI\s+\S+\s+(?:Driver|KMD) Version:\s*(\S+)(?:\s+CUDA(?: UMD)? Version:\s*(\S+))?")
_CARD = re.compile(r"([0-9]{1,3})\s+(\S.*)")
_PERSISTENCE = re.compile(r"\s+(?:On|Off|N/A|ERR!)$")
_MEMORY = re.compile(r"([0-9]{1,9})MiB\s*/\s*([0-9]{1,9})MiB")
_INSTANCE = re.compile(r"([0-9]{1,3})\s+[0-9]+\s+[0-9]+\s+[0-9]+")
_NO_INSTANCES = re.compile(r"No MIG devices found", re.IGNORECASE)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _card(cells: list[str]) -> Device | None:
    """The device of a card's first row: index, name and persistence mode; address and display; ECC errors."""
    match = _CARD.match(cells[0])
    if not match:
        return None
    device = Device(
        index=int(match[1]), pci_bus_id=values.bus_id(cells[1]), name=values.known(_PERSISTENCE.sub("", match[2]))
    )
    if "ERR!" in "".join(cells):
        device.problems = [problem("gpu_error", f"its row reads {' | '.join(cells)}", device.pci_bus_id, device.index)]
    return device


def _add_memory(device: Device, cells: list[str]) -> None:
    """A card's second row: fan, temperature, state, power; memory; utilisation and compute mode."""
    memory = _MEMORY.search(cells[1])
    if memory:
        device.memory_used_mib, device.memory_total_mib = int(memory[1]), int(memory[2])
    if device.problems:
        return
    if values.fault(cells[1]) or "ERR!" in cells[2] or cells[0].count("ERR!") > 2:
        code = "gpu_error"
    elif not memory:
        code = "memory_not_reported"
    elif "ERR!" in cells[0]:
        code = "sensor_error"
    else:
        return
    device.problems = [problem(code, f"its row reads {' | '.join(cells)}", device.pci_bus_id, device.index)]


class _Table:
    """The rows seen so far. A card has two rows, from branch 450 on three; a border ends it."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.device: Device | None = None
        self.rows = 0

    def feed(self, line: str) -> None:
        if line.startswith("+"):
            self.device = None
        if not line.startswith("|"):
            return
        cells = _cells(line)
        instance = _INSTANCE.match(cells[0])
        if len(cells) == 3:
            self._card_row(cells)
        elif len(cells) > 3 and instance:
            for device in self.devices:
                if device.index == int(instance[1]):
                    device.mig_instances = (device.mig_instances or 0) + 1
        elif _NO_INSTANCES.search(line):
            for device in self.devices:
                device.mig_instances = device.mig_instances or 0

    def _card_row(self, cells: list[str]) -> None:
        self.rows += 1
        if self.device is None:
            self.device, self.rows = _card(cells), 1
            if self.device and len(self.devices) < MAX_DEVICES:
                self.devices.append(self.device)
        elif self.rows == 2:
            _add_memory(self.device, cells)
        elif self.rows == 3:
            self.device.mig = values.mig_mode(cells[2])


def read(output: str) -> Reading:
    """Driver and CUDA version, and of each card the name, address, memory, MIG mode and instances."""
    lines, problems = sift(output)
    reading = Reading(problems=problems)
    table = _Table()
    banner = None
    for line in lines:
        banner = banner or _BANNER.search(line[:400])
        table.feed(line.strip())
    reading.devices = table.devices
    if banner:
        reading.driver_version, reading.cuda_version = values.version(banner[1]), values.version(banner[2])
        reading.add_to_all(cuda_problem(banner[2]))
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
    if table.device or (banner and not reading.devices):
        reading.problems.append(problem("output_incomplete", f"the table's last line is {last}"))
    elif not reading.devices and not problems:
        reading.problems.append(problem("output_unrecognised", last))
    return reading
