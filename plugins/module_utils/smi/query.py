# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi --query-gpu=… --format=csv[,noheader][,nounits]``."""

from __future__ import annotations

import re
from dataclasses import replace

from . import values
from .faults import faults
from .problems import problem, refused_field, sift
from .reading import MAX_DEVICES, Device, Reading

_ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id"}
_UNIT = re.compile(r"\s*\[[^\]]{0,20}\]$")
# The fields in which a complaint tells of the card itself, and how those begin that are a sensor's.
_VALUES = {"name": "name", "uuid": "uuid", "pci.bus_id": "pci_bus_id", "memory.total": "memory_total"}
_SENSORS = ("temperature", "fan", "power", "utilization", "clocks")
# What is not told when a field is refused, where it is not the whole answer.
_LACKS = {"compute_cap": "compute_capability", "mig.mode.current": "mig"}


def _field(name: str) -> str:
    bare = _UNIT.sub("", name.strip())
    return _ALIASES.get(bare, bare)


def _cells(row: str, columns: list[str]) -> list[str] | None:
    """The values of a row, one per column (a product name may hold commas); ``None`` when there are too few or many."""
    cells = [cell.strip() for cell in row.split(",")]
    surplus = len(cells) - len(columns)
    if surplus > 0 and "name" in columns:
        at = columns.index("name")
        cells[at : at + surplus + 1] = [", ".join(cells[at : at + surplus + 1])]
    return cells if len(cells) == len(columns) else None


def _device(row: dict[str, str], position: int) -> Device:
    number = row.get("index", "")
    index = int(number) if re.fullmatch(r"[0-9]{1,3}", number) else position
    address = values.bus_id(row.get("pci.bus_id"))
    told = {ours: row[field] for field, ours in _VALUES.items() if field in row}
    sensors = {field: value for field, value in row.items() if field.startswith(_SENSORS)}
    return Device(
        index=index,
        uuid=values.uuid(row.get("uuid")),
        pci_bus_id=address,
        name=values.known(row.get("name")),
        compute_capability=values.capability(row.get("compute_cap")),
        memory_total_mib=values.mib(row.get("memory.total")),
        memory_used_mib=values.mib(row.get("memory.used")),
        mig=values.mig_mode(row.get("mig.mode.current")),
        pci_device_id=values.device_id(row.get("pci.device_id")),
        problems=faults(told, sensors, address, index),
    )


def read(output: str, fields: list[str]) -> Reading:
    """One device per row; without an ``index`` column the row's position is the index."""
    columns = [_field(name) for name in fields]
    lines, problems = sift(output)
    refused = refused_field(output)
    if refused:
        lacks = _LACKS.get(_field(refused), "devices")
        problems = [replace(p, lacks=lacks) if p.code == "query_field_unsupported" else p for p in problems]
    reading = Reading(problems=problems, refused_field=refused)
    rows = [line for line in lines if line.strip()]
    if rows and any(_field(cell) in (*columns, *_VALUES) for cell in rows[0].split(",")):
        # The header, which is there when the command asked for one, is the truth about the columns.
        columns = [_field(cell) for cell in rows.pop(0).split(",")]
    versions: set[str | None] = set()
    misfits: list[str] = []
    for row in rows[:MAX_DEVICES]:
        cells = _cells(row, columns)
        if cells is None:
            misfits.append(row)
            continue
        told = dict(zip(columns, cells))
        reading.devices.append(_device(told, len(reading.devices)))
        versions.add(values.version(told.get("driver_version")))
    reading.driver_version = versions.pop() if len(versions) == 1 else None
    if misfits and (reading.devices or not problems):
        told_row = f"a row of {len(columns)} values was wanted, this was found: {misfits[-1]}"
        reading.problems.append(problem("output_incomplete", told_row))
    elif not rows and not problems:
        reading.problems.append(problem("output_unrecognised", "no row"))
    return reading
