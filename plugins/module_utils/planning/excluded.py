# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards that a plan leaves out or shares, and what the user is told about them."""

from __future__ import annotations

from collections.abc import Sequence

from .assessment import Assessment
from .fleet import Card, Fleet
from .hardware import VOLTA
from .intent import Intent
from .memory import utilization_that_fits
from .placement import Site, without

OLD_CARDS = "card-before-volta"
LEFT_OUT = "card-left-out"
IN_USE = "memory-in-use"

_MOST_NAMED = 8


def without_old_cards(fleet: Fleet, intent: Intent) -> tuple[Fleet, list[tuple[str, int, Card]]]:
    """The fleet without cards below 7.0, and those cards.

    Cards below 7.0 have no code in vLLM's published binaries (vllm-project/vllm#19542).
    """
    if OLD_CARDS in intent.override:
        return fleet, []
    old = [
        (host, index, card)
        for slots, hosts in fleet.alike
        for card, index in zip(slots.cards, slots.indexes)
        if card.capability < VOLTA
        for host in hosts
    ]
    return without(fleet, {(host, index) for host, index, _card in old}), old


def named(cards: list[str]) -> str:
    """The first few of a list, and how many more."""
    more = f" and {len(cards) - _MOST_NAMED} more" if len(cards) > _MOST_NAMED else ""
    return ", ".join(cards[:_MOST_NAMED]) + more


def left_out_warnings(fleet: Fleet, old: list[tuple[str, int, Card]]) -> list[dict[str, str]]:
    """One warning for each reason to leave cards out, with the cards by name."""
    warnings = []
    if old:
        cards = [f"{host} card {index} ({card.name})" for host, index, card in sorted(old, key=lambda entry: entry[:2])]
        message = f"left out, because vLLM's binaries start at compute capability 7.0: {named(cards)}"
        warnings.append({"rule": OLD_CARDS, "message": message})
    by_reason: dict[str, list[str]] = {}
    for card in fleet.left_out:
        by_reason.setdefault(card.reason, []).append(f"{card.host} card {card.index} ({card.name})")
    for reason, names in by_reason.items():
        warnings.append({"rule": LEFT_OUT, "message": f"left out, because {reason}: {named(names)}"})
    return warnings


def in_use_warnings(best: Assessment, replicas: Sequence[Sequence[Site]], fleet: Fleet) -> list[dict[str, str]]:
    """Cards whose memory something else holds: more than the plan leaves, but less than an engine of ours would."""
    warnings = []
    total = min(card.memory_total_mib for card in best.layout.cards) / 1024
    for host, indexes in (site for sites in replicas for site in sites):
        used = [fleet.used_mib.get((host, index), 0) / 1024 for index in indexes]
        if not total * (1 - best.utilization) < max(used) < total * best.utilization / 2:
            continue
        share = utilization_that_fits(tuple(total - gib for gib in used), (total,) * len(used))
        message = (
            f"{max(used):.1f} GiB of a card of {host} are in use: if that stays, the engine will not start with "
            f"{best.utilization:g}; declare gpu_memory_utilization: {share:g}"
        )
        warnings.append({"rule": IN_USE, "message": message})
    return warnings
