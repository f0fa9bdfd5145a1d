# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complaints of nvidia-smi, recognised in its text or its exit code."""

from __future__ import annotations

import re
from dataclasses import replace

from .catalogue import CATALOGUE
from .reading import Problem
from .values import bus_id

_SAID_LENGTH = 240
_LINE_LENGTH = 1000


def problem(code: str, line: str, pci_bus_id: str | None = None, index: int | None = None) -> Problem:
    """The catalogue's problem, told with the line that showed it and the card that it is about."""
    entry = CATALOGUE[code]
    where = f"{index} ({pci_bus_id})" if pci_bus_id and index is not None else pci_bus_id or index
    said = " ".join(line.split())[:_SAID_LENGTH] or "no output"
    return Problem(
        code=code,
        message=entry.message.format(where="?" if where is None else where, line=said),
        remedy=entry.remedy.replace("<bus id>", "<bus id>" if where is None else pci_bus_id or str(index)),
        blocking=entry.blocking,
        configured=entry.configured,
        lacks=entry.lacks,
        pci_bus_id=pci_bus_id,
        index=index,
    )


# The first that matches a line is meant.
_COMPLAINTS = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        ("driver_library_mismatch", r"driver/library version mismatch"),
        ("gpu_access_blocked", r"blocked by the operating system"),
        ("insufficient_permissions", r"initialize NVML: Insufficient Permissions"),
        ("nvml_unknown_error", r"initialize NVML: Unknown Error"),
        ("driver_not_loaded", r"initialize NVML: Driver Not Loaded"),
        ("nvml_library_missing", r"initialize NVML: .{0,40}Library Not Found|couldn.t find libnvidia-ml"),
        ("nvml_failed", r"Failed to initialize NVML"),
        ("driver_not_loaded", r"couldn.t communicate with the NVIDIA driver"),
        ("no_devices", r"No devices were found|No supported GPUs were found"),
        ("inforom_corrupted", r"infoROM is corrupted"),
        ("gpu_lost", r"device handle for .{0,80}(?:is lost|fallen off the bus)"),
        ("gpu_requires_reset", r"device handle for .{0,80}requires reset"),
        ("gpu_unreachable", r"Unable to determine the device handle"),
        ("query_field_unsupported", r'Field "[^"]{1,80}" is not a valid field'),
        ("nvidia_smi_missing", r"nvidia-smi.{0,20}: (?:command )?not found|nvidia-smi.{0,20}No such file or directory"),
    )
)
_OF_A_CARD = frozenset({"gpu_lost", "gpu_requires_reset", "gpu_unreachable", "inforom_corrupted"})
# "GPU 0000:02:00.0", "GPU1: 0000:34:00.0", and from branch 525 on glued, "GPU0000:01:00.0".
_ADDRESS = re.compile(r"GPU ?(?:([0-9]{1,3}): ?)?([0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7])", re.IGNORECASE)
_REFUSED_FIELD = re.compile(r'Field "([^"]{1,80})" is not a valid field', re.IGNORECASE)
_LIBRARY_VERSION = re.compile(r"NVML library version: ([0-9.]{1,20})")

# What an exit code means where the text says nothing (manual page, "Return value"; 18 is NVML's own number).
_EXIT_CODES = {
    4: "insufficient_permissions",
    6: "no_devices",
    9: "driver_not_loaded",
    12: "nvml_library_missing",
    14: "inforom_corrupted",
    15: "gpu_unreachable",
    18: "driver_library_mismatch",
    127: "nvidia_smi_missing",
}


def _recognise(line: str) -> Problem | None:
    code = next((code for code, pattern in _COMPLAINTS if pattern.search(line)), None)
    if code is None:
        return None
    card = _ADDRESS.search(line) if code in _OF_A_CARD else None
    if card is None:
        return problem(code, line)
    return problem(code, line, bus_id(card[2]), int(card[1]) if card[1] else None)


def sift(output: str) -> tuple[list[str], list[Problem]]:
    """The lines that are no complaints, and the complaints, each once."""
    rest: list[str] = []
    found: list[Problem] = []
    for line in output.split("\n"):
        told = _recognise(line[:_LINE_LENGTH])
        versions = _LIBRARY_VERSION.match(line)
        if told:
            found += [told] if told not in found else []
        elif versions and found and found[-1].code == "driver_library_mismatch":
            found[-1] = replace(found[-1], message=f"{found[-1].message} (libraries {versions[1]})")
        else:
            rest.append(line)
    return rest, found


def refused_field(output: str) -> str | None:
    """The query field that the driver does not know."""
    match = _REFUSED_FIELD.search(output)
    return match[1] if match else None


def exit_code_problem(rc: int, output: str) -> Problem:
    """What the exit code tells of an output that tells nothing."""
    line = next((line for line in output.split("\n") if line.strip()), "no output")
    return problem(_EXIT_CODES.get(rc, "nvidia_smi_failed"), f"exit code {rc}, {line}")


def cuda_problem(printed: str | None) -> Problem | None:
    """The problem of a CUDA version printed as missing. Drivers below branch 410 print none at all, which is none."""
    missing = (printed or "").strip() in ("N/A", "ERR!", "Not Found")
    return problem("cuda_unavailable", f"CUDA Version: {printed}") if missing else None
