# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cards are free for one more replica of a model while it is changed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..realisation import Cards, cards_of

Row = Mapping[str, Any]


def spare_cards(workers: Sequence[Row], instances: Iterable[Row], own: Cards, replicas: int) -> list[list[str]]:
    """Cards for as many replicas as there are free ones for, at most `replicas`, by GPUStack's names.

    `own` are the cards of a replica that runs. A new one gets as many cards, of the same kind, on as many workers: what
    the plan was made for. A card is free when no instance has it and its worker takes new ones.
    """
    taken = frozenset[str]().union(*map(cards_of, instances))
    kinds = {card: kind for worker in workers for card, kind in _cards(worker).items()}
    wanted_kinds = {kinds.get(card) for card in own}
    free = {
        str(worker["name"]): [
            card for card in sorted(_cards(worker)) if card not in taken and kinds[card] in wanted_kinds
        ]
        for worker in workers
        if _takes_instances(worker)
    }
    shape = sorted(Counter(card.split(":", 1)[0] for card in own).values(), reverse=True)
    found: list[list[str]] = []
    while len(found) < replicas:
        cards = _one_more(free, shape)
        if not cards:
            break
        found.append(cards)
    return found


def _one_more(free: dict[str, list[str]], shape: Sequence[int]) -> list[str]:
    """Cards on one worker for each number of `shape`, taken from `free`; nothing where they are not enough."""
    chosen: dict[str, int] = {}
    for number in shape:
        fitting = [name for name in free if name not in chosen and len(free[name]) >= number]
        if not fitting:
            return []
        # Where fewest are left over, so that whole workers stay whole.
        chosen[min(fitting, key=lambda name: (len(free[name]), name))] = number
    cards = [card for name, number in chosen.items() for card in free[name][:number]]
    for name, number in chosen.items():
        del free[name][:number]
    return cards


def _takes_instances(worker: Row) -> bool:
    return worker.get("state") == "ready" and not (worker.get("maintenance") or {}).get("enabled")


def _cards(worker: Row) -> dict[str, Any]:
    """The kind of each card, by the card's name in GPUStack."""
    devices = (worker.get("status") or {}).get("gpu_devices") or []
    return {
        f"{worker['name']}:{device.get('type') or 'cuda'}:{device['index']}": device.get("name") for device in devices
    }
