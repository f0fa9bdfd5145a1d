# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flags and variables that are emitted, in this order. ``rules.py`` says how the tables work together."""

from __future__ import annotations

from .hardware import capability_text, is_volta
from .intent import UNSCALED, YARN
from .memory import GIB, MIB, Split, weights_bytes
from .rule import ParameterRule, VariableRule
from .situation import Situation
from .versions import Versions, default_gpu_memory_utilization


def utilization_by_rule(s: Situation) -> float:
    """The share of memory that vLLM may use when the user declares none."""
    smallest = min(card.cuda_memory_gib for card in s.layout.cards)
    return 0.85 if smallest < 17 else 0.9


_VLLM_SCALING = "vLLM docs/serving/parallelism_scaling.md"
_SHARED_MEMORY_GIB = 64.0


def _shared_memory(s: Situation) -> str:
    return f"{s.intent.shared_memory_gib or _SHARED_MEMORY_GIB:g}"


def _yarn(s: Situation) -> str:
    """The override in the form that this vLLM's transformers reads."""
    key = "rope_parameters" if s.version >= (0, 12) else "rope_scaling"
    theta = f', "rope_theta": {s.shape.rope_theta:.1f}' if key == "rope_parameters" else ""
    return (
        f'{{"{key}": {{"rope_type": "yarn", "factor": {s.yarn_factor_needed:.1f}, '
        f'"original_max_position_embeddings": {s.native_context}{theta}}}}}'
    )


PARAMETERS: tuple[ParameterRule, ...] = (
    ParameterRule(
        id="ray-across-hosts",
        when=lambda s: s.distributed,
        parameter="--distributed-executor-backend",
        value="ray",
        why=lambda s: f"the replica spans {s.layout.hosts} hosts, and GPUStack joins them with Ray",
        source="gpustack/worker/backends/vllm.py",
    ),
    ParameterRule(
        id="tensor-parallel-across-hosts",
        when=lambda s: s.distributed and s.tensor > s.layout.per_host,
        parameter="--tensor-parallel-size",
        value=lambda s: s.tensor,
        why=lambda s: (
            f"{s.tensor} cards on {s.layout.hosts} hosts share every layer"
            + (": Volta cards take no pipeline stages" if s.has_volta else "")
        ),
        source=f"{_VLLM_SCALING}, vllm/v1/executor/ray_executor.py",
    ),
    ParameterRule(
        id="tensor-parallel-inside-host",
        when=lambda s: s.tensor > 1,
        parameter="--tensor-parallel-size",
        value=lambda s: s.tensor,
        why=lambda s: (
            f"{s.tensor} cards of one host share every layer; the size divides the model's "
            f"{s.shape.attention_heads} heads and {s.shape.kv_heads} KV heads"
        ),
        source="vllm/config/model.py, verify_with_parallel_config",
    ),
    ParameterRule(
        id="sizes-are-written",
        when=lambda s: True,
        parameter="--tensor-parallel-size",
        value=lambda s: s.tensor,
        why="without sizes GPUStack takes every GPU of a worker, and pipeline stages over workers",
        source="gpustack/worker/backends/base.py, get_auto_parallelism_arguments",
    ),
    ParameterRule(
        id="volta-no-pipeline-parallel",
        when=lambda s: s.has_volta,
        liftable=False,
        parameter="--pipeline-parallel-size",
        value=1,
        why="pipeline parallelism over Volta cards crashes the engine some chats after start; without sizes GPUStack "
        "would choose it",
        source="vllm-project/vllm#28976, gpustack/gpustack#4675, docs/planner.md",
    ),
    ParameterRule(
        id="pipeline-across-hosts",
        when=lambda s: s.pipeline > 1 and s.distributed,
        parameter="--pipeline-parallel-size",
        value=lambda s: s.pipeline,
        why="stages exchange activations once per token, tensor-parallel ranks twice per layer: only the former goes "
        "over the network",
        source=_VLLM_SCALING,
    ),
    ParameterRule(
        id="pipeline-inside-host",
        when=lambda s: s.pipeline > 1,
        parameter="--pipeline-parallel-size",
        value=lambda s: s.pipeline,
        why=lambda s: f"{s.world} cards are needed, and the model's heads do not divide by {s.world}",
        source=f"{_VLLM_SCALING}, edge case",
    ),
    ParameterRule(
        id="sizes-are-written",
        when=lambda s: True,
        parameter="--pipeline-parallel-size",
        value=lambda s: s.pipeline,
        why="without sizes GPUStack takes every GPU of a worker, and pipeline stages over workers",
        source="gpustack/worker/backends/base.py, get_auto_parallelism_arguments",
    ),
    ParameterRule(
        id="data-parallel-experts",
        when=lambda s: s.data > 1,
        parameter="--data-parallel-size",
        value=lambda s: s.data,
        why=lambda s: f"each of {s.data} ranks serves its own requests: tensor parallelism would copy the KV cache",
        source="vLLM docs/serving/expert_parallel_deployment.md",
    ),
    ParameterRule(
        id="expert-parallel",
        when=lambda s: s.layout.split.expert_parallel,
        parameter="--enable-expert-parallel",
        why=lambda s: f"{s.tensor * s.data} ranks hold whole experts",
        source="vllm/model_executor/layers/fused_moe/layer.py",
    ),
    ParameterRule(
        id="context-declared",
        when=lambda s: s.intent.context is not None,
        parameter="--max-model-len",
        value=lambda s: s.context,
        why=lambda s: f"the model declares a context of {s.context}; it is predicted to fit",
        source="vllm/v1/core/kv_cache_utils.py, check_enough_kv_cache_memory",
    ),
    ParameterRule(
        id="context-of-model",
        when=lambda s: s.context >= s.native_context > 0,
        parameter="--max-model-len",
        value=lambda s: s.context,
        why="the model's own context fits; written, because GPUStack limits it to 8192 otherwise",
        source="gpustack/worker/backends/vllm.py, max-model-len",
    ),
    ParameterRule(
        id="context-that-fits",
        when=lambda s: True,
        parameter="--max-model-len",
        value=lambda s: s.context,
        why=lambda s: (
            f"of the model's own {s.native_context} tokens this many fit, {s.intent.concurrency} request(s) at once"
        ),
        source="vllm/v1/core/kv_cache_utils.py, estimate_max_model_len",
    ),
    ParameterRule(
        id="yarn",
        when=lambda s: s.beyond_native and s.extension == YARN,
        parameter="--hf-overrides",
        value=_yarn,
        why=lambda s: f"YaRN stretches the model's {s.native_context} positions to the declared {s.context}",
        source="model card of the family, vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
    ),
    ParameterRule(
        id="gpu-memory-utilization",
        when=lambda s: s.intent.gpu_memory_utilization not in (None, 0.9),
        parameter="--gpu-memory-utilization",
        value=lambda s: float(s.intent.gpu_memory_utilization or 0.9),
        why="declared for the model",
        source="vllm/config/cache.py",
    ),
    ParameterRule(
        id="small-card-keeps-room",
        when=lambda s: s.intent.gpu_memory_utilization is None and utilization_by_rule(s) != 0.9,
        parameter="--gpu-memory-utilization",
        value=utilization_by_rule,
        why="CUDA graphs come on top of the budget, and a tenth of a 16 GB card is too little for them",
        source="vllm/v1/worker/gpu_worker.py, determine_available_memory",
    ),
    ParameterRule(
        id="utilization-is-written",
        when=lambda s: default_gpu_memory_utilization(s.version) != 0.9,
        parameter="--gpu-memory-utilization",
        value=0.9,
        why="GPUStack's scheduler counts with 0.9, this vLLM would take 0.92",
        source="gpustack/policies/candidate_selectors/vllm_resource_fit_selector.py",
    ),
    ParameterRule(
        id="volta-neutral-sampling",
        when=lambda s: is_volta(s.capability),
        parameter="--generation-config",
        value="vllm",
        why="a repetition penalty from the model's generation_config.json calls a kernel that many images lack for "
        "Volta",
        source="vllm/_custom_ops.py, gpustack/runner pack/cuda/Dockerfile",
    ),
    ParameterRule(
        id="tools-by-family",
        when=lambda s: s.intent.tools,
        parameter="--enable-auto-tool-choice",
        why="the model declares tools: true",
        source="vLLM docs/features/tool_calling.md",
    ),
    ParameterRule(
        id="tools-by-family",
        when=lambda s: s.intent.tools and bool(s.tool_parser),
        parameter="--tool-call-parser",
        value=lambda s: s.tool_parser,
        why=lambda s: f"it reads the tool calls of the {s.family.name if s.family else ''} family",
        source="vLLM docs/features/tool_calling.md",
    ),
    ParameterRule(
        id="reasoning-by-family",
        when=lambda s: s.intent.reasoning,
        parameter="--enable-reasoning",
        why="the model declares reasoning: true, and this vLLM has a switch of its own for it",
        source="vLLM docs/features/reasoning_outputs.md",
        versions=Versions(before=(0, 9)),
    ),
    ParameterRule(
        id="reasoning-by-family",
        when=lambda s: s.intent.reasoning and bool(s.reasoning_parser),
        parameter="--reasoning-parser",
        value=lambda s: s.reasoning_parser,
        why=lambda s: f"it separates the reasoning of the {s.family.name if s.family else ''} family",
        source="vLLM docs/features/reasoning_outputs.md",
    ),
    ParameterRule(
        id="float32-before-ampere",
        when=lambda s: s.wants_float32,
        parameter="--dtype",
        value="float32",
        why=lambda s: f"{s.cards_text} has no bfloat16, and {s.shape.model_type} overflows float16",
        source="vllm/config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS",
    ),
    ParameterRule(
        id="float16-before-ampere",
        when=lambda s: s.before_ampere,
        parameter="--dtype",
        value="float16",
        why=lambda s: (
            f"compute capability {capability_text(s.capability)} has no bfloat16; written, so that a wrong dtype "
            "fails at once"
        ),
        source="vllm/platforms/cuda.py, check_if_supports_dtype",
    ),
    ParameterRule(
        id="old-pair-without-custom-all-reduce",
        when=lambda s: s.volta_or_turing and s.tensor > 1 and not s.distributed,
        parameter="--disable-custom-all-reduce",
        why="custom all-reduce hangs or fails on pairs of these cards, with NVLink and without; NCCL costs little",
        source="vllm-project/vllm#51513, 1CatAI/1Cat-vLLM#652",
    ),
    ParameterRule(
        id="volta-image-encoder",
        when=lambda s: is_volta(s.capability) and s.shape.multimodal,
        parameter="--mm-encoder-attn-backend",
        value="TORCH_SDPA",
        why="the Triton attention of the image encoder hangs while profiling on Volta; fixed later",
        source="vllm-project/vllm#36357, vllm-project/vllm#36472",
        versions=Versions(since=(0, 17), before=(0, 18)),
    ),
    ParameterRule(
        id="volta-old-engine",
        when=lambda s: is_volta(s.capability),
        parameter="--no-enable-chunked-prefill",
        why="chunked prefill of the first engine asserts in Triton on Volta",
        source="vllm-project/vllm#6723, vllm-project/vllm#13738",
        versions=Versions(before=(0, 10, 2)),
    ),
    ParameterRule(
        id="volta-old-engine",
        when=lambda s: is_volta(s.capability),
        parameter="--no-enable-prefix-caching",
        why="prefix caching of the first engine asserts in Triton on Volta",
        source="vllm-project/vllm#3944, vllm-project/vllm#13738",
        versions=Versions(before=(0, 10, 2)),
    ),
)


def _weights_bytes(s: Situation) -> int:
    return weights_bytes(s.shape, Split(), 0, 4 if s.wants_float32 else 2)


def _gpustack_refuses(s: Situation) -> bool:
    """GPUStack places a model where 1.2 times its weights and 2 GiB fit into the share of the cards it may use."""
    utilization = s.intent.gpu_memory_utilization or utilization_by_rule(s)
    offered = s.world * min(card.memory_total_mib for card in s.layout.cards) * MIB * utilization
    return _weights_bytes(s) * 1.2 + 2 * GIB > offered


VARIABLES: tuple[VariableRule, ...] = (
    VariableRule(
        id="context-unscaled",
        when=lambda s: s.beyond_native and s.extension == UNSCALED,
        variable="VLLM_ALLOW_LONG_MAX_MODEL_LEN",
        value="1",
        why=lambda s: f"vLLM refuses more than the model's own {s.native_context} tokens without it",
        source="vllm/config/model.py, _get_and_verify_max_len",
    ),
    VariableRule(
        id="engine-shared-memory",
        when=lambda s: s.world > 1 or s.intent.shared_memory_gib is not None,
        variable="GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB",
        value=_shared_memory,
        why="ranks exchange data in /dev/shm, and the engine's container gets 10 GiB whatever the worker's has",
        source="gpustack/worker/backends/base.py, vllm-project/vllm#1710",
    ),
    VariableRule(
        id="gpustack-estimates-too-much",
        when=_gpustack_refuses,
        variable="GPUSTACK_MODEL_VRAM_CLAIM",
        value=lambda s: str(_weights_bytes(s)),
        why="GPUStack's scheduler wants 1.2 times the weights and 2 GiB, which these cards lack and vLLM does not need",
        source="gpustack/policies/utils.py, estimate_model_vram",
    ),
    VariableRule(
        id="no-graph-timeout-without-stages",
        when=lambda s: s.pipeline == 1 and "RAY_CGRAPH_get_timeout" in s.intent.env,
        variable="RAY_CGRAPH_get_timeout",
        value=None,
        why="without pipeline stages no channel waits between hosts",
        source="vllm/v1/executor/ray_executor.py",
    ),
    VariableRule(
        id="graph-timeout-between-stages",
        when=lambda s: s.pipeline > 1 and s.distributed,
        variable="RAY_CGRAPH_get_timeout",
        value="300",
        why="Ray's own 10 s are too short for a first request, and not every vLLM passes its own value to every rank",
        source="vllm-project/vllm#19703",
        versions=Versions(before=(0, 33)),
    ),
    VariableRule(
        id="mixed-host-card-order",
        when=lambda s: s.layout.mixed_host,
        variable="CUDA_DEVICE_ORDER",
        value="PCI_BUS_ID",
        why="CUDA numbers the fastest card first, nvidia-smi by bus: on a host with several models they differ",
        source="vllm-project/vllm#7472",
    ),
    VariableRule(
        id="mixed-cards-peer-access-off",
        when=lambda s: s.layout.mixed and s.layout.peers_blocked and s.tensor > 1,
        variable="NCCL_P2P_DISABLE",
        value="1",
        why="these cards cannot reach each other's memory",
        source="vllm-project/vllm#15255",
    ),
)
