# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was looked at, and one thing that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from .signature import ERROR


class Layer(IntEnum):
    """What rests on what: a fault in one layer shows in those behind it, so the first broken one is looked at first."""

    INVENTORY = 0
    REACH = 1
    HARDWARE = 2
    HOST = 3
    CONTAINER_ENGINE = 4
    NETWORK = 5
    SERVER = 6
    WORKER = 7
    MODEL_FILES = 8
    ENGINE_CONFIGURATION = 9
    ENGINE = 10


@dataclass(frozen=True)
class Evidence:
    """Where it can be seen: a line of a log, or what was asked (``line`` null)."""

    host: str
    source: str
    line: int | None
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. ``symptom``: a state that something else brings about, wherever that was found."""

    code: str
    layer: Layer
    title: str
    found: str
    wanted: str
    remedy: str
    hosts: list[str] = field(default_factory=list)
    severity: str = ERROR
    symptom: bool = False
    setting: str = ""
    not_means: str = ""
    link: str = ""
    evidence: list[Evidence] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The finding as data; the layer by its name in lower case."""
        return {**asdict(self), "layer": self.layer.name.lower()}


@dataclass(frozen=True)
class Look:
    """What was seen of a fleet. Whatever could not be looked at is empty or None, and that is a finding.

    * ``hosts``: by host name ``{"facts", "gpus", "container_engine", "engines", "logs", "declared", "connectivity"}``:
      ``gpustack_host``, ``gpustack_gpu``, the results of ``container_engine_info``, ``engine_info`` and ``host_logs``,
      ``{"name", "ip", "interface", "expected_gpus"}`` and ``gpustack_connectivity``; ``{}`` for a host that was not
      reached
    * ``workers``, ``servers``: hosts of these groups
    * ``api``: ``gpustack_api`` of ``server_facts``; ``registered``: workers of ``worker_info``; ``models``: of
      ``model_info``; both null where the server did not tell
    * ``declared``, ``defaults``: ``gpustack_models_declared``, ``gpustack_models_defaults``
    * ``wanted``: the settings that preflight checks, with the names of its ``Fleet``
    * ``containers``: ``{"worker", "server"}``, their names; ``runtime`` of the worker
    """

    hosts: Mapping[str, Mapping[str, Any]]
    workers: list[str]
    servers: list[str]
    api: Mapping[str, Any]
    registered: list[Mapping[str, Any]] | None
    models: list[Mapping[str, Any]] | None
    declared: list[Mapping[str, Any]]
    defaults: Mapping[str, Any]
    wanted: Mapping[str, Any]
    containers: Mapping[str, str]
    runtime: str

    def seen(self, part: str, hosts: list[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """This part of every host that has it."""
        names = list(self.hosts) if hosts is None else hosts
        return {host: self.hosts[host][part] for host in names if self.hosts.get(host, {}).get(part)}

    @property
    def reached(self) -> list[str]:
        return [host for host, parts in self.hosts.items() if parts.get("facts")]
