# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The picture of one host, as coordinates: cards as tanks of memory, NVLink above them, PCIe below.

Everything is placed in a space ``WIDTH`` wide that a phone shows at about its own size; the template turns it into SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .links import PCIE_LEVELS, Branch, is_uniform_mesh, nvlinks, pcie_tree
from .memory import Part
from .model import Card, Host

WIDTH = 320
TANK_HEIGHT = 96
TANK_WIDTH = 88
LABEL_HEIGHT = 18
FOOT_HEIGHT = 30
BRANCH_STEP = 22
CUP = 18
ARC_RISE = 13
MARGIN = 4
# Below these sizes a text would not be legible, or leave its place.
ROOM_FOR_GPU = 40
ROOM_FOR_FIGURE = (44, 13)
ROOM_FOR_MEANING = 190


@dataclass(frozen=True)
class Level:
    """One part of a tank, from ``y`` down."""

    kind: str
    y: float
    height: float
    figure: str


@dataclass(frozen=True)
class Tank:
    card: Card
    x: float
    y: float
    width: float
    label: str
    levels: tuple[Level, ...]
    share_y: float | None

    height = TANK_HEIGHT

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class Arc:
    path: str
    thickness: float
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Bracket:
    """A join of the PCIe tree: a bar from ``x1`` to ``x2`` and a stem up from it for each branch."""

    x1: float
    x2: float
    y: float
    stems: tuple[tuple[float, float], ...]
    label: str
    label_y: float

    @property
    def middle(self) -> float:
        return (self.x1 + self.x2) / 2


@dataclass(frozen=True)
class Rail:
    """NVLink from every card to every other, alike."""

    x1: float
    x2: float
    y: float
    label: str


@dataclass(frozen=True)
class Drawing:
    width: int
    height: float
    tanks: tuple[Tank, ...]
    arcs: tuple[Arc, ...]
    rail: Rail | None
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True)
class Filling:
    """What a tank shows: its parts from the bottom up, and the share of the card that the engines may take (0 to 1)."""

    parts: tuple[Part, ...]
    share: float


def draw(host: Host, fillings: Mapping[int, Filling]) -> Drawing | None:
    """None for a host without cards."""
    tree = pcie_tree(host)
    if tree is None:
        return None
    top = _nvlink_height(host, tree) + LABEL_HEIGHT
    tanks = _tanks(host, tree, fillings, top)
    middles = {tank.card.index: tank.middle for tank in tanks}
    foot = top + TANK_HEIGHT + FOOT_HEIGHT
    uniform = len(tanks) > 2 and is_uniform_mesh(host)
    return Drawing(
        width=WIDTH,
        height=foot + _drop(tree) + (LABEL_HEIGHT if tree.children else 0),
        tanks=tanks,
        arcs=() if uniform else _arcs(host, tree, middles, top - LABEL_HEIGHT),
        rail=_rail(host, middles, top - LABEL_HEIGHT) if uniform else None,
        brackets=tuple(_brackets(tree, middles, foot, root=True)),
    )


def _tanks(host: Host, tree: Branch, fillings: Mapping[int, Filling], top: float) -> tuple[Tank, ...]:
    number = len(host.cards)
    gap = 18 if number <= 4 else 6
    width = min(TANK_WIDTH, (WIDTH - 2 * MARGIN - gap * (number - 1)) / number)
    left = (WIDTH - number * width - gap * (number - 1)) / 2
    cards = {card.index: card for card in host.cards}
    return tuple(
        _tank(cards[index], fillings.get(index), left + place * (width + gap), top, width)
        for place, index in enumerate(tree.cards)
    )


def _tank(card: Card, filling: Filling | None, x: float, top: float, width: float) -> Tank:
    parts = filling.parts if filling else ()
    total = sum(part.gib for part in parts)
    levels: list[Level] = []
    bottom = top + TANK_HEIGHT
    for part in parts:
        height = TANK_HEIGHT * part.gib / total
        bottom -= height
        legible = width >= ROOM_FOR_FIGURE[0] and height >= ROOM_FOR_FIGURE[1]
        levels.append(Level(part.kind, bottom, height, f"{part.gib:.2f}" if legible else ""))
    return Tank(
        card=card,
        x=x,
        y=top,
        width=width,
        label=f"GPU {card.index}" if width >= ROOM_FOR_GPU else str(card.index),
        levels=tuple(levels),
        share_y=top + TANK_HEIGHT * (1 - filling.share) if filling and filling.parts else None,
    )


def _nvlink_height(host: Host, tree: Branch) -> float:
    if not nvlinks(host):
        return 0
    if len(host.cards) > 2 and is_uniform_mesh(host):
        return 30
    return max(_rise(tree, link.first, link.second) for link in nvlinks(host)) + 18


def _rise(tree: Branch, first: int, second: int) -> float:
    return ARC_RISE * abs(tree.cards.index(first) - tree.cards.index(second)) + 8


def _arcs(host: Host, tree: Branch, middles: Mapping[int, float], foot: float) -> tuple[Arc, ...]:
    links = nvlinks(host)
    alone = len(links) == 1
    arcs = []
    for link in links:
        x1, x2 = sorted((middles[link.first], middles[link.second]))
        rise = _rise(tree, link.first, link.second)
        # A cubic curve reaches three quarters of the way to its control points.
        control = foot - rise / 0.75
        bend = (x2 - x1) * 0.12
        arcs.append(
            Arc(
                path=(
                    f"M{x1:.1f} {foot:.1f} "
                    f"C{x1 + bend:.1f} {control:.1f} {x2 - bend:.1f} {control:.1f} {x2:.1f} {foot:.1f}"
                ),
                thickness=min(1 + 0.6 * link.nvlinks, 5),
                label=_lanes(link.nvlinks, alone) if len(links) <= 6 else "",
                x=(x1 + x2) / 2,
                y=foot - rise + (-6 if alone else 4),
            )
        )
    return tuple(arcs)


def _lanes(number: int, in_words: bool) -> str:
    return f"{number} × NVLink" if in_words else str(number)


def _rail(host: Host, middles: Mapping[int, float], foot: float) -> Rail:
    return Rail(
        x1=min(middles.values()),
        x2=max(middles.values()),
        y=foot - 10,
        label=f"NVLink between all, {nvlinks(host)[0].nvlinks} per pair",
    )


def _brackets(branch: Branch, middles: Mapping[int, float], foot: float, root: bool = False) -> Sequence[Bracket]:
    if not branch.children:
        return []
    y = foot + _drop(branch)
    stems = tuple((_middle(child, middles), foot + _drop(child)) for child in branch.children)
    x1, x2 = stems[0][0], stems[-1][0]
    meaning = PCIE_LEVELS.get(branch.level)
    # The root has all the width below it; the others have their place inside, above the stem to the next join.
    in_words = meaning and (root or x2 - x1 >= ROOM_FOR_MEANING)
    own = Bracket(
        x1=x1,
        x2=x2,
        y=y,
        stems=stems,
        label=f"{branch.level}: {meaning}" if in_words else branch.level,
        label_y=y + 13 if root else y - 5,
    )
    return [*(bracket for child in branch.children for bracket in _brackets(child, middles, foot)), own]


def _drop(branch: Branch) -> float:
    return (branch.height - 1) * BRANCH_STEP + CUP if branch.children else 0


def _middle(branch: Branch, middles: Mapping[int, float]) -> float:
    if not branch.children:
        return middles[branch.cards[0]]
    return (_middle(branch.children[0], middles) + _middle(branch.children[-1], middles)) / 2
