# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which questions a driver is asked, and in which order: one process each, the later only for what is unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .facts import facts
from .merge import merge
from .pci import Host
from .reading import Reading
from .settle import settle

# mig.mode.current came with branch 450, compute_cap with 510. A product name may hold commas, so it stands last.
QUERY_FIELDS = (
    "index",
    "uuid",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "driver_version",
    "mig.mode.current",
    "compute_cap",
    "name",
)
# A driver that hangs twice hangs.
MAX_HANGS = 2
_HANG = "nvidia_smi_timeout"


class _Interview:
    def __init__(self, ask: Callable[[str], Reading]) -> None:
        self._ask = ask
        self._hangs = 0
        self._blocked = False
        self.query: list[Reading] = []
        self.others: list[Reading] = []

    def _answer(self, command: str) -> Reading:
        """The answer, or an empty one when asking has become pointless."""
        if self._blocked or self._hangs >= MAX_HANGS:
            return Reading()
        reading = self._ask(command)
        self._hangs += any(problem.code == _HANG for problem in reading.problems)
        return reading

    def ask(self, command: str, into: list[Reading]) -> Reading:
        reading = self._answer(command)
        into.append(reading)
        self._blocked |= reading.blocked
        return reading

    def ask_card(self, pci_bus_id: str) -> None:
        """One card by itself. What the driver then says of the host is about this card, which settle tells better."""
        reading = self._answer(f"-q -x -i {pci_bus_id}")
        reading.problems = [told for told in reading.problems if not told.of_host or told.code == _HANG]
        self.others.append(reading)

    def ask_query(self) -> None:
        """The fields that this driver knows: those that it refuses are left out, one after the other."""
        fields = list(QUERY_FIELDS)
        while fields:
            reading = self.ask(f"--query-gpu={','.join(fields)} --format=csv,noheader", self.query)
            if reading.refused_field not in fields:
                return
            fields.remove(str(reading.refused_field))

    @property
    def merged(self) -> Reading:
        # The query comes first: it alone tells the driver's own numbers and capability.
        return merge([*self.query, *self.others])


def gather(ask: Callable[[str], Reading], host: Host) -> dict[str, Any]:
    """The facts of a host. ``ask`` runs nvidia-smi with an argument string and reads its answer; ``host`` is sysfs.

    The XML log tells most, in much the same form in all branches, and the query adds numbering and capability. The list
    and the table are for drivers that answer neither. A driver that stumbles over one card is asked for the others one
    by one.
    """
    interview = _Interview(ask)
    interview.ask("-q -x", interview.others)
    interview.ask_query()
    if not interview.merged.devices:
        interview.ask("-L", interview.others)
        interview.ask("", interview.others)
    merged = interview.merged
    told = {device.pci_bus_id for device in merged.devices} | {problem.pci_bus_id for problem in merged.problems}
    for card in host.cards:
        if card.driver == "nvidia" and card.pci_bus_id not in told:
            interview.ask_card(card.pci_bus_id)
    if len(interview.merged.devices) > 1:
        matrix = interview.ask("topo -m", interview.others)
        interview.ask("topo -p2p r", interview.others)
        if matrix.nvlink is None:
            interview.ask("nvlink -s", interview.others)
    return facts(settle(interview.merged, host))
