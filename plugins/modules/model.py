#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model
short_description: Deploy, change or remove a model on GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Makes a model on a GPUStack server as declared, and waits until all its replicas run with that configuration.
  - Only options that are set are compared and changed; everything else stays as it is on the server. What is written is
    read back, so a field that the server drops without a word is an error.
  - A new model gets a route of its name, through which it is called.
  - GPUStack never passes an edit on to running instances. The module therefore notes the time of each write that
    concerns the engine in the variable C(GPUOPS_CONFIGURATION) of the model's environment, and replaces the instances
    that are older, one after the other. So a run that was interrupted is completed by the next one.
  - A model that was deployed otherwise is taken over as it is. It gets that variable with the first change.
  - While it waits, the task shows how far the instances are whenever that changes.
options:
  name:
    description:
      - Name of the model, by which it is also called.
    type: str
    required: true
  state:
    description:
      - Whether the model shall be there.
      - With V(absent) its instances and the route that was made with it go too.
    type: str
    choices: [present, absent]
    default: present
  huggingface_repo_id:
    description:
      - Repository on Hugging Face to take the weights from, for example V(Qwen/Qwen2.5-14B-Instruct).
      - A new model needs exactly one of O(huggingface_repo_id), O(model_scope_model_id) and O(local_path).
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
      - Which files of O(model_scope_model_id), for those with several variants of one model (GGUF).
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
          - How many of them one replica gets. Needs O(gpu_selector.gpu_ids).
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
      - Container image of the engine; only with O(backend=Custom).
    type: str
  run_command:
    description:
      - Command of the engine; only with O(backend=Custom).
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
          - Host memory in GiB, instead of O(extended_kv_cache.ram_ratio).
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
          - Model that guesses, as a name of GPUStack's catalog, a directory, or a repository of the model's own source.
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
      - Kind of card to run on, or a part of one, instead of O(gpu_selector). Needs GPUStack 2.3.0.
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
      - A request selects one by the name C(model:adapter), for which M(gpuops.gpustack.model_route) can have a target.
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
      - Times at which GPUStack changes the number of replicas by itself. Needs GPUStack 2.3.0. Suboptions that are not
        set stay as they are.
      - While a schedule is enabled and not paused it decides O(replicas), which is not compared then.
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
      - Whether the engine itself answers requests in the form of Anthropic's API, instead of GPUStack translating them.
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
  recreate:
    description:
      - Whether to replace instances that run an older configuration than the model has. They are deleted one after the
        other, each when all newer ones run, and GPUStack makes new ones.
      - With V(false) they are only listed in RV(stale_instances).
    type: bool
    default: true
  wait:
    description:
      - Whether to wait until all replicas run with the present configuration, or after O(state=absent) until nothing is
        left.
      - Without waiting at most one instance is replaced in a run.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait at most.
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
  - module: gpuops.gpustack.model_info
  - module: gpuops.gpustack.worker_info
"""

EXAMPLES = r"""
- name: Deploy Qwen2.5 over four cards of two hosts
  gpuops.gpustack.model:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    local_path: /var/lib/models/Qwen2.5-14B-Instruct
    cluster: racks
    replicas: 1
    backend: vLLM
    backend_version: "0.17.1"
    backend_parameters:
      - --distributed-executor-backend=ray
      - --tensor-parallel-size=4
      - --pipeline-parallel-size=1
      - --max-model-len=65536
    env:
      VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1"
      GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB: "64"
    distributed_inference_across_workers: true
    restart_on_error: true
    wait_timeout: 3600

- name: Write the connection once for all modules of the collection
  module_defaults:
    group/gpuops.gpustack.gpustack:
      server_url: https://gpustack.internal.example.com
      api_key: "{{ vault_gpustack_api_key }}"
      ca_path: /etc/ssl/certs/example-ca.pem
      timeout: 60
  block:
    - name: Two replicas on V100 workers, open to everybody
      gpuops.gpustack.model:
        name: bge-m3
        huggingface_repo_id: BAAI/bge-m3
        description: Embeddings for the search
        categories: [embedding]
        replicas: 2
        placement_strategy: spread
        worker_selector:
          gpu-generation: volta
        env:
          HF_TOKEN: "{{ vault_huggingface_token }}"
        access_policy: public

    - name: One certain card, with speculative decoding and more KV cache in host memory
      gpuops.gpustack.model:
        name: qwen3-8b
        model_scope_model_id: Qwen/Qwen3-8B
        gpu_selector:
          gpu_ids: ["gpu-worker-a:cuda:0"]
          gpus_per_replica: 1
        extended_kv_cache:
          enabled: true
          ram_ratio: 1.5
          chunk_size: 256
        speculative_config:
          enabled: true
          algorithm: ngram
          num_draft_tokens: 4
          ngram_min_match_length: 2
          ngram_max_match_length: 6

    - name: More replicas by day, and an adapter, on GPUStack 2.3.0
      gpuops.gpustack.model:
        name: qwen3-8b
        lora_list:
          - lora_name: support
            source: local_path
            local_path: /var/lib/adapters/support
        scaling_schedule:
          enabled: true
          baseline_replicas: 1
          rules:
            - {name: day, start_cron: "0 7 * * 1-5", duration_seconds: 43200, replicas: 3}

    - name: Write a change, but leave running engines alone for now
      gpuops.gpustack.model:
        name: qwen3-8b
        backend_parameters: [--max-model-len=16384]
        recreate: false
        wait: false

    - name: An engine of one's own
      gpuops.gpustack.model:
        name: my-engine
        local_path: /var/lib/models/my-model
        backend: Custom
        image_name: registry.example.com/engine:1.0
        run_command: "serve {{ '{{' }}model_path{{ '}}' }} --port {{ '{{' }}port{{ '}}' }}"

    - name: Remove a model with all that belongs to it
      gpuops.gpustack.model:
        name: bge-m3
        state: absent
"""

RETURN = r"""
model:
  description: The model as GPUStack has it, in check mode as it would have it. Secrets are shown as C(********).
  returned: success and O(state=present)
  type: dict
  sample:
    id: 3
    name: qwen2.5-14b-instruct
    replicas: 1
    backend: vLLM
    backend_parameters: ["--tensor-parallel-size=4"]
    env: {GPUOPS_CONFIGURATION: "3f0c9a1b2d4e 2026-03-01T09:30:00Z"}
configuration:
  description: Fingerprint and time of the write of the present configuration; null for a model not changed here yet.
  returned: O(state=present)
  type: str
  sample: 3f0c9a1b2d4e 2026-03-01T09:30:00Z
instances:
  description: The model's instances, as M(gpuops.gpustack.model_info) returns them.
  returned: O(state=present)
  type: list
  elements: dict
stale_instances:
  description: Names of instances that run an older configuration, oldest first.
  returned: O(state=present)
  type: list
  elements: str
  sample: []
recreated_instances:
  description: Names of instances that were deleted to be replaced; in check mode those that would be.
  returned: O(state=present)
  type: list
  elements: str
  sample: [qwen2.5-14b-instruct-x7Kq2]
progress:
  description: How far the instances are, in one line.
  returned: O(state=present)
  type: str
  sample: "qwen2.5-14b-instruct: 1 of 1 running; qwen2.5-14b-instruct-x7Kq2 running on gpu-worker-a, gpu-worker-b"
log:
  description: The end of the log of the instance that failed.
  returned: failure while waiting
  type: list
  elements: str
error:
  description: >-
    What went wrong, as V(Unreachable), V(NotGPUStack), V(UnsupportedVersion), V(Unauthorized), V(Forbidden),
    V(NotFound), V(Conflict), V(Invalid), V(NotApplied) or V(ServerError).
  returned: failure other than of an instance
  type: str
  sample: Conflict
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 409
"""

import time
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.deployment import Deployment
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_configuration import marker_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Change, Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import (
    mask_change,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import (
    OPTIONS,
    REQUIRED_BY,
    SOURCES,
    wanted_model,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import (
    declared_part,
    show_instance,
    show_model,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import (
    POLL_SECONDS,
    Outcome,
    Progress,
    Result,
    failure_message,
    judge,
)


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            **OPTIONS,
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "recreate": {"type": "bool", "default": True},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 1800},
            "log_lines": {"type": "int", "default": 40},
        },
        mutually_exclusive=[tuple(SOURCES)],
        required_by=REQUIRED_BY,
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module, client, writer))


def _present(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    wanted = wanted_model(params)
    deployment = Deployment(client, writer, params["name"])
    change = deployment.apply(wanted, params["cluster"])
    if params["wait"] and not module.check_mode:
        end = deployment.wait(
            recreate=params["recreate"],
            timeout_seconds=params["wait_timeout"],
            log_lines=params["log_lines"],
            clock=time.monotonic,
            sleep=time.sleep,
        )
    else:
        end = Result(judge(deployment.look(params["recreate"]), Progress(), time.monotonic())[1])
    module.hide(deployment.secrets)
    result = {
        "changed": deployment.changed,
        "diff": _diff(deployment, change),
        "configuration": _configuration(deployment),
        "instances": [show_instance(instance, deployment.stale) for instance in deployment.instances],
        "stale_instances": deployment.stale,
        "recreated_instances": deployment.recreated,
        "progress": end.verdict.text,
    }
    if params["wait"] and end.verdict.outcome is Outcome.FAILED:
        return {**result, "failed": True, "msg": failure_message(end), "log": list(end.log)}
    return {**result, "model": show_model(deployment.model or {})}


def _absent(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    deployment = Deployment(client, writer, params["name"])
    removed = deployment.remove()
    left: list[str] = []
    if removed and params["wait"] and not module.check_mode:
        end = time.monotonic() + params["wait_timeout"]
        while True:
            left = deployment.remains()
            if not left or time.monotonic() >= end:
                break
            time.sleep(POLL_SECONDS)
    module.hide(deployment.secrets)
    result: dict[str, Any] = {
        "changed": removed,
        "diff": _titled(deployment, declared_part(deployment.model or {}), {}),
    }
    if left:
        result["failed"] = True
        result["msg"] = (
            f"Model {params['name']!r} is deleted, but after {params['wait_timeout']} seconds GPUStack still has "
            f"{', '.join(left)}. See the log of the GPUStack server, and run again."
        )
    return result


def _diff(deployment: Deployment, change: Change) -> dict[str, Any]:
    before, after = mask_change(change.before, change.after)
    if deployment.recreated:
        before["instances_of_an_older_configuration"] = deployment.recreated
    return _titled(deployment, before, after)


def _titled(deployment: Deployment, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    title = f"model {deployment.name}"
    # An empty text shows nothing, an empty mapping its braces.
    return {"before_header": title, "after_header": title, "before": before or "", "after": after or ""}


def _configuration(deployment: Deployment) -> Any:
    marker = marker_of(deployment.model or {})
    return None if marker is None else str(marker)


if __name__ == "__main__":
    main()
