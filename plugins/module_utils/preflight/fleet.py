# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of a fleet and what is wanted of it, checked once for their shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ..templated import with_nulls

Value = TypeVar("Value")


@dataclass(frozen=True)
class Finding:
    """Something wrong on these hosts; an empty list means the fleet as a whole.

    ``code`` replaces the check's own where facts bring a more precise one along.
    """

    hosts: list[str]
    found: str
    wanted: str
    remedy: str
    code: str | None = None


@dataclass(frozen=True)
class Fleet:
    """Facts by host name, and the wanted settings; what is not given is not checked.

    * ``hosts``: ``gpustack_host`` of ``host_facts``; ``gpus``: ``gpustack_gpu`` of ``gpu_facts``
    * ``workers``: ``{host: {"name", "ip", "interface", "expected_gpus", "release", "model_storage"}}``, the hosts that
      run a GPUStack worker; ``model_storage`` is the directory that it downloads to, empty for Docker's own
    * ``server``: ``{"url", "version", "problem", "supported_from", "supported_below", "declared", "host", "ports"}``;
      ``host`` runs it, a null version means that it does not answer, for the reason in ``problem``; ``declared`` is the
      release that it is to run, null where the inventory does not keep the server
    * ``ports``: ``{"10150" or "41000-41009": what for}``, of every worker; ``own_containers``: names of containers that
      may own them
    * ``minimum_free_gib``: ``{path: GiB}``; ``image_space_gib``: for Docker's images, of a host without a worker yet
    * ``required_paths``: ``{path that every worker has: what brings it}``
    * ``connections``: ``{host: gpustack_connectivity of connectivity_facts}``, ``listeners``: ``{host: result of
      port_listener}``, ``connection_ports``: what the ports that were tried are for, as in ``ports``
    * ``engine_images``: ``{host: gpustack_engine_images of engine_image_facts}``, ``plans``: the plans by model name
    * ``model_files``: what GPUStack has downloaded, as ``server_facts`` returns it
    * ``inventory``: ``gpustack_inventory`` of ``inventory_facts``
    * ``awaiting_stack``: workers whose driver or container toolkit changes later in the same run; ``awaiting_driver``:
      those of them whose GPUs cannot be seen before
    """

    hosts: Mapping[str, Mapping[str, Any]]
    gpus: Mapping[str, Mapping[str, Any]] | None = None
    workers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    server: Mapping[str, Any] | None = None
    shared_memory_gib: float | None = None
    ports: Mapping[str, str] = field(default_factory=dict)
    own_containers: list[str] = field(default_factory=lambda: ["gpustack-worker", "gpustack-server"])
    model_directories: list[str] = field(default_factory=list)
    required_paths: Mapping[str, str] = field(default_factory=dict)
    minimum_free_gib: Mapping[str, float] = field(default_factory=dict)
    image_space_gib: float | None = None
    minimum_memlock_mib: int | None = None
    max_clock_skew_s: float | None = None
    connections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    listeners: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    connection_ports: Mapping[str, str] = field(default_factory=dict)
    engine_images: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plans: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model_files: list[Mapping[str, Any]] = field(default_factory=list)
    inventory: Mapping[str, Any] | None = None
    awaiting_stack: list[str] = field(default_factory=list)
    awaiting_driver: list[str] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fleet:
        """The fleet in a dictionary with these names. Raises ValueError with found, wanted and the remedy."""
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ValueError(f"unknown keys {', '.join(unknown)}: wanted are {', '.join(known)}")
        if "hosts" not in data:
            raise ValueError("the key hosts is missing: the facts gpustack_host by host name are wanted")
        data = with_nulls(data)
        numbers = ("shared_memory_gib", "image_space_gib", "max_clock_skew_s")
        data.update({name: float(data[name]) for name in numbers if data.get(name) is not None})
        mappings = ("hosts", "gpus", "workers", "server", "ports", "minimum_free_gib", "connections", "listeners")
        for name in mappings:
            if data.get(name) is not None and not isinstance(data[name], Mapping):
                raise ValueError(f"{name} is a {type(data[name]).__name__}: a dictionary is wanted")
        if data.get("workers"):
            data["workers"] = {host: with_nulls(worker) for host, worker in data["workers"].items()}
        given = {name: value for name, value in data.items() if value is not None}
        by_host = {"hosts", "gpus", "connections", "listeners", "engine_images"}
        for name in set(given) & by_host:  # a host that did not answer has nothing to say
            given[name] = {host: facts for host, facts in given[name].items() if facts}
        return cls(**given)

    def wanted_ports(self) -> dict[str, dict[str, str]]:
        """The ports that have to be free, each with what it is for, by host name in order."""
        wanted = {host: dict(self.ports) for host in self.workers}
        server = self.server or {}
        if server.get("host"):
            wanted.setdefault(server["host"], {}).update(server.get("ports") or {})
        return dict(sorted(wanted.items()))

    def wanted_for_images(self, facts: Mapping[str, Any]) -> float:
        """GiB for the images that a host still has to pull: those of a worker that is not there yet."""
        present = set(facts.get("containers") or {})
        return 0.0 if present & set(self.own_containers) else self.image_space_gib or 0.0

    def driven(self) -> set[str]:
        """The workers whose driver is not still to come."""
        return set(self.workers) - set(self.awaiting_driver)

    def worker_facts(self) -> dict[str, Mapping[str, Any]]:
        """The host facts of the workers that have any, by host name in order."""
        return {host: self.hosts[host] for host in sorted(self.workers) if host in self.hosts}


def by_value(values: Mapping[str, Value]) -> list[tuple[Value, list[str]]]:
    """Values with the hosts that have them, most hosts first."""
    groups: list[tuple[Value, list[str]]] = []
    for host, value in sorted(values.items()):
        for known, hosts in groups:
            if known == value:
                hosts.append(host)
                break
        else:
            groups.append((value, [host]))
    return sorted(groups, key=lambda group: -len(group[1]))


def size_text(mib: float) -> str:
    """A size as people say it: ``31.4 GiB``, ``64 MiB`` or ``64 KiB``."""
    if mib < 1:
        return f"{mib * 1024:.0f} KiB"
    return f"{mib:.0f} MiB" if mib < 1024 else f"{round(mib / 1024, 1):g} GiB"


def comes_to(plan: Mapping[str, Any], host: str) -> bool:
    """Whether a host may get an engine of the model: any host where GPUStack's own scheduler finds the place."""
    placed = {name for placement in plan.get("placements") or [] for name in placement}
    return not placed or host in placed or plan.get("gpu_selectors", ()) is None
