# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the cards of a host hang together: NVLink between pairs, and the tree of PCIe switches and CPU sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .model import Host, Link

# What nvidia-smi calls the way between two cards, nearest first.
PCIE_LEVELS = {
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "host bridge of the CPU",
    "NODE": "host bridges of one CPU",
    "SYS": "between CPU sockets",
}
# Pairs with NVLink hide their way over PCIe; every card has one.
HIDDEN_LEVEL = "PCIe"


@dataclass(frozen=True)
class Branch:
    """A card (``level`` empty, no children) or what joins several branches."""

    level: str
    cards: tuple[int, ...]
    children: tuple[Branch, ...] = ()

    @property
    def height(self) -> int:
        return 1 + max(child.height for child in self.children) if self.children else 0


def pcie_tree(host: Host) -> Branch | None:
    """All cards of the host under one root; None without cards. Cards that are near each other are neighbours in it."""
    branches = [Branch("", (card.index,)) for card in host.cards]
    for level in PCIE_LEVELS:
        branches = _joined(branches, level, [link for link in host.links if link.topology == level])
    if len(branches) > 1:
        branches = [_join(HIDDEN_LEVEL, branches)]
    return branches[0] if branches else None


def nvlinks(host: Host) -> list[Link]:
    return [link for link in host.links if link.nvlinks > 0]


def is_uniform_mesh(host: Host) -> bool:
    """Every pair has the same number of NVLinks, as behind an NVSwitch."""
    pairs = len(host.cards) * (len(host.cards) - 1) // 2
    joined = nvlinks(host)
    return len(joined) == pairs and len({link.nvlinks for link in joined}) == 1


def _joined(branches: Sequence[Branch], level: str, links: Sequence[Link]) -> list[Branch]:
    groups = [[branch] for branch in branches]
    for link in links:
        touched = [group for group in groups if any({link.first, link.second} & set(branch.cards) for branch in group)]
        if len(touched) > 1:
            merged = [branch for group in touched for branch in group]
            groups = [*(group for group in groups if group not in touched), merged]
    return sorted((_join(level, group) for group in groups), key=lambda branch: min(branch.cards))


def _join(level: str, branches: Sequence[Branch]) -> Branch:
    if len(branches) == 1:
        return branches[0]
    ordered = sorted(branches, key=lambda branch: min(branch.cards))
    return Branch(level, tuple(card for branch in ordered for card in branch.cards), tuple(ordered))
