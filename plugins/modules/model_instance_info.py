#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_instance_info
short_description: Instances of the models of a GPUStack server
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the instances of models, where they run, and the end of their logs.
options:
  model:
    description:
      - Only instances of this model. If there is none of this name, the list is empty.
    type: str
  worker:
    description:
      - Only instances that run on this worker, of a distributed one as the first or a further one.
    type: str
  state:
    description:
      - Only instances in this state.
    type: str
    choices: [pending, analyzing, scheduled, initializing, downloading, starting, running, error, unreachable]
  log_lines:
    description:
      - How many lines from the end of each instance's log to return; V(0) for none.
    type: int
    default: 0
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_instance
  - module: gpuops.gpustack.model_info
"""

EXAMPLES = r"""
- name: See what does not run, and why
  gpuops.gpustack.model_instance_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    state: error
    log_lines: 30
  register: broken

- name: See what runs on a worker before it is switched off
  gpuops.gpustack.model_instance_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    worker: gpu-worker-a
  register: busy

- name: See the instances of one model
  gpuops.gpustack.model_instance_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    model: qwen2.5-14b-instruct
  register: qwen
"""

RETURN = r"""
model_instances:
  description: >-
    The instances, by name. Each has the name of its C(model), and what M(gpuops.gpustack.model_info) returns of an
    instance.
  returned: always
  type: list
  elements: dict
  sample:
    - {id: 7, model: qwen, name: qwen-x7Kq2, state: running, worker_name: gpu-worker-a, stale: false}
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_configuration import marker_of, stale
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.logs import read_log
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_model
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import secrets_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_instance

STATES = [
    "pending",
    "analyzing",
    "scheduled",
    "initializing",
    "downloading",
    "starting",
    "running",
    "error",
    "unreachable",
]


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "model": {"type": "str"},
            "worker": {"type": "str"},
            "state": {"type": "str", "choices": STATES},
            "log_lines": {"type": "int", "default": 0},
        },
    )
    module.run(lambda client, writer: {"changed": False, "model_instances": _instances(module, client)})


def _instances(module: GPUStackModule, client: Client) -> list[dict[str, Any]]:
    params = module.params
    if params["model"] is None:
        models = {model["id"]: model for model in client.listing("/v2/models")}
    else:
        model = find_model(client, params["model"])
        models = {} if model is None else {model["id"]: model}
    if not models:
        return []
    only = {} if params["model"] is None else {"model_id": next(iter(models))}
    found = [row for row in client.listing("/v2/model-instances", **only) if row["model_id"] in models]
    shown = []
    for instance in sorted(found, key=lambda instance: str(instance["name"])):
        if params["state"] not in (None, instance["state"]):
            continue
        if params["worker"] is not None and params["worker"] not in _workers(instance):
            continue
        model = models[instance["model_id"]]
        secrets = secrets_of(model)
        module.hide(secrets)
        row = {"model": model["name"], **show_instance(instance, stale([instance], marker_of(model)))}
        if params["log_lines"] > 0:
            row["log"] = read_log(client, instance, params["log_lines"], secrets)
        shown.append(row)
    return shown


def _workers(instance: dict[str, Any]) -> set[str]:
    servers = instance.get("distributed_servers") or {}
    return {instance.get("worker_name") or ""} | {
        worker.get("worker_name") or "" for worker in servers.get("subordinate_workers") or []
    }


if __name__ == "__main__":
    main()
