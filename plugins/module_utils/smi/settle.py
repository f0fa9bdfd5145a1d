# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last word on a host: what its driver told against what is on its bus. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ..pci_ids import LAST_DRIVER_BRANCH, identify
from .identity import identified
from .merge import numbered
from .pci import Host, PciCard
from .problems import problem
from .reading import Device, Link, Problem, Reading, nvlink_cover

# Chips that share the system's memory: Tegra and GB10.
_INTEGRATED = frozenset({"5.3", "6.2", "7.2", "8.7", "11.0", "12.1"})
_FOR_VIRTUAL_MACHINES = frozenset({"vfio-pci", "nvgrace_gpu_vfio_pci", "pci-stub", "xen-pciback"})


def _with_complaints(devices: Sequence[Device], problems: Sequence[Problem]) -> list[Device]:
    """The complaints about single cards at those cards; a card that only a complaint tells of is listed for it."""
    result = list(devices)
    for told in problems:
        if told.of_host:
            continue
        found = (
            at
            for at, device in enumerate(result)
            if (device.pci_bus_id == told.pci_bus_id if told.pci_bus_id else device.index == told.index)
        )
        at = next(found, None)
        if at is not None:
            result[at] = replace(result[at], problems=[*result[at].problems, told])
        elif told.blocking:
            result.append(Device(index=told.index, pci_bus_id=told.pci_bus_id, problems=[told]))
    return result


def _holder(card: PciCard, driver_version: str | None) -> Problem | None:
    """What holds a card that the driver does not list, when that explains it."""
    if card.driver in _FOR_VIRTUAL_MACHINES:
        return problem("gpu_passed_through", f"{card.driver} holds it", card.pci_bus_id)
    if card.driver == "nvidia":
        return None
    if card.driver:
        return problem("gpu_not_driven", f"{card.driver} holds it", card.pci_bus_id)
    architecture = identify(card.device_id).architecture
    last = LAST_DRIVER_BRANCH.get(architecture or "")
    if last and int((driver_version or "0").partition(".")[0]) > last:
        told = f"the driver is {driver_version}, branch {last} was the last for {architecture}"
        return problem("driver_too_new", told, card.pci_bus_id)
    return None


def _with_bus(devices: list[Device], host: Host, driver_version: str | None, silence: Problem | None) -> list[Device]:
    """The driver's cards with the device ids of the bus, then the cards that only the bus tells of, and why.

    ``silence`` is the problem for which the driver lists no card at all.
    """
    if devices and not any(device.pci_bus_id for device in devices) and len(devices) == len(host.cards):
        # The driver numbers its cards in the order of the bus.
        devices = [replace(device, pci_bus_id=card.pci_bus_id) for device, card in zip(devices, host.cards)]
    if not all(device.pci_bus_id for device in devices):
        return devices
    ids = {card.pci_bus_id: card.device_id for card in host.cards}
    result = [replace(d, pci_device_id=d.pci_device_id or ids.get(d.pci_bus_id or "")) for d in devices]
    told = {device.pci_bus_id for device in devices}
    for card in host.cards:
        if card.pci_bus_id in told:
            continue
        why = _holder(card, driver_version)
        if why is None and silence:
            why = replace(silence, blocking=True)
        elif why is None and card.driver:
            why = problem("gpu_not_listed", f"the {card.driver} kernel driver holds it", card.pci_bus_id)
        elif why is None:
            why = problem("gpu_not_driven", "no kernel driver holds it", card.pci_bus_id)
        result.append(Device(pci_bus_id=card.pci_bus_id, pci_device_id=card.device_id, problems=[why]))
    return result


def _with_memory(device: Device, system_mib: int | None) -> Device:
    shared = device.memory_total_mib is None and device.compute_capability in _INTEGRATED
    return replace(device, memory_total_mib=system_mib) if shared else device


def _trusted(link: Link, first: Device, second: Device) -> Link:
    """A link with the peer access that works.

    GeForce drivers have none over PCIe and yet report it on some boards, where CUDA then says that it is unsupported.
    """
    geforce = any("geforce" in (device.name or "").lower() for device in (first, second))
    return replace(link, p2p_read=False) if link.p2p_read and not link.nvlinks and geforce else link


def _stands(told: Problem, listed: int, settled: Reading) -> bool:
    """Whether a problem still is one, or another source has told what it kept its own from telling."""
    if told.lacks == "devices":
        return not listed or listed < (settled.gpus_attached or 0)
    if told.lacks == "links":
        return any(link.topology is None for link in settled.links.values())
    if told.lacks:
        return any(getattr(device, told.lacks) is None for device in settled.devices)
    return True


def settle(reading: Reading, host: Host) -> Reading:
    """The merged reading with every card of the bus, a link for every pair of the driver's cards, and what is wrong."""
    problems = list(reading.problems)
    silence = next((told for told in problems if told.of_host and not reading.devices), None)
    if silence and silence.code in ("nvidia_smi_missing", "driver_not_loaded") and not host.cards:
        problems = [problem("no_gpu", f"no card on the PCI bus, and {silence.message}")]

    driver_version = reading.driver_version or host.module_version
    told = _with_complaints(numbered(reading.devices), problems)
    devices = [
        _with_memory(identified(device), host.memory_total_mib)
        for device in numbered(_with_bus(told, host, driver_version, silence))
    ]
    by_index = {device.index: device for device in devices}
    pairs = combinations(sorted(d.index for d in numbered(reading.devices) if d.index is not None), 2)
    links = {(a, b): _trusted(reading.links.get((a, b), Link()), by_index[a], by_index[b]) for a, b in pairs}
    settled = replace(
        reading,
        driver_version=driver_version,
        devices=devices,
        links=links,
        nvlink=(nvlink_cover(links) or reading.nvlink) if reading.devices else None,
    )
    settled.problems = [p for p in problems if _stands(p, len(told), settled)]
    for device in devices:
        device.problems = [
            p for p in device.problems if p.lacks != "memory_total_mib" or device.memory_total_mib is None
        ]
    return settled
