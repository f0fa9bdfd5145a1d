# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several readings of one host as one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from .reading import Device, Link, Reading, nvlink_cover

_FILLED = tuple(f.name for f in fields(Device) if f.name not in ("name", "problems"))


def _same_card(known: Device, other: Device) -> bool:
    """By address where both have one, else by UUID, else by number."""
    if known.pci_bus_id and other.pci_bus_id:
        return known.pci_bus_id == other.pci_bus_id
    if known.uuid and other.uuid:
        return known.uuid == other.uuid
    return known.index is not None and known.index == other.index


def _name(first: str | None, second: str | None) -> str | None:
    """The table cuts names with dots; a whole one is better wherever it comes from."""
    whole = next((name for name in (first, second) if name and not name.endswith("...")), None)
    return whole or first or second


def _join(known: Device, other: Device) -> Device:
    filled = {name: getattr(other, name) for name in _FILLED if getattr(known, name) is None}
    codes = {problem.code for problem in known.problems}
    problems = known.problems + [problem for problem in other.problems if problem.code not in codes]
    return replace(known, name=_name(known.name, other.name), problems=problems, **filled)


def _devices(readings: Sequence[Reading]) -> list[Device]:
    devices: list[Device] = []
    for reading in readings:
        listed = len(devices)
        for other in reading.devices:
            at = next((i for i, known in enumerate(devices[:listed]) if _same_card(known, other)), None)
            if at is not None:
                devices[at] = _join(devices[at], other)
            elif not listed or other.pci_bus_id or other.uuid or other.name:
                # A number alone, as the matrices have it, is no card when cards are known.
                devices.append(replace(other))
    return devices


def numbered(devices: Sequence[Device]) -> list[Device]:
    """The devices by index, each with one of its own.

    The driver's number counts where there is one. A card without, or with one that another has, gets the lowest free.
    """
    taken: set[int] = set()
    claims: list[Device] = []
    for device in devices:
        claims.append(replace(device, index=None) if device.index in taken else device)
        taken |= {device.index} - {None}  # type: ignore[arg-type]
    result = [device for device in claims if device.index is not None]
    free = (number for number in range(len(claims) + len(taken)) if number not in taken)
    for device in sorted((d for d in claims if d.index is None), key=lambda d: d.pci_bus_id or ""):
        result.append(replace(device, index=next(free)))
    return sorted(result, key=lambda device: device.index or 0)


def _links(readings: Iterable[Reading]) -> dict[tuple[int, int], Link]:
    links: dict[tuple[int, int], Link] = {}
    for reading in readings:
        for pair, other in reading.links.items():
            known = links.get(pair, Link())
            links[pair] = Link(
                topology=known.topology or other.topology,
                nvlinks=other.nvlinks if known.nvlinks is None else known.nvlinks,
                p2p_read=other.p2p_read if known.p2p_read is None else known.p2p_read,
            )
    return links


def merge(readings: Sequence[Reading]) -> Reading:
    """One reading of all; what an earlier one tells is believed, what it does not tell is filled in by later ones."""
    merged = Reading(devices=numbered(_devices(readings)), links=_links(readings))
    for name in ("driver_version", "cuda_version", "gpus_attached", "nvlink"):
        setattr(merged, name, next((v for v in (getattr(r, name) for r in readings) if v is not None), None))
    if merged.links:
        merged.nvlink = nvlink_cover(merged.links) or merged.nvlink
    for reading in readings:
        merged.problems += [problem for problem in reading.problems if problem not in merged.problems]
    return merged
