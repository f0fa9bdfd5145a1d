# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one source tells about a host's GPUs. Every reader of this package returns a ``Reading``."""

from __future__ import annotations

from dataclasses import dataclass, field

# No host has more; text that claims more is not nvidia-smi's.
MAX_DEVICES = 128


@dataclass(frozen=True)
class Problem:
    """Something that ails a host or a card: what was found (``message``) and what to do (``remedy``).

    ``blocking``: nothing can be computed until it is gone. ``configured``: somebody wants it so, hence it is told with
    the card only and not among the host's faults. ``lacks``: what the source could not tell because of it (``devices``,
    ``links`` or a field of ``Device``); another source that tells it ends the problem.
    """

    code: str
    message: str
    remedy: str
    blocking: bool = False
    configured: bool = False
    lacks: str = ""
    pci_bus_id: str | None = None
    index: int | None = None

    @property
    def of_host(self) -> bool:
        """Whether it is about the host and not about one card."""
        return self.pci_bus_id is None and self.index is None


@dataclass
class Device:
    """One card. ``None`` is "this source does not tell"."""

    index: int | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    name: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    memory_total_mib: int | None = None
    memory_used_mib: int | None = None
    mig: str | None = None
    mig_instances: int | None = None
    pci_device_id: int | None = None
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Link:
    """What connects two cards: nvidia-smi's word for the way (``SYS``, ``PIX``, ``NV2``, …), NVLinks, peer reads."""

    topology: str | None = None
    nvlinks: int | None = None
    p2p_read: bool | None = None


@dataclass
class Reading:
    """``gpus_attached`` is the number that the tool announces, ``refused_field`` the query field that it refuses."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus_attached: int | None = None
    refused_field: str | None = None
    devices: list[Device] = field(default_factory=list)
    links: dict[tuple[int, int], Link] = field(default_factory=dict)
    nvlink: str | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def blocked(self) -> bool:
        """Whether the driver as a whole does not answer, so that another question would get the same answer."""
        return not self.devices and any(problem.blocking and problem.of_host for problem in self.problems)

    def add_to_all(self, problem: Problem | None) -> None:
        """Adds what ails every card: to each of them, or to the host that lists none."""
        for holder in [device.problems for device in self.devices] or [self.problems]:
            holder += [problem] if problem else []


def nvlink_cover(links: dict[tuple[int, int], Link]) -> str | None:
    """``none``, ``partial`` or ``full`` over all pairs of cards; ``None`` while a pair is unknown."""
    counts = [link.nvlinks for link in links.values()]
    if None in counts:
        return None
    linked = sum(1 for count in counts if count)
    return "none" if not linked else "full" if linked == len(counts) else "partial"
