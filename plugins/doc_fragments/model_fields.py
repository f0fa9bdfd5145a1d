# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fields of a model, described once: the options of the module `model`, and those of each entry of `models`."""

from __future__ import annotations

import re
from textwrap import indent

_ENGINE_FIELDS = r"""
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
"""

_ROLE_FIELDS = r"""
name:
  description:
    - Which part it is.
  type: str
  choices: [prefill, decode, router]
  required: true
replicas:
  description:
    - How many instances of it run. A router has one.
  type: int
  default: 1
dependencies:
  description:
    - Roles that run before it is started.
  type: list
  elements: str
resources:
  description:
    - What a V(router) is given, which has no GPU.
  type: dict
  suboptions:
    cpu:
      description:
        - Its weight among the containers of the worker, in cores.
      type: float
    memory:
      description:
        - Its memory in bytes, which GPUStack sets aside for it.
      type: int
"""

_OTHER_FIELDS = r"""
name:
  description:
    - Name of the model, by which it is also called.
  type: str
  required: true
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
distributed_inference_across_workers:
  description:
    - Whether one instance may use GPUs of several workers.
  type: bool
cpu_offloading:
  description:
    - Whether layers may be kept in the host's memory.
  type: bool
restart_on_error:
  description:
    - Whether GPUStack starts an instance again after an error.
  type: bool
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
disaggregation:
  description:
    - Reads prompts (prefill) and writes answers (decode) in engines of their own, those of O(roles), which hand the KV
      cache over. Needs GPUStack 2.3.0. Suboptions that are not set stay as they are.
  type: dict
  suboptions:
    mode:
      description:
        - Engine and connector as GPUStack's recipes name them; V(custom) leaves all of it to O(roles).
      type: str
      choices: [vllm-nixl, vllm-mooncake, sglang-mooncake, sglang-nixl, vllm-ascend-mooncake, custom]
      required: true
    vendor:
      description:
        - Vendor of the cards, where a cluster has those of several.
      type: str
    readiness:
      description:
        - Whether the model is ready with one instance of each role, as GPUStack has it unless told otherwise, or with
          all of them.
      type: str
      choices: [any_per_role, all]
    kv_load_failure_policy:
      description:
        - What becomes of a request whose KV cache does not arrive.
      type: str
      choices: [fail, recompute]
gather:
  description:
    - How near to each other the instances of O(roles) are to be. Needs GPUStack 2.3.0. Suboptions that are not set
      stay as they are.
  type: dict
  suboptions:
    strategy:
      description:
        - Whether the model does not start (V(MustGather)) or starts all the same where the layer cannot be met.
      type: str
      choices: [MustGather, PreferGather]
    layer:
      description:
        - The layer of the cluster's topology that is to hold all of them. Needs O(gather.strategy).
      type: str
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
"""


def _below(option: str, fields: str) -> str:
    """The same fields as suboptions of an option, and the options that their descriptions name with them."""
    return indent(re.sub(r"\bO\((?=[\w.\[\]]+[)=])", f"O({option}[].", fields), "    ")


_FIELDS = rf"""{_OTHER_FIELDS}{_ENGINE_FIELDS}
roles:
  description:
    - Parts of the model with engines of their own, compared and written as a whole. Needs GPUStack 2.3.0.
    - What a role leaves unset is as the model says. With roles O(replicas) is V(1) or V(0), whether the model runs.
    - A role can't have adapters; GPUStack takes O(lora_list) for models without roles only.
  type: list
  elements: dict
  suboptions:
{_below("roles", _ROLE_FIELDS + _ENGINE_FIELDS)}
"""

# What only an entry of `models` has beside them.
_OF_ENTRIES = r"""
rollout:
  description:
    - How several replicas are realised, and with it what a change of their engines costs.
    - V(drain) makes each replica a model of its own behind one route. No request is lost when one is replaced.
    - V(recreate) makes one model with all replicas. GPUStack can't take one of them out, so a request that is
      sent to a replica while it is replaced fails.
  type: str
  choices: [drain, recreate]
  default: drain
gpu_selectors:
  description:
    - The very GPUs of each replica, one O(models[].gpu_selector) for each. A replica that is already on the GPUs of
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
planned:
  description:
    - How the model is planned, in words. Shown beside GPUStack's view where its dry run disagrees.
  type: str
"""


class ModuleDocFragment:
    # Annotated, because ansible-test wants what is merely assigned to be a literal.
    DOCUMENTATION: str = f"options:{indent(_FIELDS, '  ')}"

    LISTED: str = f"""
options:
  models:
    description:
      - All models the server shall have. The order does not count.
    type: list
    elements: dict
    required: true
    suboptions:{indent(_below("models", _FIELDS), "  ")}{indent(_OF_ENTRIES, "      ")}
"""
