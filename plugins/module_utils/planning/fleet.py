# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathered facts of many hosts → cards that can be used, alike hosts together, and the links between cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .errors import PlanError
from .hardware import Capability, cuda_memory_gib, multiprocessors, parse_capability


@dataclass(frozen=True)
class Card:
    """One GPU model as a plan sees it; equal cards compare equal, wherever they are."""

    name: str
    capability: Capability
    memory_total_mib: int

    @property
    def cuda_memory_gib(self) -> float:
        """Memory as CUDA reports it."""
        return cuda_memory_gib(self.name, self.memory_total_mib)

    @property
    def multiprocessors(self) -> int:
        """Streaming multiprocessors."""
        return multiprocessors(self.name, self.memory_total_mib)


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
    links: tuple[tuple[int, int, int], ...]
    no_peer_access: tuple[tuple[int, int], ...]

    def without(self, indexes: Iterable[int]) -> Slots:
        """The same host less these cards."""
        gone = set(indexes)
        kept = [(card, index) for card, index in zip(self.cards, self.indexes) if index not in gone]
        return Slots(
            tuple(card for card, _ in kept),
            tuple(index for _, index in kept),
            tuple(link for link in self.links if link[0] not in gone and link[1] not in gone),
            tuple(pair for pair in self.no_peer_access if pair[0] not in gone and pair[1] not in gone),
        )

    def closeness(self, first: int, second: int) -> int:
        """NVLINK, PCIE, SOCKET or UNKNOWN between two indexes."""
        return _closeness(self.links).get((min(first, second), max(first, second)), UNKNOWN)


@lru_cache(maxsize=1024)
def _closeness(links: tuple[tuple[int, int, int], ...]) -> dict[tuple[int, int], int]:
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


def _device(
    host: str, device: Mapping[str, Any], known: dict[tuple[str, str, int], Card]
) -> tuple[int, Card | None, str]:
    """Index, card (None when unusable) and why not."""
    index = device.get("index")
    if isinstance(index, bool) or not isinstance(index, int):
        raise PlanError(f"fleet.{host} has a device with index {index!r}, wanted a number: gather facts again")
    name, capability, memory = device.get("name"), device.get("compute_capability"), device.get("memory_total_mib")
    if not device.get("usable", True):
        reasons = [_problem(problem) for problem in device.get("problems") or ()]
        return int(index), None, "; ".join(reasons) or "gpu_facts reports it as not usable"
    if device.get("mig") == "enabled":
        return int(index), None, "it is split by MIG, and its instances are no whole cards"
    if not capability or not memory:
        return int(index), None, "its compute capability or memory is unknown"
    key = (str(name), str(capability), int(memory))
    card = known.get(key)
    if card is None:
        parsed = parse_capability(key[1])
        if parsed is None:
            return int(index), None, f"its compute capability {key[1]!r} is unknown"
        card = known[key] = Card(key[0], parsed, key[2])
    return int(index), card, ""


def _problem(problem: Any) -> str:
    return str(problem.get("message") or problem.get("code")) if isinstance(problem, Mapping) else str(problem)


def _links(
    host: str, links: Mapping[str, Any], usable: Iterable[int]
) -> tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...]]:
    indexes = set(usable)
    kinds: list[tuple[int, int, int]] = []
    blocked: list[tuple[int, int]] = []
    for pair, link in links.items():
        first, _, second = str(pair).partition("-")
        if not (first.isdigit() and second.isdigit()) or not isinstance(link, Mapping):
            raise PlanError(f"fleet.{host}.links has {pair!r}, wanted pairs like 0-1: gather facts again")
        low, high = sorted((int(first), int(second)))
        if low not in indexes or high not in indexes:
            continue
        topology = str(link.get("topology") or "")
        has_nvlink = bool(link.get("nvlinks")) or topology.startswith("NV")
        kinds.append((low, high, NVLINK if has_nvlink else _TOPOLOGY.get(topology, UNKNOWN)))
        if link.get("p2p_read") is False:
            blocked.append((low, high))
    return tuple(sorted(kinds)), tuple(sorted(blocked))


def parse_fleet(facts: Mapping[str, Any]) -> Fleet:
    """``{host: gpustack_gpu}`` as gpu_facts returns it. Raises PlanError when the shape is another one."""
    known: dict[tuple[str, str, int], Card] = {}
    alike: dict[Slots, list[str]] = {}
    left_out: list[LeftOut] = []
    drivers: dict[str, str] = {}
    cuda: dict[str, str] = {}
    used: dict[tuple[str, int], int] = {}
    problems: list[str] = []
    for name, host_facts in sorted(_mapping(facts, "fleet").items()):
        host = str(name)
        gpu = _mapping(host_facts, f"fleet.{host}")
        devices = gpu.get("devices")
        if not isinstance(devices, (list, tuple)):
            raise PlanError(f"fleet.{host} has no list of devices: pass the gpustack_gpu fact of each host")
        problems += [f"{host}: {_problem(problem)}" for problem in gpu.get("problems") or ()]
        if gpu.get("driver_version"):
            drivers[host] = str(gpu["driver_version"])
        if gpu.get("cuda_version"):
            cuda[host] = str(gpu["cuda_version"])
        cards: list[tuple[int, Card]] = []
        for device in devices:
            index, card, reason = _device(host, _mapping(device, f"fleet.{host}.devices"), known)
            if card is None:
                left_out.append(LeftOut(host, index, str(device.get("name") or "unknown card"), reason))
                continue
            cards.append((index, card))
            if device.get("memory_used_mib"):
                used[host, index] = int(device["memory_used_mib"])
        if not cards:
            continue
        cards.sort(key=lambda entry: entry[0])
        indexes = tuple(index for index, _ in cards)
        kinds, blocked = _links(host, gpu.get("links") or {}, indexes)
        slots = Slots(tuple(card for _, card in cards), indexes, kinds, blocked)
        alike.setdefault(slots, []).append(host)
    return Fleet(
        tuple((slots, tuple(hosts)) for slots, hosts in alike.items()),
        tuple(sorted(left_out, key=lambda card: (card.host, card.index))),
        drivers,
        cuda,
        used,
        tuple(problems),
    )
