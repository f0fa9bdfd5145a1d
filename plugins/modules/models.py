#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: models
short_description: Make GPUStack serve exactly the declared models
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Takes the complete list of models, makes a GPUStack server match with as few requests as its API allows, and waits
    until all of them run as declared. A run that has nothing to do sends four requests, however many models there are.
  - Everything is checked before the first write. After that, an error of one model stops no other.
  - Of each model only the options that are set are compared and changed, as M(gpuops.gpustack.model) does. What is
    written is read back.
  - A model with several replicas and O(models[].rollout=drain) becomes as many models of one replica behind one route
    with its name. The first has that name as well, the others are called C(NAME-r2), C(NAME-r3) and so on. So a replica
    can be taken out of the route and replaced without losing a request, which GPUStack's own replicas can't.
    Whoever calls the model sees none of this.
  - More or fewer replicas, or another O(models[].rollout), leave the first model, its engine and the route as they are.
    New replicas run before they get requests, and those that go are taken out of the route first.
  - GPUStack never passes an edit on to running instances; this module replaces those that are older than the
    configuration, one of each model at a time. So a run that was interrupted is completed by the next one.
  - While it waits, the task shows how far the instances are whenever that changes.
options:
  prune:
    description:
      - Whether to delete models that are not declared, with their routes; only those that this collection has written.
    type: bool
    default: false
  prune_foreign:
    description:
      - Whether O(prune) also deletes models that somebody deployed otherwise.
    type: bool
    default: false
  recreate:
    description:
      - Whether to replace instances that run an older configuration than their model has.
    type: bool
    default: true
  defer_running:
    description:
      - Whether to leave alone running models whose engine would have to be replaced, and return them in RV(rollouts).
      - New models, and changes that engines don't take part in, are written all the same.
    type: bool
    default: false
  drain_seconds:
    description:
      - How long a replica that was taken out of its route may finish the requests it has, before it is replaced.
    type: int
    default: 15
  evaluation:
    description:
      - What to do when GPUStack's own dry run says no to a model that is new, or whose engine changes.
      - V(fail) ends the task before the first write, V(warn) shows both views and goes on, V(ignore) does not ask.
      - A lack of room is no disagreement where the model's own instances hold the cards, or models that O(prune)
        deletes.
    type: str
    choices: [ignore, warn, fail]
    default: warn
  wait:
    description:
      - Whether to wait until all replicas of all models run as declared.
      - Without waiting one step is done, and at most one instance of each model replaced.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait at most, for all models together.
    type: int
    default: 1800
  log_lines:
    description:
      - How many lines of an instance's log to return when it fails.
    type: int
    default: 40
extends_documentation_fragment:
  - gpuops.gpustack.model_fields.listed
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model
  - module: gpuops.gpustack.model_info
"""

EXAMPLES = r"""
- name: Two models, and nothing else that was deployed by this collection
  gpuops.gpustack.models:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    prune: true
    evaluation: fail
    models:
      - name: qwen2.5-14b-instruct
        local_path: /var/lib/models/Qwen2.5-14B-Instruct
        replicas: 2
        gpu_selectors:
          - gpu_ids: ["gpu-worker-a:cuda:0", "gpu-worker-a:cuda:1"]
            gpus_per_replica: 2
          - gpu_ids: ["gpu-worker-b:cuda:0", "gpu-worker-b:cuda:1"]
            gpus_per_replica: 2
        backend: vLLM
        backend_version: "0.17.1"
        backend_parameters: [--tensor-parallel-size=2, --max-model-len=32768]
      - name: bge-m3
        huggingface_repo_id: BAAI/bge-m3
        categories: [embedding]
        access_policy: public

- name: What the planner has planned, while running engines wait for a rolling update
  gpuops.gpustack.models:
    server_url: https://gpustack.example.com
    api_key: "{{ vault_gpustack_api_key }}"
    models: "{{ declarations_of_the_plans }}"
    defer_running: true
    wait_timeout: 3600
  register: applied

- name: Only write, and don't wait for engines
  gpuops.gpustack.models:
    server_url: https://gpustack.example.com
    api_key: "{{ vault_gpustack_api_key }}"
    models: []
    prune: true
    prune_foreign: true
    recreate: false
    drain_seconds: 30
    wait: false
    log_lines: 10
"""

RETURN = r"""
models:
  description: Each declared model, in the order declared; models that O(prune) could not delete follow.
  returned: success and failure of single models
  type: list
  elements: dict
  contains:
    name:
      description: Name of the declared model.
      type: str
      sample: qwen2.5-14b-instruct
    changed:
      description: Whether something about it was changed, in check mode would be.
      type: bool
    members:
      description: Names of the models that GPUStack has for it.
      type: list
      elements: str
      sample: [qwen2.5-14b-instruct, qwen2.5-14b-instruct-r2]
    replicas:
      description: How many instances they have together.
      type: int
      sample: 2
    instances:
      description: These instances, as M(gpuops.gpustack.model_info) returns them, and C(model), the member it is of.
      type: list
      elements: dict
    stale_instances:
      description: Names of instances that run an older configuration than their model has.
      type: list
      elements: str
      sample: []
    recreated_instances:
      description: Names of instances that were deleted to be replaced; in check mode those that would be.
      type: list
      elements: str
      sample: []
    unfinished:
      description: What is left to do that no instance shows, such as letting a new replica into the route; else empty.
      type: str
      sample: ""
    progress:
      description: How far it is, in one line.
      type: str
    failed:
      description: >-
        Whether it failed; C(msg) then says why, C(error) and C(status) how the server refused, C(log) what the engine
        said last.
      type: bool
pruned:
  description: Names of the models that were deleted since they are not declared.
  returned: success and failure of single models
  type: list
  elements: str
  sample: []
rollouts:
  description: With O(defer_running) the running members that were left as they are.
  returned: success and failure of single models
  type: list
  elements: dict
  contains:
    model:
      description: Name of the declared model.
      type: str
      sample: qwen2.5-14b-instruct
    member:
      description: Name of the model that GPUStack has for the replica.
      type: str
      sample: qwen2.5-14b-instruct-r2
    instances:
      description: Names of its instances.
      type: list
      elements: str
    differs:
      description: Names of the fields that differ; empty where only the instances are of an older configuration.
      type: list
      elements: str
      sample: [backend_parameters]
disagreements:
  description: Models to which GPUStack's dry run says no, with both views.
  returned: success and failure of single models
  type: list
  elements: dict
  contains:
    member:
      description: Name of the model.
      type: str
    planned:
      description: The plan's view.
      type: str
    gpustack:
      description: GPUStack's view.
      type: str
error:
  description: What went wrong as a whole, as M(gpuops.gpustack.model) says it.
  returned: failure as a whole
  type: str
  sample: Invalid
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure as a whole
  type: int
"""

import time
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.declared_models import DeclaredModels, Policy
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import OPTIONS, REQUIRED_BY, SOURCES
from ansible_collections.gpuops.gpustack.plugins.module_utils.models_answer import ended
from ansible_collections.gpuops.gpustack.plugins.module_utils.realisation import ROLLOUTS

_POLICY = ("prune", "prune_foreign", "recreate", "defer_running", "drain_seconds", "evaluation")


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "models": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    **OPTIONS,
                    "rollout": {"type": "str", "choices": list(ROLLOUTS), "default": "drain"},
                    "gpu_selectors": {
                        "type": "list",
                        "elements": "dict",
                        "options": {
                            "gpu_ids": {"type": "list", "elements": "str", "required": True},
                            "gpus_per_replica": {"type": "int"},
                        },
                    },
                    "planned": {"type": "str"},
                },
                "mutually_exclusive": [tuple(SOURCES)],
                "required_by": REQUIRED_BY,
            },
            "prune": {"type": "bool", "default": False},
            "prune_foreign": {"type": "bool", "default": False},
            "recreate": {"type": "bool", "default": True},
            "defer_running": {"type": "bool", "default": False},
            "drain_seconds": {"type": "int", "default": 15},
            "evaluation": {"type": "str", "choices": ["ignore", "warn", "fail"], "default": "warn"},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 1800},
            "log_lines": {"type": "int", "default": 40},
        },
    )
    module.run(lambda client, writer: _apply(module, client, writer), ask_who=False)


def _apply(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    policy = Policy(**{name: params[name] for name in _POLICY})
    declared = DeclaredModels(client, writer, params["models"], policy, time.sleep)
    ends = {}
    try:
        if params["wait"] and not module.check_mode:
            timeout, lines = params["wait_timeout"], params["log_lines"]
            ends = declared.wait(timeout_seconds=timeout, log_lines=lines, clock=time.monotonic)
        else:
            declared.step()
    finally:
        module.hide(declared.secrets)
    if declared.unanswered:
        module.warn(
            f"GPUStack's dry run was not to be had, so nothing is known of what it would say: {declared.unanswered}"
        )
    for disagreement in declared.disagreements:
        module.warn(f"GPUStack's dry run disagrees with the plan. {disagreement}.")
    return ended(declared.answer(), ends)


if __name__ == "__main__":
    main()
