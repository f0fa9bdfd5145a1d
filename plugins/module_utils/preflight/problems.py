# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of checks, and what runs it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable

from . import (
    connection_checks,
    controller_checks,
    download_checks,
    engine_checks,
    gpu_checks,
    host_checks,
    inventory_checks,
    site_checks,
)
from .fleet import Finding, Fleet

ERROR = "error"
WARNING = "warning"

# What has to be there before a check can say anything, in the order in which a bare fleet gets it.
INVENTORY = "inventory"
HOST = "host"
DRIVER = "driver"
PLAN = "plan"
ENGINE = "engine"
NEEDS = (INVENTORY, HOST, DRIVER, PLAN, ENGINE)


@dataclass(frozen=True)
class Check:
    """One thing that must hold: its code is the function's name."""

    find: Callable[[Fleet], Iterator[Finding]]
    severity: str
    title: str
    needs: str

    @property
    def code(self) -> str:
        """The name under which problems, documentation and tests know the check."""
        return self.find.__name__

    @property
    def reason(self) -> str:
        """Why it must hold, in a sentence."""
        return inspect.getdoc(self.find) or ""


# In the order in which a person would go about it: what everything needs first, hosts before GPUs before models.
CHECKS = (
    Check(controller_checks.ansible_core_unsupported, ERROR, "this ansible-core is not supported", INVENTORY),
    Check(controller_checks.collection_missing, ERROR, "a collection is missing", INVENTORY),
    Check(inventory_checks.inventory_empty, ERROR, "the inventory has no hosts", INVENTORY),
    Check(inventory_checks.workers_missing, ERROR, "the inventory has no workers", INVENTORY),
    Check(inventory_checks.value_encrypted, ERROR, "a value cannot be decrypted", INVENTORY),
    Check(inventory_checks.placeholder_left, ERROR, "values of the example are still there", INVENTORY),
    Check(inventory_checks.required_variable_missing, ERROR, "a variable that must be set is missing", INVENTORY),
    Check(inventory_checks.variable_misspelt, ERROR, "a variable is misspelt", INVENTORY),
    Check(inventory_checks.variable_unread, WARNING, "nobody reads a variable", INVENTORY),
    Check(site_checks.server_unreachable, ERROR, "the GPUStack server does not answer", HOST),
    Check(site_checks.server_untrusted, ERROR, "the GPUStack server's certificate is not trusted", HOST),
    Check(site_checks.server_refuses, ERROR, "the GPUStack server refuses", HOST),
    Check(site_checks.server_unsupported, ERROR, "this release of GPUStack is not supported", HOST),
    Check(site_checks.release_unreachable, ERROR, "the declared release of GPUStack is out of reach", HOST),
    Check(site_checks.worker_release_differs, ERROR, "a worker is declared in another release", HOST),
    Check(host_checks.facts_missing, ERROR, "nothing is known of the host", HOST),
    Check(host_checks.worker_name_duplicate, ERROR, "several hosts have the same worker name", HOST),
    Check(host_checks.worker_address_duplicate, ERROR, "several hosts have the same worker address", HOST),
    Check(host_checks.product_uuid_duplicate, ERROR, "several hosts have the same product UUID", HOST),
    Check(host_checks.machine_id_duplicate, WARNING, "several hosts have the same machine id", HOST),
    Check(host_checks.worker_address_missing, ERROR, "the worker's address is not on the host", HOST),
    Check(host_checks.port_taken, ERROR, "a port of GPUStack is taken", HOST),
    Check(host_checks.clocks_differ, ERROR, "clocks of the fleet differ", HOST),
    Check(host_checks.controller_clock_differs, WARNING, "the controller's clock differs from the fleet's", HOST),
    Check(host_checks.shared_memory_too_small, ERROR, "/dev/shm is too small", HOST),
    Check(host_checks.memory_smaller_than_shared_memory, WARNING, "less memory than shared memory", HOST),
    Check(host_checks.memlock_limit_low, WARNING, "the limit of locked memory is low", HOST),
    Check(host_checks.required_path_missing, ERROR, "something that must be there is missing", DRIVER),
    Check(host_checks.disk_space_low, ERROR, "too little disk space", HOST),
    Check(host_checks.image_space_low, ERROR, "too little disk space for images", HOST),
    Check(connection_checks.host_unreachable, ERROR, "a host cannot be reached from another", HOST),
    Check(connection_checks.connection_dropped, ERROR, "connections between hosts get no answer", HOST),
    Check(connection_checks.connection_rejected, ERROR, "connections between hosts are rejected", HOST),
    Check(connection_checks.large_packets_lost, ERROR, "large packets between hosts are lost", HOST),
    Check(connection_checks.worker_route_differs, WARNING, "packets leave by another interface", HOST),
    Check(connection_checks.mtu_differs, WARNING, "workers' interfaces have different MTUs", HOST),
    Check(connection_checks.mtu_small, WARNING, "the MTU of a worker's interface is small", HOST),
    Check(host_checks.facts_incomplete, WARNING, "not everything could be looked at", HOST),
    Check(gpu_checks.gpu_facts_missing, ERROR, "nothing is known of the host's GPUs", DRIVER),
    Check(gpu_checks.gpu_problem, ERROR, "the GPUs cannot be used", DRIVER),
    Check(gpu_checks.gpu_facts_incomplete, WARNING, "not everything is known of the GPUs", DRIVER),
    Check(gpu_checks.gpu_unusable, ERROR, "a GPU cannot be used", DRIVER),
    Check(gpu_checks.gpu_impaired, WARNING, "a GPU has a problem", DRIVER),
    Check(gpu_checks.gpu_count_differs, ERROR, "the number of GPUs is not as declared", DRIVER),
    Check(gpu_checks.driver_branches_differ, ERROR, "workers have different driver branches", DRIVER),
    Check(gpu_checks.driver_versions_differ, WARNING, "workers have different driver versions", DRIVER),
    Check(site_checks.model_directory_unusable, ERROR, "a model is missing on a worker", HOST),
    Check(site_checks.model_files_missing, ERROR, "a model is incomplete", HOST),
    Check(site_checks.model_config_differs, ERROR, "a model differs between workers", HOST),
    Check(site_checks.model_weights_differ, ERROR, "a model's weights differ between workers", HOST),
    Check(download_checks.model_space_low, ERROR, "too little disk space for models", PLAN),
    Check(download_checks.model_size_unknown, WARNING, "the size of a model is unknown", PLAN),
    Check(engine_checks.engine_image_lacks_architecture, ERROR, "the engine's image has no code for a card", ENGINE),
    Check(engine_checks.engine_image_unknown, WARNING, "the engine's image is unknown", ENGINE),
)


def problems_of(fleet: Mapping[str, Any], needs: Collection[str] = NEEDS) -> list[dict[str, Any]]:
    """Everything that is wrong: ``[{"code", "severity", "hosts", "title", "found", "wanted", "remedy"}]``.

    ``fleet`` has the keys of ``Fleet``; only checks that need one of ``needs`` run. Errors come first, then the order
    is that of CHECKS. The same finding on several hosts is one problem with all of them; ``hosts`` is empty for a
    problem of the fleet as a whole.

    Raises ValueError for a fleet of another shape.
    """
    unknown = sorted(set(needs) - set(NEEDS))
    if unknown:
        raise ValueError(f"needs has {', '.join(unknown)}: wanted are some of {', '.join(NEEDS)}")
    facts = Fleet.from_dict(fleet)
    problems: dict[tuple[str, ...], dict[str, Any]] = {}
    for check in (check for check in CHECKS if check.needs in needs):
        for finding in check.find(facts):
            code = finding.code or check.code
            same = (code, check.severity, finding.found, finding.wanted, finding.remedy)
            problem = problems.setdefault(
                same,
                {
                    "code": code,
                    "severity": check.severity,
                    "hosts": [],
                    "title": check.title,
                    "found": finding.found,
                    "wanted": finding.wanted,
                    "remedy": finding.remedy,
                },
            )
            problem["hosts"] = sorted({*problem["hosts"], *finding.hosts})
    return sorted(problems.values(), key=lambda problem: problem["severity"] != ERROR)
