#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_info
short_description: Workers of a GPUStack server with their GPUs
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the workers that are registered at a server, their state and their GPUs as GPUStack sees them.
  - A worker reports its GPUs up to 30 seconds after it registers, so one that has just become ready may have none yet.
options:
  name:
    description:
      - Only the worker of this name. If there is none, the list is empty.
    type: str
  cluster:
    description:
      - Only workers of the cluster of this name, which must exist.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.worker
"""

EXAMPLES = r"""
- name: Wait until a worker is ready with both its cards
  gpuops.gpustack.worker_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    cluster: racks
  register: worker
  until: >-
    worker.workers | selectattr('state', 'eq', 'ready') | map(attribute='gpu_devices') | map('length') | list == [2]
  retries: 30
  delay: 5
"""

RETURN = r"""
workers:
  description: The workers, by name.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the worker.
      type: int
      sample: 1
    name:
      description: Name of the worker.
      type: str
      sample: gpu-worker-a
    cluster:
      description: Name of its cluster.
      type: str
      sample: racks
    state:
      description: C(ready), C(not_ready), C(unreachable), C(maintenance) and others.
      type: str
      sample: ready
    state_message:
      description: GPUStack's explanation of the state.
      type: str
    hostname:
      description: Host name.
      type: str
      sample: gpu-worker-a
    ip:
      description: Address that engines bind to.
      type: str
      sample: 192.0.2.11
    ifname:
      description: Network interface of that address.
      type: str
      sample: eth0
    port:
      description: Port of the worker's own API.
      type: int
      sample: 10150
    advertise_address:
      description: Address at which the server calls the worker.
      type: str
      sample: 192.0.2.11
    labels:
      description: Labels, GPUStack's own and those that were added.
      type: dict
      sample: {os: Linux, arch: amd64, worker-name: gpu-worker-a}
    maintenance:
      description: Whether maintenance is C(enabled), and its C(message).
      type: dict
      sample: {enabled: false, message: null}
    system_reserved:
      description: Memory that is kept from models, C(ram) and C(vram) in GiB.
      type: dict
    version:
      description: GPUStack version of the worker; null before 2.2, where workers do not tell it.
      type: str
      sample: v2.3.0
    heartbeat_time:
      description: When it was last heard of, in UTC.
      type: str
      sample: "2026-03-01T09:30:00Z"
    created_at:
      description: Time of its first registration, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
    gpu_devices:
      description: GPUs by index.
      type: list
      elements: dict
      contains:
        index:
          description: Index of the GPU.
          type: int
          sample: 0
        name:
          description: Product name.
          type: str
          sample: Tesla V100-PCIE-32GB
        uuid:
          description: Unique identifier; null when unknown.
          type: str
        vendor:
          description: Manufacturer.
          type: str
          sample: nvidia
        type:
          description: Kind of device.
          type: str
          sample: cuda
        arch_family:
          description: Architecture.
          type: str
          sample: Volta
        compute_capability:
          description: Compute capability; null when unknown.
          type: str
          sample: "7.0"
        driver_version:
          description: Version of the driver; null when unknown.
          type: str
          sample: 570.195.03
        runtime_version:
          description: Highest CUDA version of the driver; null when unknown.
          type: str
          sample: "12.8"
        memory_total_mib:
          description: Memory in MiB.
          type: int
          sample: 32768
        memory_used_mib:
          description: Memory in use, in MiB; null when unknown.
          type: int
          sample: 4
        memory_allocated_mib:
          description: Memory that GPUStack has promised to instances, in MiB; null when unknown.
          type: int
          sample: 29491
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import cluster_named
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_worker


def main() -> None:
    module = GPUStackModule(argument_spec={"name": {"type": "str"}, "cluster": {"type": "str"}})
    module.run(lambda client, writer: {"changed": False, "workers": _workers(module.params, client)})


def _workers(params: dict[str, Any], client: Client) -> list[dict[str, Any]]:
    if params["cluster"] is None:
        clusters = {cluster["id"]: cluster["name"] for cluster in client.listing("/v2/clusters")}
    else:
        cluster = cluster_named(client, params["cluster"])
        clusters = {cluster["id"]: cluster["name"]}
    # GPUStack 2.1.1 looks at one filter only, so clusters are told apart here.
    workers = [
        worker for worker in client.listing("/v2/workers", name=params["name"]) if worker["cluster_id"] in clusters
    ]
    return [
        show_worker(worker, clusters[worker["cluster_id"]])
        for worker in sorted(workers, key=lambda worker: str(worker["name"]))
    ]


if __name__ == "__main__":
    main()
