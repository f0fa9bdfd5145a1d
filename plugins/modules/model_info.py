#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_info
short_description: Models of a GPUStack server with their routes and instances
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the models of a server, the routes they are called through, and their instances with state and place.
options:
  name:
    description:
      - Only the model of this name. If there is none, the list is empty.
    type: str
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
  - module: gpuops.gpustack.model
"""

EXAMPLES = r"""
- name: See one model with the last lines of its engines
  gpuops.gpustack.model_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    log_lines: 20
  register: qwen

- name: Show where its instances run
  ansible.builtin.debug:
    msg: "{{ qwen.models[0].instances | map(attribute='worker_name') }}"
"""

RETURN = r"""
models:
  description: The models, by name. Secrets are shown as C(********).
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the model. All other fields of GPUStack's model are there as well.
      type: int
      sample: 3
    name:
      description: Name of the model.
      type: str
      sample: qwen2.5-14b-instruct
    configuration:
      description: >-
        Fingerprint and time of the last write of the engine's configuration by M(gpuops.gpustack.model); null where it
        has written none.
      type: str
      sample: 3f0c9a1b2d4e 2026-03-01T09:30:00Z
    edited:
      description: >-
        Whether somebody else has changed the engine's configuration since then, for example on GPUStack's page; null
        where C(configuration) is.
      type: bool
      sample: false
    chats:
      description: Whether it answers chat requests, as far as GPUStack has found out what it is.
      type: bool
      sample: true
    routes:
      description: Routes that lead to the model.
      type: list
      elements: dict
      contains:
        id:
          description: Number of the route.
          type: int
          sample: 2
        name:
          description: Name under which the model is called.
          type: str
          sample: qwen2.5-14b-instruct
        access_policy:
          description: Who may call it.
          type: str
          sample: authed
        weight:
          description: Share of the route's requests that this model gets.
          type: int
          sample: 100
        state:
          description: Whether the route can send requests to this model, C(active) or C(unavailable).
          type: str
          sample: active
        targets:
          description: Number of models behind the route.
          type: int
          sample: 1
        ready_targets:
          description: Number of those that answer.
          type: int
          sample: 1
    stale_instances:
      description: Names of instances that run an older configuration than the model has.
      type: list
      elements: str
      sample: []
    instances:
      description: The model's instances.
      type: list
      elements: dict
      contains:
        id:
          description: Number of the instance.
          type: int
          sample: 7
        name:
          description: Name of the instance.
          type: str
          sample: qwen2.5-14b-instruct-x7Kq2
        state:
          description: >-
            C(pending), C(analyzing), C(scheduled), C(initializing), C(downloading), C(starting), C(running), C(error),
            or C(unreachable).
          type: str
          sample: running
        state_message:
          description: GPUStack's explanation of the state.
          type: str
        restart_count:
          description: Restarts since it last ran.
          type: int
          sample: 0
        last_restart_time:
          description: Time of the last restart.
          type: str
        worker_name:
          description: Worker of the instance, of a distributed one the first.
          type: str
          sample: gpu-worker-a
        worker_ip:
          description: Address of that worker.
          type: str
          sample: 192.0.2.11
        port:
          description: Port the engine listens on there.
          type: int
          sample: 40000
        gpu_type:
          description: Kind of the GPUs.
          type: str
          sample: cuda
        gpu_indexes:
          description: GPUs of that worker.
          type: list
          elements: int
          sample: [0, 1]
        distributed_servers:
          description: >-
            Its C(subordinate_workers), the further workers, each with C(worker_name), C(worker_ip), C(gpu_indexes),
            C(state), C(state_message) and C(download_progress).
          type: dict
        download_progress:
          description: Share of the weights that is there, in percent.
          type: float
          sample: 100.0
        backend:
          description: Inference engine.
          type: str
          sample: vLLM
        backend_version:
          description: Version of the engine.
          type: str
          sample: "0.17.1"
        created_at:
          description: Time of its creation, in UTC.
          type: str
          sample: "2026-03-01T09:30:02.518273Z"
        updated_at:
          description: Time of its last change of state, in UTC.
          type: str
          sample: "2026-03-01T09:33:40.103312Z"
        stale:
          description: Whether it runs an older configuration than the model has.
          type: bool
          sample: false
        log:
          description: The end of its log, if O(log_lines) asks for it; empty where there is none.
          type: list
          elements: str
"""

from collections import defaultdict
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_configuration import edited, marker_of, stale
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.logs import read_log
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import all_or_named, find_model
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import secrets_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import (
    show_instance,
    show_model,
    show_route,
)


def main() -> None:
    module = GPUStackModule(
        argument_spec={"name": {"type": "str"}, "log_lines": {"type": "int", "default": 0}},
    )
    module.run(lambda client, writer: {"changed": False, "models": _models(module, client)})


def _models(module: GPUStackModule, client: Client) -> list[dict[str, Any]]:
    name = module.params["name"]
    found = all_or_named(client, "/v2/models", find_model, name)
    if not found:
        return []
    only = {"model_id": found[0]["id"]} if name is not None else {}
    instances = _by_model(client.listing("/v2/model-instances", **only))
    targets = _by_model(client.listing("/v2/model-route-targets", **only))
    routes = {route["id"]: route for route in client.listing("/v2/model-routes")}
    return [
        _model(module, client, model, instances[model["id"]], targets[model["id"]], routes)
        for model in sorted(found, key=lambda model: str(model["name"]))
    ]


def _model(
    module: GPUStackModule,
    client: Client,
    model: dict[str, Any],
    instances: list[dict[str, Any]],
    targets: list[dict[str, Any]],
    routes: dict[int, dict[str, Any]],
) -> dict[str, Any]:
    secrets = secrets_of(model)
    module.hide(secrets)
    marker = marker_of(model)
    old = stale(instances, marker)
    shown = show_model(model)
    shown["configuration"] = None if marker is None else str(marker)
    shown["edited"] = edited(model)
    shown["routes"] = [
        show_route(routes[target["route_id"]], target) for target in targets if target["route_id"] in routes
    ]
    shown["stale_instances"] = old
    shown["instances"] = []
    for instance in sorted(instances, key=lambda instance: str(instance["name"])):
        row = show_instance(instance, old)
        if module.params["log_lines"] > 0:
            row["log"] = read_log(client, instance, module.params["log_lines"], secrets)
        shown["instances"].append(row)
    return shown


def _by_model(items: Any) -> dict[int, list[dict[str, Any]]]:
    grouped: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        grouped[item["model_id"]].append(item)
    return grouped


if __name__ == "__main__":
    main()
