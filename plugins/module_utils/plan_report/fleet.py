# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which model is planned on which card, and where that is too much for the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .model import Card, Host, Plan

Seat = tuple[str, int]


@dataclass(frozen=True)
class Claims:
    """Plans by card (host name, card index); contested are the cards whose plans together want more than its memory."""

    by_seat: Mapping[Seat, tuple[Plan, ...]]

    @property
    def contested(self) -> tuple[Seat, ...]:
        # vLLM takes its share of the whole card, whatever the model needs; the tolerance is for rounded figures.
        return tuple(
            seat
            for seat, plans in self.by_seat.items()
            if len(plans) > 1 and sum(plan.gpu_memory_utilization for plan in plans) > 1.001
        )


def claims(plans: Sequence[Plan]) -> Claims:
    by_seat: dict[Seat, tuple[Plan, ...]] = {}
    for plan in plans:
        if plan.feasible and plan.layout:
            for host, indexes in plan.layout.seats.items():
                for index in indexes:
                    by_seat[host, index] = (*by_seat.get((host, index), ()), plan)
    return Claims(by_seat)


def placed_cards(plan: Plan, hosts: Sequence[Host]) -> list[tuple[Host, Card]]:
    """The cards of a plan that the fleet knows."""
    if plan.layout is None:
        return []
    seats = plan.layout.seats
    return [
        (host, card) for host in hosts if host.name in seats for card in host.cards if card.index in seats[host.name]
    ]
