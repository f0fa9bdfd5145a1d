# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a report is about: fleets and plans as typed values, all text plain and printable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

# vLLM's own default, for plans that predict no budget.
DEFAULT_GPU_MEMORY_UTILIZATION = 0.9

# Host name to indexes of its cards.
Placement = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Finding:
    """A problem or warning: what was found, the rule that says so, and what would help."""

    message: str
    rule: str
    remedies: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """One GPU; ``problems`` says why it is not usable, or what is odd about it."""

    index: int
    name: str
    compute_capability: str
    memory_gib: float | None
    usable: bool
    problems: tuple[Finding, ...]


def card_kinds(cards: Iterable[Card]) -> dict[str, list[Card]]:
    """Cards by name, in order of first appearance."""
    kinds: dict[str, list[Card]] = {}
    for card in cards:
        kinds.setdefault(card.name, []).append(card)
    return kinds


@dataclass(frozen=True)
class Link:
    """The way between two cards of a host: ``topology`` as nvidia-smi prints it, ``nvlinks`` lanes of NVLink."""

    first: int
    second: int
    topology: str
    nvlinks: int
    p2p_read: bool | None


@dataclass(frozen=True)
class Host:
    name: str
    driver_version: str
    cuda_version: str
    cards: tuple[Card, ...]
    links: tuple[Link, ...]
    problems: tuple[Finding, ...]

    @property
    def kinds(self) -> dict[str, list[Card]]:
        return card_kinds(self.cards)


@dataclass(frozen=True)
class Prediction:
    """Memory of the weakest GPU in GiB, tokens and concurrency of one replica; None where nothing is predicted.

    ``memory_gib`` is what CUDA sees of the card, ``budget_gib`` as much of it as the engine may take.
    """

    weights_gib: float | None
    kv_cache_gib: float | None
    overhead_gib: float | None
    budget_gib: float | None
    memory_gib: float | None
    kv_cache_tokens: int | None
    concurrency: float | None


@dataclass(frozen=True)
class Layout:
    """One way to run a model: sizes of parallelism, the cards of each replica, and what it would give."""

    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    max_model_len: int | None
    placements: tuple[Placement, ...]
    predicted: Prediction
    summary: str

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.data_parallel_size

    @property
    def replicas(self) -> int:
        return max(1, len(self.placements))

    @property
    def hosts(self) -> int:
        """The most hosts that one replica spans."""
        return max((len(placement) for placement in self.placements), default=0)

    @cached_property
    def seats(self) -> dict[str, tuple[int, ...]]:
        """The cards of all replicas by host."""
        seats: dict[str, tuple[int, ...]] = {}
        for placement in self.placements:
            for host, indexes in placement.items():
                seats[host] = (*seats.get(host, ()), *indexes)
        return seats


@dataclass(frozen=True)
class Decision:
    """One parameter or variable, written as it is given (``--flag=value``, ``NAME=value``), and why."""

    setting: str
    reason: str
    rule: str
    source: str


@dataclass(frozen=True)
class Plan:
    name: str
    feasible: bool
    backend: str
    backend_version: str
    layout: Layout | None
    alternatives: tuple[Layout, ...]
    backend_parameters: tuple[str, ...]
    env: Mapping[str, str]
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]
    problems: tuple[Finding, ...]

    @property
    def gpu_memory_utilization(self) -> float:
        """The engine's share of each of its cards, 0 to 1."""
        predicted = self.layout.predicted if self.layout else None
        if predicted is None or not predicted.budget_gib or not predicted.memory_gib:
            return DEFAULT_GPU_MEMORY_UTILIZATION
        return predicted.budget_gib / predicted.memory_gib

    @property
    def choices(self) -> tuple[tuple[str, Layout], ...]:
        """The planned layout and its alternatives, named; empty when there is nothing to choose."""
        if not self.alternatives:
            return ()
        planned = (("planned", self.layout),) if self.layout else ()
        options = enumerate(self.alternatives, start=len(planned) + 1)
        return (*planned, *((f"option {number}", layout) for number, layout in options))
