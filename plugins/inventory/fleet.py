# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory ``gpuops.gpustack.fleet``: the workers of a GPUStack server as hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
short_description: The workers of a GPUStack server as hosts
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Reads the workers that are registered at a GPUStack server and makes each a host, named like the worker.
  - All are in the group C(gpustack_workers), which this collection's playbooks work on; O(group_by) makes further ones.
  - A host has C(ansible_host), and C(gpustack_worker_ip) and C(gpustack_worker_interface) as the role
    P(gpuops.gpustack.worker#role) takes them.
  - Everything else is in C(fleet_worker), in the form of M(gpuops.gpustack.worker_info) with C(gpus) (how many),
    C(cards) and C(compute_capabilities) (each once) beside it, and without what changes from one look to the next.
  - The number of requests is the same for every size of the fleet.
  - The file is named C(gpustack.yml), or ends in C(.gpustack.yml); the ending C(yaml) works as well.
options:
  plugin:
    description:
      - Names this plugin.
    type: str
    required: true
    choices: [gpuops.gpustack.fleet]
  group_by:
    description:
      - What groups are made of.
      - V(cluster) makes C(cluster_racks), V(state) C(state_ready), V(card) C(card_tesla_v100_pcie_32gb),
        V(compute_capability) C(compute_capability_7_0), V(labels) C(label_rack_12) for every label but C(worker-name).
      - V(maintenance) is the group C(maintenance) with the workers that are in it.
    type: list
    elements: str
    choices: [cluster, state, card, compute_capability, maintenance, labels]
    default: [cluster, state, card, compute_capability, maintenance, labels]
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.connection.plugins
  - constructed
  - inventory_cache
seealso:
  - module: gpuops.gpustack.worker_info
"""

EXAMPLES = r"""
# racks.gpustack.yml: address and credentials from GPUSTACK_SERVER_URL, GPUSTACK_USERNAME and GPUSTACK_PASSWORD
plugin: gpuops.gpustack.fleet
---
# racks.gpustack.yml: everything in the file; connection options may be templates, and may be encrypted with
# `ansible-vault encrypt_string`
plugin: gpuops.gpustack.fleet
server_url: https://gpustack.example.com
api_key: "{{ lookup('ansible.builtin.file', '~/.config/gpustack/api_key') }}"
ca_path: /etc/ssl/certs/company.pem
timeout: 10
group_by: [cluster, state]
strict: true
compose:
  # how the hosts are logged in to; unset, it is the address that engines bind to
  ansible_host: fleet_worker.advertise_address or fleet_worker.ip
  ansible_user: "'operator'"
groups:
  volta: "'7.0' in fleet_worker.compute_capabilities"
  big: fleet_worker.gpus >= 8
keyed_groups:
  - key: fleet_worker.gpus | string
    prefix: gpus
# ask the server at most every five minutes
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/gpustack
cache_timeout: 300
"""

import os
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import GPUStackError
from ansible_collections.gpuops.gpustack.plugins.module_utils.fleet_inventory import groups_of, host_variables
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import (
    CONNECTION_OPTIONS,
    connection_from,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_worker

_FILE_NAMES = ("gpustack.yml", "gpustack.yaml")

Worker = dict[str, Any]


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "gpuops.gpustack.fleet"

    def verify_file(self, path: str) -> bool:
        name = os.path.basename(path)
        return super().verify_file(path) and (name in _FILE_NAMES or name.endswith(tuple(f".{n}" for n in _FILE_NAMES)))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            workers = self._workers(self.get_cache_key(path), cache)
        except GPUStackError as error:
            raise AnsibleParserError(str(error)) from error
        for worker in workers:
            self._add_host(worker)

    def _workers(self, cache_key: str, cache: bool) -> list[Worker]:
        """The workers by name; from the cache where it may be used and is of the same server."""
        options = {name: self._rendered(self.get_option(name)) for name in CONNECTION_OPTIONS}
        client = Client(connection_from(options, os.environ))
        cached = self.get_option("cache")
        known = self._cache.get(cache_key) if cached and cache else None
        if known and known["server_url"] == client.server_url:
            workers: list[Worker] = known["workers"]
            return workers
        workers = self._fetch(client)
        if cached:
            self._cache[cache_key] = {"server_url": client.server_url, "workers": workers}
        return workers

    def _fetch(self, client: Client) -> list[Worker]:
        client.connect()
        for warning in client.warnings:
            self.display.warning(warning)
        clusters = {cluster["id"]: cluster["name"] for cluster in client.listing("/v2/clusters")}
        workers = [show_worker(worker, clusters.get(worker["cluster_id"])) for worker in client.listing("/v2/workers")]
        return sorted(workers, key=lambda worker: str(worker["name"]))

    def _add_host(self, worker: Worker) -> None:
        name, strict = worker["name"], self.get_option("strict")
        for group in groups_of(worker, self.get_option("group_by")):
            self.inventory.add_group(group)
            self.inventory.add_host(name, group=group)
        # What a worker calls itself is no template, whatever it looks like.
        variables = wrap_var(host_variables(worker))
        for variable, value in variables.items():
            self.inventory.set_variable(name, variable, value)
        self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, name, strict=strict)

    def _rendered(self, value: Any) -> Any:
        """A connection option may be a template, for example of a lookup or of an extra variable."""
        if not isinstance(value, str) or not self.templar.is_template(value):
            return value
        self.templar.available_variables = self._vars
        return self.templar.template(value)
