# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where one replica can go: every layout worth assessing, on one host or over several.

A layout takes cards of one host, or equal numbers of cards of several hosts, as GPUStack's scheduler wants
(gpustack/policies/candidate_selectors/vllm_resource_fit_selector.py). Alike hosts are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice

from .architecture import Architecture
from .fleet import Card, Fleet, Slots
from .memory import Split
from .parallelism import broken

Site = tuple[str, tuple[int, ...]]

MOST_HOSTS = 16  # of one replica


@dataclass(frozen=True)
class CardSet:
    """Some cards of a kind of host: indexes, the loosest link of any two, and whether a pair lacks peer access."""

    indexes: tuple[int, ...]
    cards: tuple[Card, ...]
    closeness: int
    peers_blocked: bool


@dataclass(frozen=True)
class Pool:
    """Alike hosts, the disjoint sets of cards that each of them offers, and how close its cards are to each other."""

    hosts: tuple[str, ...]
    sets: tuple[CardSet, ...]
    mixed_host: bool
    whole_host: bool
    link_kinds: frozenset[int]


@dataclass(frozen=True)
class Layout:
    """One way to spread a replica: ``hosts`` hosts taken from the pools in order, one set of cards on each."""

    split: Split
    hosts: int
    pools: tuple[Pool, ...]
    cards: tuple[Card, ...]
    closeness: int
    peers_blocked: bool

    @property
    def per_host(self) -> int:
        """Cards on each host."""
        return self.split.world // self.hosts

    @property
    def mixed(self) -> bool:
        """Whether its cards differ."""
        return len(self.cards) > 1

    @property
    def mixed_host(self) -> bool:
        """Whether a host of it has cards of several kinds, used or not."""
        return any(pool.mixed_host for pool in self.pools)

    @property
    def whole_hosts(self) -> bool:
        """Whether it takes every usable card of its hosts."""
        return all(pool.whole_host for pool in self.pools)

    def on(self, sites: tuple[Site, ...]) -> Layout:
        """The same split on these sites of it."""
        hosts, sets = {host for host, _indexes in sites}, {indexes for _host, indexes in sites}
        pools = tuple(
            replace(
                pool,
                hosts=tuple(host for host in pool.hosts if host in hosts),
                sets=tuple(cards for cards in pool.sets if cards.indexes in sets),
            )
            for pool in self.pools
            if hosts & set(pool.hosts)
        )
        cards = tuple(sorted({card for pool in pools for card in pool.sets[0].cards}, key=_strength, reverse=True))
        return replace(self, pools=pools, cards=cards)

    def replicas(self) -> Iterator[tuple[Site, ...]]:
        """The sites of every replica that there is room for, one after the other."""
        if self.hosts == 1:
            yield from (((host, cards.indexes),) for pool in self.pools for host in pool.hosts for cards in pool.sets)
            return
        hosts = chain.from_iterable(((host, pool.sets[0].indexes) for host in pool.hosts) for pool in self.pools)
        while len(chunk := tuple(islice(hosts, self.hosts))) == self.hosts:
            yield chunk


@dataclass(frozen=True)
class Wanted:
    """Sizes that are given; None where the planner chooses."""

    gpus: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None
    expert_parallel: bool = False


def without(fleet: Fleet, taken: Set[tuple[str, int]]) -> Fleet:
    """The fleet less these cards."""
    if not taken:
        return fleet
    touched: dict[str, list[int]] = {}
    for host, index in taken:
        touched.setdefault(host, []).append(index)
    alike: dict[Slots, list[str]] = {}
    for slots, hosts in fleet.alike:
        untouched = [host for host in hosts if host not in touched]
        if untouched:
            alike.setdefault(slots, []).extend(untouched)
        for host in hosts:
            if host in touched:
                rest = slots.without(touched[host])
                if rest.cards:
                    alike.setdefault(rest, []).append(host)
    return replace(fleet, alike=tuple((slots, tuple(sorted(hosts))) for slots, hosts in alike.items()))


def _grow(slots: Slots, seed: int, candidates: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A set of ``size`` cards from a seed: always add the card that is closest to all chosen ones."""
    chosen = [seed]
    rest = [index for index in candidates if index != seed]
    while len(chosen) < size:
        best = max(rest, key=lambda index: (*_closeness(slots, chosen, index), -index))
        chosen.append(best)
        rest.remove(best)
    return tuple(sorted(chosen))


def _closeness(slots: Slots, chosen: list[int], index: int) -> tuple[int, int]:
    links = [slots.closeness(index, other) for other in chosen]
    return min(links), sum(links)


def _set_closeness(slots: Slots, indexes: tuple[int, ...]) -> tuple[int, int]:
    links = [slots.closeness(a, b) for position, a in enumerate(indexes) for b in indexes[position + 1 :]]
    return (min(links), sum(links)) if links else (0, 0)


@lru_cache(maxsize=4096)
def card_sets(slots: Slots, kinds: frozenset[Card], size: int) -> tuple[CardSet, ...]:
    """Disjoint sets of ``size`` cards of these kinds, the closest cards first: NVLink islands stay whole."""
    of = dict(zip(slots.indexes, slots.cards))
    free = tuple(index for index in slots.indexes if of[index] in kinds)
    if len(kinds) > 1:
        # The strongest cards first: the weakest one decides for all.
        free = tuple(
            sorted(free, key=lambda index: (of[index].capability, of[index].memory_total_mib), reverse=True)[:size]
        )
    sets: list[CardSet] = []
    while len(free) >= size:
        grown = {_grow(slots, seed, free, size) for seed in free}
        best = min(grown, key=lambda indexes: (*(-value for value in _set_closeness(slots, indexes)), indexes))
        blocked = any(a in best and b in best for a, b in slots.no_peer_access)
        cards = tuple(sorted({of[index] for index in best}, key=_strength, reverse=True))
        sets.append(CardSet(best, cards, _set_closeness(slots, best)[0], blocked))
        free = tuple(index for index in free if index not in best)
    return tuple(sets)


def _strength(card: Card) -> tuple[tuple[int, int], int, str]:
    return card.capability, card.memory_total_mib, card.name


def _factors(shape: Architecture, gpus: int, per_host: int, wanted: Wanted) -> Iterator[tuple[int, int, int]]:
    """Data, tensor and pipeline parallel sizes that make up this many GPUs.

    Data parallelism, which needs whole experts on each rank, is tried unasked inside a host where tensor parallelism
    would copy the KV cache instead of slicing it.
    """
    copies_cache = shape.experts is not None and (shape.latent is not None or gpus > shape.kv_heads)
    if wanted.data is None and copies_cache and gpus == per_host > 1:
        yield gpus, 1, 1
    data = wanted.data or 1
    for tensor in range(gpus // data, 0, -1):
        if gpus % (data * tensor) == 0:
            yield data, tensor, gpus // (data * tensor)


@lru_cache(maxsize=4096)
def splits(shape: Architecture, gpus: int, per_host: int, wanted: Wanted) -> tuple[Split, ...]:
    """Every allowed way to use this many GPUs, tensor parallelism inside whole hosts or parts of one.

    Expert parallelism is taken where slicing the experts breaks a condition and spreading them does not.
    """
    found: list[Split] = []
    for data, tensor, pipeline in _factors(shape, gpus, per_host, wanted):
        if wanted.tensor not in (None, tensor) or wanted.pipeline not in (None, pipeline):
            continue
        if per_host % tensor and tensor % per_host:
            continue
        split = Split(tensor, pipeline, data, wanted.expert_parallel and shape.experts is not None)
        if shape.experts and not split.expert_parallel and (broken(shape, split)[1] or data > 1):
            split = replace(split, expert_parallel=True)
        if not broken(shape, split)[1]:
            found.append(split)
    return tuple(found)


def _by_cuda(fleet: Fleet) -> Iterator[tuple[Slots, tuple[str, ...], str]]:
    """Alike hosts whose drivers support the same CUDA, so that none stands for one that supports less."""
    for slots, hosts in fleet.alike:
        by_cuda: dict[str, list[str]] = {}
        for host in hosts:
            by_cuda.setdefault(fleet.cuda.get(host, ""), []).append(host)
        for cuda, own in by_cuda.items():
            yield slots, tuple(own), cuda


def on_one_host(fleet: Fleet, shape: Architecture, wanted: Wanted) -> Iterator[Layout]:
    """Layouts inside a host: of alike cards, and of all its cards when they differ."""
    pools: dict[tuple[frozenset[Card], int, int, bool, str], list[Pool]] = {}
    for slots, hosts, cuda in _by_cuda(fleet):
        kinds = frozenset(slots.cards)
        groups = [frozenset((card,)) for card in sorted(kinds, key=_strength)] + ([kinds] if len(kinds) > 1 else [])
        for group in groups:
            available = sum(1 for card in slots.cards if card in group)
            sizes = range(1, available + 1) if wanted.gpus is None else (wanted.gpus,)
            for size in sizes:
                if size > available or (len(group) > 1 and size < 2):
                    continue
                sets = card_sets(slots, group, size)
                if len(sets[0].cards) != len(group):
                    continue
                key = (group, size, sets[0].closeness, sets[0].peers_blocked, cuda)
                pools.setdefault(key, []).append(
                    Pool(hosts, sets, len(kinds) > 1, size == len(slots.cards), slots.link_kinds)
                )
    for (_kinds, size, closeness, blocked, _cuda), alike in pools.items():
        alike.sort(key=lambda pool: (not pool.whole_host, pool.hosts))
        for split in splits(shape, size, size, wanted):
            yield Layout(split, 1, tuple(alike), alike[0].sets[0].cards, closeness, blocked)


def over_hosts(fleet: Fleet, shape: Architecture, wanted: Wanted) -> Iterator[Layout]:
    """Layouts over hosts with equally many cards: alike cards, or the strongest hosts with the next weaker ones."""
    for size, pools in _pools_by_size(fleet, wanted).items():
        for group in _groups(pools, fleet.drivers):
            total = min(sum(len(pool.hosts) for pool in group), MOST_HOSTS)
            counts = range(2, total + 1) if wanted.gpus is None else (wanted.gpus // size,)
            for count in counts:
                if not 2 <= count <= total or wanted.gpus not in (None, count * size):
                    continue
                used = _first_pools(group, count)
                cards = tuple(sorted({c for pool in used for c in pool.sets[0].cards}, key=_strength, reverse=True))
                for split in splits(shape, count * size, size, wanted):
                    yield Layout(split, count, tuple(group), cards, 0, False)


def _pools_by_size(fleet: Fleet, wanted: Wanted) -> dict[int, list[Pool]]:
    """All usable cards of every host, by their number; parts of a host only for a declared number of GPUs."""
    by_size: dict[int, list[Pool]] = {}
    for slots, hosts in fleet.alike:
        kinds = frozenset(slots.cards)
        sizes = {len(slots.cards)}
        if wanted.gpus is not None:
            sizes |= {size for size in range(1, len(slots.cards)) if wanted.gpus % size == 0}
        for size in sizes:
            sets = card_sets(slots, kinds, size)
            pool = Pool(hosts, sets[:1], len(kinds) > 1, size == len(slots.cards), slots.link_kinds)
            by_size.setdefault(size, []).append(pool)
    return by_size


def _groups(pools: list[Pool], drivers: Mapping[str, str]) -> Iterator[list[Pool]]:
    """Pools that may share an engine: alike cards, then all cards; of one driver branch, then of any."""
    kinds: dict[tuple[Card, ...], list[Pool]] = {}
    for pool in sorted(pools, key=lambda pool: (not pool.whole_host, pool.hosts)):
        kinds.setdefault(pool.sets[0].cards, []).append(pool)
    ordered = sorted(kinds.items(), key=lambda entry: [_strength(card) for card in entry[0]], reverse=True)
    groups = [alike for _cards, alike in ordered]
    if len(groups) > 1:
        groups.append([pool for alike in groups for pool in alike])
    for group in groups:
        branches = sorted({_branch(drivers, host) for pool in group for host in pool.hosts})
        for branch in branches if len(branches) > 1 else ():
            same = [replace(p, hosts=tuple(h for h in p.hosts if _branch(drivers, h) == branch)) for p in group]
            yield [pool for pool in same if pool.hosts]
        yield group


def _branch(drivers: Mapping[str, str], host: str) -> str:
    return drivers.get(host, "").split(".", 1)[0]


def _first_pools(pools: list[Pool], hosts: int) -> list[Pool]:
    used: list[Pool] = []
    for pool in pools:
        if hosts <= 0:
            break
        used.append(pool)
        hosts -= len(pool.hosts)
    return used


def layouts(fleet: Fleet, shape: Architecture, wanted: Wanted) -> Iterator[Layout]:
    """Every layout worth assessing, in no particular order."""
    yield from on_one_host(fleet, shape, wanted)
    yield from over_hosts(fleet, shape, wanted)
