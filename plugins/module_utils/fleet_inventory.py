# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A worker of a GPUStack server as a host of an inventory: its variables and its groups. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

# The group that the collection's playbooks work on.
WORKERS = "gpustack_workers"
GROUPINGS = ("cluster", "state", "card", "compute_capability", "maintenance", "labels")

# A label with the worker's own name would make a group for every host.
_LABELS_WITHOUT_GROUP = frozenset({"worker-name"})
# What changes from one look to the next has no place in an inventory, which may come out of a cache.
_PASSING_FIELDS = frozenset({"heartbeat_time", "state_message"})
_PASSING_GPU_FIELDS = frozenset({"memory_used_mib", "memory_allocated_mib"})


def host_variables(worker: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a worker, given as `presentation.show_worker` shows it.

    Address and interface are those that the role `worker` pins; everything else is in the mapping `fleet_worker`.
    """
    variables = {
        "ansible_host": worker["ip"],
        "gpustack_worker_ip": worker["ip"],
        "gpustack_worker_interface": worker["ifname"],
    }
    given: dict[str, Any] = {name: value for name, value in variables.items() if value}
    return {**given, "fleet_worker": _description(worker)}


def groups_of(worker: Mapping[str, Any], groupings: Iterable[str]) -> list[str]:
    """The names of the groups of a worker: `gpustack_workers`, and those of the asked `GROUPINGS`, sorted."""
    names = {group_name(*parts) for grouping in groupings for parts in _GROUPINGS[grouping](worker)}
    return [WORKERS, *sorted(names)]


def group_name(*parts: Any) -> str:
    """`card`, `Tesla V100-PCIE-32GB` → `card_tesla_v100_pcie_32gb`."""
    return re.sub(r"[^a-z0-9]+", "_", "_".join(map(str, parts)).lower()).strip("_")


def _description(worker: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in worker.items() if name not in _PASSING_FIELDS}
    shown["gpu_devices"] = [
        {name: value for name, value in device.items() if name not in _PASSING_GPU_FIELDS}
        for device in worker["gpu_devices"]
    ]
    shown["gpus"] = len(worker["gpu_devices"])
    shown["cards"] = _of_gpus(worker, "name")
    shown["compute_capabilities"] = _of_gpus(worker, "compute_capability")
    return shown


def _of_gpus(worker: Mapping[str, Any], field: str) -> list[str]:
    """What the GPUs have in a field, each value once, sorted."""
    return sorted({str(device[field]) for device in worker["gpu_devices"] if device[field]})


def _labels(worker: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in (worker["labels"] or {}).items():
        if name not in _LABELS_WITHOUT_GROUP:
            yield ("label", name, value) if value else ("label", name)


_GROUPINGS: dict[str, Callable[[Mapping[str, Any]], Iterable[tuple[Any, ...]]]] = {
    "cluster": lambda worker: [("cluster", worker["cluster"])] if worker["cluster"] else [],
    "state": lambda worker: [("state", worker["state"])],
    "card": lambda worker: [("card", name) for name in _of_gpus(worker, "name")],
    "compute_capability": lambda worker: [
        ("compute_capability", capability) for capability in _of_gpus(worker, "compute_capability")
    ],
    "maintenance": lambda worker: [("maintenance",)] if worker["maintenance"]["enabled"] else [],
    "labels": _labels,
}
