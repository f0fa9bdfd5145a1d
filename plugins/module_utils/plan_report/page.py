# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the page shows, worked out of plans and fleet; the templates only write it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import words
from .drawing import Drawing, Filling, draw
from .fleet import claims, placed_cards
from .memory import FREE, KINDS, Limits, Part, card_parts, limits
from .model import Card, Host, Plan

TONES = 6
# Hosts that no plan uses are drawn while the fleet is small, and counted when it is not.
DRAWN_IDLE_HOSTS = 8


@dataclass(frozen=True)
class Bar:
    """Memory of cards that are alike in kind and use, on one host."""

    host: str
    cards: tuple[Card, ...]
    parts: tuple[Part, ...]
    share: float
    total_gib: float

    @property
    def indexes(self) -> tuple[int, ...]:
        return tuple(card.index for card in self.cards)

    @property
    def taken_gib(self) -> float:
        return sum(part.gib for part in self.parts if part.kind != FREE)


@dataclass(frozen=True)
class Entry:
    """A model on the page: its sign and tone mark its cards."""

    sign: str
    tone: int
    plan: Plan
    limits: Limits
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class DrawnHost:
    host: Host
    drawing: Drawing | None
    marks: Mapping[int, tuple[Entry, ...]]


def context(plans: Sequence[Plan], hosts: Sequence[Host], title: str, generated_at: str) -> dict[str, Any]:
    """The variables of ``page.html.j2``."""
    claimed = claims(plans)
    entries = [_entry(number, plan, hosts) for number, plan in enumerate(plans)]
    used = {host for host, _index in claimed.by_seat}
    shown = [host for host in hosts if host.name in used or host.problems]
    idle = [host for host in hosts if host not in shown]
    if len(idle) <= DRAWN_IDLE_HOSTS:
        shown, idle = list(hosts), []
    return {
        "title": title,
        "generated_at": generated_at,
        "outcome": words.outcome(plans, claimed),
        "all_fit": all(plan.feasible for plan in plans) and not claimed.contested,
        "conflicts": [words.conflict(seat, claimed) for seat in claimed.contested],
        "entries": entries,
        "hosts": [_drawn(host, entries) for host in shown],
        "idle": idle,
        "spanning": [
            entry for entry in entries if entry.plan.feasible and entry.plan.layout and entry.plan.layout.hosts > 1
        ],
        "kinds": _shown_kinds(entries),
        "words": words,
    }


def _shown_kinds(entries: Sequence[Entry]) -> list[str]:
    shown = {part.kind for entry in entries for stack in entry.bars for part in stack.parts}
    return [kind for kind in KINDS if kind in shown]


def _entry(number: int, plan: Plan, hosts: Sequence[Host]) -> Entry:
    sign = chr(ord("A") + number) if number < 26 else str(number + 1)
    limit = limits(plan, hosts)
    return Entry(sign, number % TONES, plan, limit, tuple(_bars(plan, hosts, limit)))


def _bars(plan: Plan, hosts: Sequence[Host], limit: Limits) -> list[Bar]:
    alike: dict[tuple[str, str, float], list[Card]] = {}
    for host, card in placed_cards(plan, hosts):
        if card.memory_gib:
            alike.setdefault((host.name, card.name, card.memory_gib), []).append(card)
    return [
        Bar(
            host=host,
            cards=tuple(cards),
            parts=tuple(card_parts([(plan, limit)], cards[0])),
            share=limit.share,
            total_gib=total,
        )
        for (host, _name, total), cards in alike.items()
    ]


def _drawn(host: Host, entries: Sequence[Entry]) -> DrawnHost:
    marks = {card.index: tuple(entry for entry in entries if _uses(entry.plan, host, card)) for card in host.cards}
    fillings = {card.index: _filling(marks[card.index], card) for card in host.cards}
    return DrawnHost(host, draw(host, fillings), marks)


def _uses(plan: Plan, host: Host, card: Card) -> bool:
    return plan.feasible and plan.layout is not None and card.index in plan.layout.seats.get(host.name, ())


def _filling(entries: Sequence[Entry], card: Card) -> Filling:
    return Filling(
        parts=tuple(card_parts([(entry.plan, entry.limits) for entry in entries], card)) if entries else (),
        share=min(1.0, sum(entry.limits.share for entry in entries)),
    )
