# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NVIDIA cards on a host's PCI bus, read from sysfs: what there is to know without asking the driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..pci_ids import VENDOR_ID
from . import values

_DISPLAY_CLASS = 0x03
_MEMORY_KIB = re.compile(r"MemTotal:\s+([0-9]{1,12}) kB")


@dataclass(frozen=True)
class PciCard:
    """A card on the bus; ``driver`` is the kernel driver that holds it, ``None`` for none."""

    pci_bus_id: str
    device_id: int
    driver: str | None = None


@dataclass(frozen=True)
class Host:
    """What sysfs tells: the cards by address, the version of the loaded nvidia module, the system's memory."""

    cards: tuple[PciCard, ...] = ()
    module_version: str | None = None
    memory_total_mib: int | None = None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int:
    try:
        return int(_text(path), 16)
    except ValueError:
        return 0


def _card(path: Path) -> PciCard | None:
    if _number(path / "vendor") != VENDOR_ID or _number(path / "class") >> 16 != _DISPLAY_CLASS:
        return None
    address = values.bus_id(path.name)
    if address is None or (path / "physfn").exists():  # a virtual function belongs to a virtual machine
        return None
    driver = path / "driver"
    return PciCard(address, _number(path / "device"), driver.resolve().name if driver.exists() else None)


def _memory_mib(root: Path) -> int | None:
    texts = (_text(path) for path in root.glob("devices/system/node/node[0-9]*/meminfo"))
    return sum(int(match[1]) for match in map(_MEMORY_KIB.search, texts) if match) // 1024 or None


def read_host(sysfs_root: str) -> Host:
    """A part of sysfs that is missing or unreadable tells nothing."""
    root = Path(sysfs_root)
    try:
        paths = list((root / "bus/pci/devices").iterdir())
    except OSError:
        paths = []
    cards = [card for card in map(_card, paths) if card]
    return Host(
        cards=tuple(sorted(cards, key=lambda card: card.pci_bus_id)),
        module_version=values.version(_text(root / "module/nvidia/version")),
        memory_total_mib=_memory_mib(root),
    )
