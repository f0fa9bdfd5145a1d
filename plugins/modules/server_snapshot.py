#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_snapshot
short_description: What a GPUStack server must still have after an upgrade
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns clusters, workers, models, model routes, API keys and users of a server by name, each with what identifies
    it, so that two snapshots can be compared with P(gpuops.gpustack.snapshot_differences#filter).
  - Secrets are shown as C(********). GPUStack never tells the secret of an API key, and lists the keys of the user who
    asks only.
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_info
"""

EXAMPLES = r"""
- name: Remember what there is
  gpuops.gpustack.server_snapshot:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
  register: before
"""

RETURN = r"""
snapshot:
  description: Objects by kind and name.
  returned: success
  type: dict
  sample:
    worker: {gpu-worker-a: {id: 1, ip: 192.0.2.11, labels: {rack: "12"}}}
    cluster: {racks: {id: 1}}
    API key: {ci: {id: 2}}
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import mask_fields
from ansible_collections.gpuops.gpustack.plugins.module_utils.upgrade import snapshot

_PATHS = {
    "cluster": "/v2/clusters",
    "worker": "/v2/workers",
    "model": "/v2/models",
    "model route": "/v2/model-routes",
    "API key": "/v2/api-keys",
    "user": "/v2/users",
}
# The field of the name first.
_FIELDS = {
    "cluster": ("name", "id", "is_default"),
    "worker": ("name", "id", "ip", "labels"),
    "model": (
        "name",
        "id",
        "replicas",
        "backend",
        "backend_version",
        "backend_parameters",
        "env",
        "local_path",
        "gpu_selector",
    ),
    "model route": ("name", "id", "targets"),
    "API key": ("name", "id", "expires_at"),
    "user": ("username", "id", "is_admin", "is_active", "source"),
}


def main() -> None:
    module = GPUStackModule(argument_spec={})
    module.run(lambda client, writer: {"changed": False, "snapshot": _snapshot(client)})


def _snapshot(client: Client) -> dict[str, Any]:
    rows = {kind: [mask_fields(row) for row in client.listing(path)] for kind, path in _PATHS.items()}
    return snapshot(rows, _FIELDS)


if __name__ == "__main__":
    main()
