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
  state:
    description:
      - Whether the model shall be there.
      - With V(absent) its instances and the route that was made with it go too.
    type: str
    choices: [present, absent]
    default: present
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
  - gpuops.gpustack.model_fields
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

    - name: Prompts and answers in engines of their own, on GPUStack 2.3.0
      gpuops.gpustack.model:
        name: qwen3-32b
        local_path: /var/lib/models/Qwen3-32B
        disaggregation:
          mode: vllm-nixl
        roles:
          - {name: prefill, replicas: 2, backend_parameters: [--max-num-seqs=8]}
          - {name: decode}
          - {name: router}
        gather:
          strategy: PreferGather

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
    What went wrong, as V(Unreachable), V(Untrusted), V(NotGPUStack), V(UnsupportedVersion), V(Unauthorized),
    V(Forbidden), V(NotFound), V(Conflict), V(Invalid), V(NotApplied) or V(ServerError).
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
