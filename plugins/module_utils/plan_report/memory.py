# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one card's memory is used for under a plan, in GiB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .fleet import placed_cards
from .model import Card, Host, Plan

WEIGHTS, KV_CACHE, OVERHEAD, UNPREDICTED, FREE = "weights", "KV cache", "overhead", "not predicted", "free"
KINDS = (WEIGHTS, KV_CACHE, OVERHEAD, UNPREDICTED, FREE)


@dataclass(frozen=True)
class Part:
    kind: str
    gib: float


@dataclass(frozen=True)
class Limits:
    """What holds on every card of a plan: the overhead, and the engine's share of a card's memory (0 to 1)."""

    overhead_gib: float | None
    share: float


def limits(plan: Plan, hosts: Sequence[Host]) -> Limits:
    """From the prediction where it says so; or else from the weakest card.

    vLLM gives the KV cache all that remains of its share on the weakest card, so the remainder there is the overhead:
    activations, CUDA graphs, CUDA context and, as CUDA does not see all of a card, the driver's part.
    """
    sizes = [card.memory_gib for _host, card in placed_cards(plan, hosts) if card.memory_gib]
    if plan.layout is None or not sizes:
        return Limits(None, plan.gpu_memory_utilization)
    predicted, weakest = plan.layout.predicted, min(sizes)
    share = predicted.budget_gib / weakest if predicted.budget_gib else plan.gpu_memory_utilization
    overhead = predicted.overhead_gib
    if overhead is None and predicted.weights_gib is not None and predicted.kv_cache_gib is not None:
        overhead = max(0.0, weakest * share - predicted.weights_gib - predicted.kv_cache_gib)
    return Limits(overhead, share)


def card_parts(plans: Sequence[tuple[Plan, Limits]], card: Card) -> list[Part]:
    """The whole card, from the first plan's weights to what stays free."""
    parts = [part for plan, limit in plans for part in _used(plan, limit, card)]
    if card.memory_gib is not None:
        free = card.memory_gib - sum(part.gib for part in parts)
        parts += [Part(FREE, free)] if free > 0 else []
    return parts


def _used(plan: Plan, limit: Limits, card: Card) -> list[Part]:
    if plan.layout is None:
        return []
    predicted = plan.layout.predicted
    known = [(WEIGHTS, predicted.weights_gib), (KV_CACHE, predicted.kv_cache_gib), (OVERHEAD, limit.overhead_gib)]
    parts = [Part(kind, gib) for kind, gib in known if gib]
    if card.memory_gib is not None and None in (predicted.weights_gib, predicted.kv_cache_gib):
        remainder = card.memory_gib * limit.share - sum(part.gib for part in parts)
        parts += [Part(UNPREDICTED, remainder)] if remainder > 0 else []
    return parts
