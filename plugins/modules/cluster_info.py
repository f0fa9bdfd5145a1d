#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Clusters of a GPUStack server, and how a worker joins them
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the clusters of a server, and with O(registration) what a worker needs to join them.
options:
  name:
    description:
      - Only the cluster of this name. If there is none, the list is empty.
    type: str
  registration:
    description:
      - Whether to return what a worker needs to join, which contains a token. Then the task needs C(no_log=true).
    type: bool
    default: false
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.cluster
"""

EXAMPLES = r"""
- name: See all clusters
  gpuops.gpustack.cluster_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
  register: fleet

- name: Get the token with which workers register
  gpuops.gpustack.cluster_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: racks
    registration: true
  register: racks
  no_log: true
"""

RETURN = r"""
clusters:
  description: The clusters, by name.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the cluster.
      type: int
      sample: 1
    name:
      description: Name of the cluster.
      type: str
      sample: racks
    description:
      description: Free text.
      type: str
    provider:
      description: What its workers run on.
      type: str
      sample: Docker
    is_default:
      description: Whether models go there that name no cluster.
      type: bool
      sample: true
    state:
      description: State of the cluster.
      type: str
      sample: ready
    state_message:
      description: GPUStack's explanation of the state.
      type: str
    workers:
      description: Number of workers.
      type: int
      sample: 2
    ready_workers:
      description: Number of workers that are ready.
      type: int
      sample: 2
    gpus:
      description: Number of GPUs.
      type: int
      sample: 4
    models:
      description: Number of models.
      type: int
      sample: 1
    worker_config:
      description: Defaults that its workers get when they register. Secrets are shown as C(********).
      type: dict
    worker_server_url:
      description: Address at which its workers call the server; null for the server's own idea of it.
      type: str
    system_default_container_registry:
      description: Registry that is put before the names of images that have none.
      type: str
    created_at:
      description: Time of its creation, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
    registration:
      description: How a worker joins. Secret.
      returned: O(registration=true)
      type: dict
      contains:
        token:
          description: Registration token. Secret.
          type: str
        server_url:
          description: Address for the worker to call the server at.
          type: str
          sample: http://192.0.2.10
        image:
          description: Container image of the worker.
          type: str
          sample: gpustack/gpustack:v2.1.1
        env:
          description: Environment of the worker's container. Secret.
          type: dict
        args:
          description: Arguments of the worker.
          type: list
          elements: str
          sample: []
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import all_or_named, find_cluster
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_cluster


def main() -> None:
    module = GPUStackModule(
        argument_spec={"name": {"type": "str"}, "registration": {"type": "bool", "default": False}},
    )
    module.run(lambda client, writer: {"changed": False, "clusters": _clusters(module.params, client)})


def _clusters(params: dict[str, Any], client: Client) -> list[dict[str, Any]]:
    found = all_or_named(client, "/v2/clusters", find_cluster, params["name"])
    shown = [show_cluster(cluster) for cluster in sorted(found, key=lambda cluster: str(cluster["name"]))]
    if params["registration"]:
        for cluster in shown:
            cluster["registration"] = client.get(f"/v2/clusters/{cluster['id']}/registration-token")
    return shown


if __name__ == "__main__":
    main()
