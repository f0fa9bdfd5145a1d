# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathered facts of many hosts → cards that can be used, alike hosts together, and the links between cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from .errors import PlanError
from .hardware import Capability, cuda_memory_gib, multiprocessors, parse_capability


@dataclass(frozen=True)
class Card:
    """One GPU model as a plan sees it; equal cards compare equal, wherever they are."""

    name: str
    capability: Capability
    memory_total_mib: int

    @cached_property
    def cuda_memory_gib(self) -> float:
        """Memory as CUDA reports it."""
        return cuda_memory_gib(self.name, self.memory_total_mib)

    @cached_property
    def multiprocessors(self) -> int:
        """Streaming multiprocessors."""
        return multiprocessors(self.name, self.memory_total_mib)


Pair = tuple[int, int]
Link = tuple[int, int, int]

# How close two cards are: NVLink, then one PCIe root, then the socket interconnect, then unknown.
NVLINK, PCIE, SOCKET, UNKNOWN = 3, 2, 1, 0
_TOPOLOGY = {"PIX": PCIE, "PXB": PCIE, "PHB": PCIE, "NODE": PCIE, "SYS": SOCKET}


@dataclass(frozen=True)
class Slots:
    """The usable cards of one host, without their host: ``cards`` by ``indexes``; ``links`` closeness per index pair.

    Alike hosts share one value, so that a thousand of them cost as much as one.
    """

    cards: tuple[Card, ...]
    indexes: tuple[int, ...]
    links: tuple[Link, ...]
    no_peer_access: tuple[Pair, ...]

    @cached_property
    def link_kinds(self) -> frozenset[int]:
        """How close pairs of its cards are: one value where all pairs are alike."""
        return frozenset(kind for _first, _second, kind in self.links)

    def without(self, indexes: Iterable[int]) -> Slots:
        """The same host less these cards."""
        gone = set(indexes)
        kept = [(card, index) for card, index in zip(self.cards, self.indexes) if index not in gone]
        return Slots(
            tuple(card for card, _index in kept),
            tuple(index for _card, index in kept),
            tuple(link for link in self.links if link[0] not in gone and link[1] not in gone),
            tuple(pair for pair in self.no_peer_access if pair[0] not in gone and pair[1] not in gone),
        )

    def closeness(self, first: int, second: int) -> int:
        """NVLINK, PCIE, SOCKET or UNKNOWN between two indexes."""
        return _closeness(self.links).get((min(first, second), max(first, second)), UNKNOWN)


@lru_cache(maxsize=1024)
def _closeness(links: tuple[Link, ...]) -> dict[Pair, int]:
    return {(first, second): kind for first, second, kind in links}


@dataclass(frozen=True)
class LeftOut:
    """A card that no plan uses, and why."""

    host: str
    index: int
    name: str
    reason: str


@dataclass(frozen=True)
class Fleet:
    """Alike hosts together, sorted; cards left out; drivers and CUDA versions by host; memory in use by card (MiB)."""

    alike: tuple[tuple[Slots, tuple[str, ...]], ...]
    left_out: tuple[LeftOut, ...]
    drivers: Mapping[str, str]
    cuda: Mapping[str, str]
    used_mib: Mapping[tuple[str, int], int]
    problems: tuple[str, ...]


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(
            f"{where} is {type(value).__name__}, wanted the mapping that gpu_facts returns: gather facts first"
        )
    return value


def _entries(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


def _number(value: Any) -> int:
    """A count as facts have it; 0 for anything else."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _problem(problem: Any) -> str:
    return str(problem.get("message") or problem.get("code")) if isinstance(problem, Mapping) else str(problem)


def _card(device: Mapping[str, Any]) -> Card | str:
    """The card, or why it cannot be used."""
    if not device.get("usable", True):
        reasons = [_problem(problem) for problem in _entries(device.get("problems"))]
        return "; ".join(reasons) or "gpu_facts reports it as not usable"
    if device.get("mig") == "enabled":
        return "it is split by MIG, and its instances are no whole cards"
    capability = parse_capability(str(device.get("compute_capability")))
    memory = _number(device.get("memory_total_mib"))
    if capability is None or not memory:
        return "its compute capability or memory is unknown"
    return Card(str(device.get("name") or "unknown card"), capability, memory)


def _links(host: str, links: Any, usable: Iterable[int]) -> tuple[tuple[Link, ...], tuple[Pair, ...]]:
    """How close each pair of usable cards is, and which pairs lack peer access."""
    indexes = set(usable)
    kinds: list[Link] = []
    blocked: list[Pair] = []
    for pair, link in _mapping(links, f"fleet.{host}.links").items():
        match = re.fullmatch(r"([0-9]+)-([0-9]+)", str(pair))
        if not match or not isinstance(link, Mapping):
            raise PlanError(f"fleet.{host}.links has {pair!r}, wanted pairs like 0-1: gather facts again")
        low, high = sorted((int(match.group(1)), int(match.group(2))))
        if low not in indexes or high not in indexes:
            continue
        topology = str(link.get("topology") or "")
        has_nvlink = bool(link.get("nvlinks")) or topology.startswith("NV")
        kinds.append((low, high, NVLINK if has_nvlink else _TOPOLOGY.get(topology, UNKNOWN)))
        if link.get("p2p_read") is False:
            blocked.append((low, high))
    return tuple(sorted(kinds)), tuple(sorted(blocked))


# What of a device decides whether it can be used and as what.
_TELLING = ("name", "compute_capability", "memory_total_mib", "usable", "mig", "problems")


@dataclass(frozen=True)
class _Host:
    slots: Slots
    left_out: list[LeftOut]
    used_mib: dict[tuple[str, int], int]


def _host(host: str, gpu: Mapping[str, Any], known: dict[tuple[object, ...], Card | str]) -> _Host:
    """The usable cards of a host, those that are left out, and the memory in use; equal cards are read once."""
    cards: dict[int, Card] = {}
    left_out: list[LeftOut] = []
    used: dict[tuple[str, int], int] = {}
    devices = gpu.get("devices")
    if not isinstance(devices, (list, tuple)):
        raise PlanError(f"fleet.{host} has no list of devices: pass the gpustack_gpu fact of each host")
    for entry in devices:
        device = _mapping(entry, f"fleet.{host}.devices")
        index = device.get("index")
        if isinstance(index, bool) or not isinstance(index, int):
            raise PlanError(f"fleet.{host} has a device with index {index!r}, wanted a number: gather facts again")
        key = tuple(repr(device.get(name)) for name in _TELLING)
        card = known.get(key) or known.setdefault(key, _card(device))
        if isinstance(card, str):
            left_out.append(LeftOut(host, int(index), str(device.get("name") or "unknown card"), card))
            continue
        cards[int(index)] = card
        used[host, int(index)] = _number(device.get("memory_used_mib"))
    indexes = tuple(sorted(cards))
    kinds, blocked = _links(host, gpu.get("links") or {}, indexes)
    return _Host(Slots(tuple(cards[index] for index in indexes), indexes, kinds, blocked), left_out, used)


def parse_fleet(facts: Mapping[str, Any]) -> Fleet:
    """``{host: gpustack_gpu}`` as gpu_facts returns it. Raises PlanError when the shape is another one."""
    known: dict[tuple[object, ...], Card | str] = {}
    alike: dict[Slots, list[str]] = {}
    left_out: list[LeftOut] = []
    drivers: dict[str, str] = {}
    cuda: dict[str, str] = {}
    used: dict[tuple[str, int], int] = {}
    problems: list[str] = []
    hosts = {str(name): host_facts for name, host_facts in _mapping(facts, "fleet").items()}
    for host in sorted(hosts):
        gpu = _mapping(hosts[host], f"fleet.{host}")
        read = _host(host, gpu, known)
        left_out += sorted(read.left_out, key=lambda card: card.index)
        used.update(read.used_mib)
        problems += [f"{host}: {_problem(problem)}" for problem in _entries(gpu.get("problems"))]
        driver, version = str(gpu.get("driver_version") or ""), str(gpu.get("cuda_version") or "")
        if re.match(r"[0-9]+\.", driver):
            drivers[host] = driver
        if re.fullmatch(r"[0-9]+\.[0-9]+", version):
            cuda[host] = version
        if read.slots.cards:
            alike.setdefault(read.slots, []).append(host)
    shared = tuple((slots, tuple(names)) for slots, names in alike.items())
    return Fleet(shared, tuple(left_out), drivers, cuda, used, tuple(problems))
