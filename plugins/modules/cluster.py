#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster
short_description: Create, change or remove a cluster on GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Makes a cluster of Docker workers on a GPUStack server as declared. A server that was installed without a worker of
    its own has none, and workers can only register in one.
  - Only options that are set are compared and changed.
options:
  name:
    description:
      - Name of the cluster.
    type: str
    required: true
  state:
    description:
      - Whether the cluster shall be there. GPUStack refuses to remove one that has workers or models.
    type: str
    choices: [present, absent]
    default: present
  description:
    description:
      - Free text.
    type: str
  worker_server_url:
    description:
      - Address at which its workers call the server, where it is another than the server's own idea of it.
    type: str
  system_default_container_registry:
    description:
      - Registry that is put before the names of images that have none, for the workers of this cluster.
    type: str
  worker_config:
    description:
      - Defaults that workers get when they register, under the names of the worker's configuration file. A worker's own
        setting wins, and a change is taken up when a worker starts the next time.
      - Only the keys that are given are compared; the others stay. A value of null removes a default.
      - C(worker_ifname) needs GPUStack 2.2.0, C(insecure_tls) 2.3.0.
    type: dict
  default:
    description:
      - Set to V(true) to make this the cluster of models that name none. Another cluster stops being it.
      - With V(false) nothing is done, since one stops being the default only by another becoming it.
    type: bool
    default: false
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.cluster_info
"""

EXAMPLES = r"""
- name: Have a cluster for all workers
  gpuops.gpustack.cluster:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: racks
    description: V100 racks in Osaka
    default: true
    worker_server_url: http://192.0.2.10
    worker_config:
      system_reserved: {ram: 8, vram: 0}
      ray_port_range: 41000-41999

- name: Take all images from the site's own registry
  gpuops.gpustack.cluster:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: racks
    system_default_container_registry: registry.example.com

- name: Remove a cluster that is empty
  gpuops.gpustack.cluster:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: racks
    state: absent
"""

RETURN = r"""
cluster:
  description: The cluster as M(gpuops.gpustack.cluster_info) returns it, in check mode as it would be.
  returned: O(state=present)
  type: dict
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: NotFound
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 409
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Kind, Writer, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_cluster
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import mask_change
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_cluster
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import cluster_fields, refuse_newer_fields

FIELDS = ("name", "description", "server_url", "system_default_container_registry", "worker_config")
# A change of a cluster leaves what is not sent, in all releases.
KIND = Kind(label="cluster", path="/v2/clusters", rules={"worker_config": {}}, sent=("name",))


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "description": {"type": "str"},
            "worker_server_url": {"type": "str"},
            "system_default_container_registry": {"type": "str"},
            "worker_config": {"type": "dict", "no_log": True},
            "default": {"type": "bool", "default": False},
        },
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    options = {**params, "server_url": params["worker_server_url"]}
    wanted = {name: options[name] for name in FIELDS if options[name] is not None}
    wanted = cluster_fields(wanted, client.server_version)
    refuse_newer_fields("worker default", params["worker_config"] or {}, client.server_version)
    current = find_cluster(client, params["name"])
    change = compare(wanted, current, KIND.rules)
    cluster = current or {}
    if change.changed:
        cluster = writer.save(KIND, current, change.payload, on_create={"provider": "Docker"})
    before, after = mask_change(change.before, change.after)

    if params["default"] and not cluster.get("is_default"):
        before["is_default"], after["is_default"] = False, True
        writer.post(f"{KIND.path}/{cluster.get('id')}/set-default", {})
        cluster = {**cluster, "is_default": True}
    return {
        "changed": bool(after),
        "diff": {"before": before, "after": after},
        "cluster": show_cluster(cluster),
    }


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    current = find_cluster(client, params["name"])
    if current is None:
        return {"changed": False, "diff": {"before": {}, "after": {}}}
    writer.delete(KIND, current)
    return {"changed": True, "diff": {"before": show_cluster(current), "after": {}}}


if __name__ == "__main__":
    main()
