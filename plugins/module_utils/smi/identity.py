# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A device completed by what its own values tell about one another."""

from __future__ import annotations

from dataclasses import replace

from ..pci_ids import identify
from .reading import Device


def identified(device: Device) -> Device:
    """Name, architecture, capability and whether MIG is possible, from the PCI id, the name and each other."""
    card = identify(device.pci_device_id, device.name, device.architecture, device.compute_capability)
    return replace(
        device,
        name=device.name or card.name,
        architecture=card.architecture,
        compute_capability=card.compute_capability,
        mig=device.mig or ("unsupported" if card.mig_capable is False else None),
    )
