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
  models:
    description:
      - All models the server shall have. The order does not count.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description:
          - Name of the model, by which it is also called.
        type: str
        required: true
      huggingface_repo_id:
        description:
          - Repository on Hugging Face to take the weights from, for example V(Qwen/Qwen2.5-14B-Instruct).
          - A new model needs exactly one of O(models[].huggingface_repo_id), O(models[].model_scope_model_id) and
            O(models[].local_path).
        type: str
      huggingface_filename:
        description:
          - Which files of the repository, for those with several variants of one model (GGUF).
        type: str
      model_scope_model_id:
        description:
          - Model on ModelScope to take the weights from.
        type: str
      model_scope_file_path:
        description:
          - Which files of O(models[].model_scope_model_id), for those with several variants of one model (GGUF).
        type: str
      local_path:
        description:
          - Directory with the weights, the same on every worker that may run the model.
        type: str
      description:
        description:
          - Free text, shown on GPUStack's page.
        type: str
      replicas:
        description:
          - How many instances to run; V(0) stops the model. A new model gets 1.
        type: int
      rollout:
        description:
          - How several replicas are realised, and with it what a change of their engines costs.
          - V(drain) makes each replica a model of its own behind one route. No request is lost when one is replaced.
          - V(recreate) makes one model with all replicas. GPUStack can't take one of them out, so a request that is
            sent to a replica while it is replaced fails.
        type: str
        choices: [drain, recreate]
        default: drain
      categories:
        description:
          - What the model can do. If it is not set or empty, GPUStack finds out. The order does not count.
        type: list
        elements: str
        choices: [llm, embedding, image, reranker, speech_to_text, text_to_speech, unknown]
      cluster:
        description:
          - Name of the cluster to run in.
          - A new model goes to the default cluster, or the only one, if it is not set. A model can't be moved.
        type: str
      placement_strategy:
        description:
          - Whether GPUStack spreads instances over workers or fills one after the other. Counts for new instances.
        type: str
        choices: [spread, binpack]
      worker_selector:
        description:
          - Labels that a worker must have to run the model.
        type: dict
      gpu_selector:
        description:
          - The very GPUs to run on, instead of letting GPUStack choose.
        type: dict
        suboptions:
          gpu_ids:
            description:
              - GPUs as C(worker:type:index), for example V(gpu-worker-a:cuda:0). The order does not count.
            type: list
            elements: str
          gpus_per_replica:
            description:
              - How many of them one replica gets. Needs O(models[].gpu_selector.gpu_ids).
            type: int
      gpu_selectors:
        description:
          - The very GPUs of each replica, one O(models[].gpu_selector) for each. A replica that is already on the
            GPUs of
            another one keeps those.
        type: list
        elements: dict
        suboptions:
          gpu_ids:
            description:
              - GPUs as C(worker:type:index), for example V(gpu-worker-a:cuda:0). The order does not count.
            type: list
            elements: str
          gpus_per_replica:
            description:
              - How many of them the replica gets. Needs C(gpu_ids).
            type: int
      distributed_inference_across_workers:
        description:
          - Whether one instance may use GPUs of several workers.
        type: bool
      cpu_offloading:
        description:
          - Whether layers may be kept in the host's memory.
        type: bool
      backend:
        description:
          - Inference engine, spelled as GPUStack does. A new model gets V(vLLM).
          - Custom backends have names that end in C(-custom).
        type: str
      backend_version:
        description:
          - Version of the engine. If it is not set or empty, GPUStack chooses and notes its choice in the model.
        type: str
      backend_parameters:
        description:
          - Command line arguments of the engine, one C(--flag) or C(--flag=value) an item.
          - They are compared as a list in order, since the order decides where a flag comes twice.
          - Values of flags that name a key, token or password are shown as C(********).
        type: list
        elements: str
      env:
        description:
          - Environment of the engine, compared as a whole. Values are texts; numbers become their text.
          - Values of variables that name a key, token or password are shown as C(********).
        type: dict
      image_name:
        description:
          - Container image of the engine; only with O(models[].backend=Custom).
        type: str
      run_command:
        description:
          - Command of the engine; only with O(models[].backend=Custom).
        type: str
      restart_on_error:
        description:
          - Whether GPUStack starts an instance again after an error.
        type: bool
      extended_kv_cache:
        description:
          - Keeps KV cache in the host's memory (LMCache). Suboptions that are not set stay as they are.
        type: dict
        suboptions:
          enabled:
            description:
              - Whether to use it.
            type: bool
          mode:
            description:
              - Where the cache is kept, V(local) to the worker or V(shared) by a cache service. Needs GPUStack 2.3.0.
            type: str
            choices: [local, shared]
          cache_service_id:
            description:
              - Number of the cache service, with V(shared). Needs GPUStack 2.3.0.
            type: int
          ram_ratio:
            description:
              - Host memory as a multiple of the GPU memory.
            type: float
          ram_size:
            description:
              - Host memory in GiB, instead of O(models[].extended_kv_cache.ram_ratio).
            type: int
          chunk_size:
            description:
              - Tokens in one chunk.
            type: int
      speculative_config:
        description:
          - Speculative decoding. Suboptions that are not set stay as they are.
        type: dict
        suboptions:
          enabled:
            description:
              - Whether to use it.
            type: bool
          algorithm:
            description:
              - How tokens are guessed.
            type: str
            choices: [eagle3, mtp, ngram]
          draft_model:
            description:
              - Model that guesses, as a name of GPUStack's catalog, a directory, or a repository of the model's own
                source.
            type: str
          num_draft_tokens:
            description:
              - Tokens guessed at once.
            type: int
          ngram_min_match_length:
            description:
              - Shortest n-gram to look for, with V(ngram).
            type: int
          ngram_max_match_length:
            description:
              - Longest n-gram to look for, with V(ngram).
            type: int
      gpu_type_selector:
        description:
          - Kind of card to run on, or a part of one, instead of O(models[].gpu_selector). Needs GPUStack 2.3.0.
        type: dict
        suboptions:
          type:
            description:
              - Kind of card as GPUStack names it.
            type: str
            required: true
          accelerator_sliced_memory_percentage:
            description:
              - Share of a card's memory, in percent.
            type: int
          accelerator_sliced_cores_percentage:
            description:
              - Share of a card's cores, in percent.
            type: int
          accelerator_partitioned_profile:
            description:
              - Profile of a partition of a card, for those that can be partitioned.
            type: str
      lora_list:
        description:
          - LoRA adapters to load, all of them in this order. Needs GPUStack 2.2.0.
          - A request selects one by the name C(model:adapter), for which M(gpuops.gpustack.model_route) can have a
            target.
        type: list
        elements: dict
        suboptions:
          lora_name:
            description:
              - Name of the adapter.
            type: str
            required: true
          source:
            description:
              - Where the adapter is.
            type: str
            choices: [huggingface, model_scope, local_path]
            default: huggingface
          lora_repo_name:
            description:
              - Its repository there.
            type: str
          huggingface_filename:
            description:
              - Which files of the repository on Hugging Face.
            type: str
          model_scope_file_path:
            description:
              - Which files of the repository on ModelScope.
            type: str
          local_path:
            description:
              - Directory of the adapter on every worker that may run the model.
            type: str
      scaling_schedule:
        description:
          - Times at which GPUStack changes the number of replicas by itself. Needs GPUStack 2.3.0. Suboptions that are
            not set stay as they are.
          - While a schedule is enabled and not paused it decides O(models[].replicas), which is not compared then.
        type: dict
        suboptions:
          enabled:
            description:
              - Whether to follow it.
            type: bool
          paused:
            description:
              - Whether to stop following it for now.
            type: bool
          baseline_replicas:
            description:
              - Replicas at all other times.
            type: int
          rules:
            description:
              - All its times.
            type: list
            elements: dict
            suboptions:
              name:
                description:
                  - What it is for.
                type: str
              start_cron:
                description:
                  - When it begins, as five fields of cron.
                type: str
                required: true
              duration_seconds:
                description:
                  - How long it lasts.
                type: int
                required: true
              replicas:
                description:
                  - Replicas meanwhile.
                type: int
                required: true
      native_anthropic_api:
        description:
          - Whether the engine itself answers requests in the form of Anthropic's API, instead of GPUStack
            translating them.
            Needs GPUStack 2.3.0.
        type: bool
      revision_history_limit:
        description:
          - Earlier configurations of the model that GPUStack keeps. Needs GPUStack 2.3.0.
        type: int
      generic_proxy:
        description:
          - Whether requests to paths that GPUStack does not know are passed on to the engine too. Its route decides for
            itself, see O(gpuops.gpustack.model_route#module:generic_proxy).
        type: bool
      access_policy:
        description:
          - Who may call the model through the route of its name, everybody or those who are logged in or have a key.
          - Access of single users is a matter of the route.
        type: str
        choices: [public, authed]
      planned:
        description:
          - How the model is planned, in words. Shown beside GPUStack's view where its dry run disagrees.
        type: str
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
                    "gpu_selectors": {**OPTIONS["gpu_selector"], "type": "list", "elements": "dict"},
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
    for disagreement in declared.disagreements:
        module.warn(f"GPUStack's dry run disagrees with the plan. {disagreement}.")
    return ended(declared.answer(), ends)


if __name__ == "__main__":
    main()
