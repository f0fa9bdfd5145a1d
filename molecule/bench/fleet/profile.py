# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile: the hosts of the simulated fleet and the hardware they seem to have.

A profile is a YAML file under ``profiles/`` with ``cuda_version``, ``cards`` (kinds of GPU) and ``hosts`` (address,
identity, size, GPUs by card, links between them, models on disk). ``load`` checks it as a whole; ``for_host`` gives the
document that the stand-ins on one host read from /etc/gpu-bench/profile.json.
"""

from __future__ import annotations

import hashlib
import ipaddress
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import BenchError

SUBNET = ipaddress.ip_network("172.30.0.0/24")
TOPOLOGIES = ("SYS", "NODE", "PHB", "PXB", "PIX")
CARD_KEYS = {
    "name": str,
    "brand": str,
    "architecture": str,
    "compute_capability": str,
    "memory_total_mib": int,
    "memory_cuda_gib": float,
    "streaming_multiprocessors": int,
    "power_limit_w": int,
    "nvlinks": int,
    "nvlink_gb_per_s": (int, float),
    "pci": dict,
}
HOST_KEYS = {"address": str, "product_uuid": str, "cpu_cores": int, "memory_total_gib": int}
HOST_OPTIONAL = {"gpus": list, "links": dict, "models": list}
PCI_KEYS = {"vendor": str, "device": str, "subsystem_vendor": str, "subsystem_device": str, "class": str}


@dataclass(frozen=True)
class Host:
    """One host of the fleet; ``document`` is its /etc/gpu-bench/profile.json."""

    name: str
    address: str
    models: tuple[str, ...]
    document: dict[str, Any]

    @property
    def gpus(self) -> list[dict[str, Any]]:
        gpus: list[dict[str, Any]] = self.document["gpus"]
        return gpus


@dataclass(frozen=True)
class Profile:
    """A checked profile. ``digest`` changes when anything in it does."""

    name: str
    digest: str
    hosts: tuple[Host, ...]


def load(path: Path) -> Profile:
    """Reads and checks the profile at ``path``; raises BenchError with every fault that was found."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(item.stem for item in path.parent.glob("*.yml")))
        raise BenchError(f"No profile {path.stem!r}; choose one of: {known}.") from None
    except yaml.YAMLError as error:
        raise BenchError(f"{path} is not YAML: {error}") from None
    faults = list(_faults(data))
    if faults:
        raise BenchError(f"Profile {path} is wrong:\n" + "\n".join(f"  - {fault}" for fault in faults))
    hosts = tuple(
        Host(name, entry["address"], tuple(entry.get("models", ())), for_host(name, data))
        for name, entry in data["hosts"].items()
    )
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]
    return Profile(path.stem, digest, hosts)


def for_host(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The hardware of one host as the stand-ins read it."""
    host = data["hosts"][name]
    gpus = [
        {"index": index, "uuid": gpu["uuid"], "pci_bus_id": gpu["pci_bus_id"], **data["cards"][gpu["card"]]}
        for index, gpu in enumerate(host.get("gpus", ()))
    ]
    links = {pair: {"nvlinks": 0, **link} for pair, link in host.get("links", {}).items()}
    return {
        "host": name,
        "cuda_version": data["cuda_version"],
        "product_uuid": host["product_uuid"],
        "cpu_cores": host["cpu_cores"],
        "memory_total_gib": host["memory_total_gib"],
        "gpus": gpus,
        "links": links,
    }


def _faults(data: Any) -> Any:
    if not isinstance(data, dict) or set(data) != {"cuda_version", "cards", "hosts"}:
        yield "the top level must be exactly cuda_version, cards and hosts"
        return
    if not isinstance(data["cuda_version"], str):
        yield f"cuda_version is {data['cuda_version']!r}, which has the wrong type"
    for name, card in data["cards"].items():
        yield from _key_faults(f"card {name}", card, CARD_KEYS)
        if isinstance(card, dict) and isinstance(card.get("pci"), dict):
            yield from _key_faults(f"pci of card {name}", card["pci"], PCI_KEYS)
    addresses: dict[str, str] = {}
    for name, host in data["hosts"].items():
        yield from _key_faults(f"host {name}", host, HOST_KEYS, HOST_OPTIONAL)
        if isinstance(host, dict):
            yield from _host_faults(name, host, data["cards"], addresses)


def _key_faults(where: str, entry: Any, required: dict[str, Any], optional: dict[str, Any] | None = None) -> Any:
    known = {**required, **(optional or {})}
    if not isinstance(entry, dict):
        yield f"{where} must be a mapping"
        return
    for key in sorted(set(required) - set(entry)):
        yield f"{where} lacks {key}"
    for key, value in entry.items():
        if key not in known:
            yield f"{where} has an unknown key {key}"
        elif not isinstance(value, known[key]):
            yield f"{where}: {key} is {value!r}, which has the wrong type"


def _host_faults(name: str, host: dict[str, Any], cards: dict[str, Any], addresses: dict[str, str]) -> Any:
    address = host.get("address", "")
    try:
        inside = ipaddress.ip_address(address) in SUBNET
    except ValueError:
        inside = False
    if not inside:
        yield f"host {name}: address {address!r} is not in {SUBNET}"
    if address in addresses:
        yield f"host {name} has the address of {addresses[address]}"
    addresses[address] = name

    gpus = host.get("gpus", [])
    for gpu in gpus:
        if set(gpu) != {"card", "pci_bus_id", "uuid"}:
            yield f"host {name}: a GPU must be exactly card, pci_bus_id and uuid, not {gpu}"
        elif gpu["card"] not in cards:
            yield f"host {name}: no card {gpu['card']!r}"
        elif not re.fullmatch(r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]", gpu["pci_bus_id"]):
            yield f"host {name}: PCI bus id {gpu['pci_bus_id']!r} is not like 00000000:3B:00.0"
    links = host.get("links", {})
    pairs = {f"{low}-{high}" for low, high in itertools.combinations(range(len(gpus)), 2)}
    if set(links) != pairs:
        yield f"host {name}: links must be exactly {sorted(pairs)}, not {sorted(links)}"
    for pair, link in links.items():
        topology = link.get("topology", "")
        if topology not in TOPOLOGIES and not re.fullmatch(r"NV\d+", topology):
            yield f"host {name}: link {pair} has an unknown topology {topology!r}"
