# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs, and what the user must know about it. ``rules.py`` says how the tables work together."""

from __future__ import annotations

from .hardware import is_volta
from .intent import UNSCALED, YARN
from .rule import Caution
from .versions import Versions

CAUTIONS: tuple[Caution, ...] = (
    Caution(
        id="context-unscaled",
        when=lambda s: s.beyond_native and s.extension == UNSCALED,
        why=lambda s: (
            f"beyond {s.native_context} tokens, the model's own range, the output may degrade or become nan: "
            f"{s.context} is allowed without scaling"
            + ("; context_extension: yarn is made for it" if s.yarn_factor else "")
        ),
        source="vllm/config/model.py, _get_and_verify_max_len",
    ),
    Caution(
        id="yarn",
        when=lambda s: s.beyond_native and s.extension == YARN,
        why="vLLM's YaRN is static: short requests lose a little quality as well",
        source="model card of the family",
    ),
    Caution(
        id="volta-stock-image",
        when=lambda s: is_volta(s.capability) and not s.custom_image,
        why="GPUStack's own images of vLLM hold no code for Volta: use a -custom backend_version whose image has sm_70",
        source="gpustack/runner pack/cuda/Dockerfile, gpustack/gpustack#2664",
    ),
    Caution(
        id="tensor-parallel-across-hosts",
        when=lambda s: s.distributed and s.tensor > s.layout.per_host,
        why=lambda s: (
            f"every token crosses the network {2 * s.shape.layers} times: slower than the same model inside a host"
        ),
        source="vLLM docs/serving/parallelism_scaling.md",
    ),
    Caution(
        id="ray-not-in-image",
        when=lambda s: s.distributed,
        why="vLLM no longer depends on Ray from 0.18 on: the image must bring it",
        source="gpustack/gpustack#5182, gpustack/gpustack#5430",
        versions=Versions(since=(0, 18)),
    ),
    Caution(
        id="mixed-cards",
        when=lambda s: s.layout.mixed,
        why=lambda s: f"the weakest of {s.cards_text} decides dtype, kernels and memory of all",
        source="vllm-project/vllm#2317, vllm-project/vllm#10204",
    ),
    Caution(
        id="float32-before-ampere",
        when=lambda s: s.wants_float32 and "--dtype" not in s.parameters,
        why="float32 takes twice the memory of float16",
        source="vllm/config/model.py",
    ),
    Caution(
        id="volta-gptq-int4",
        when=lambda s: (
            is_volta(s.capability)
            and s.quantization is not None
            and s.quantization.method == "gptq"
            and s.quantization.bits == 4
        ),
        why="4-bit GPTQ was seen to print only exclamation marks on V100; 8-bit is fine",
        source="vllm-project/vllm#9618",
    ),
    Caution(
        id="float16-may-overflow",
        when=lambda s: s.before_ampere and s.quantization is not None and s.shape.model_type == "qwen2",
        why="quantised Qwen2.5 may overflow in float16: look at the first answers",
        source="vllm-project/vllm#14126",
    ),
    Caution(
        id="volta-experts-slow",
        when=lambda s: is_volta(s.capability) and s.shape.experts is not None,
        why="expert layers decode several times slower on Volta with vLLM's default tile sizes",
        source="vllm/model_executor/layers/fused_moe",
    ),
    Caution(
        id="large-heads-before-ampere",
        when=lambda s: s.before_ampere and s.shape.head_dim >= 256,
        why=lambda s: f"a head dimension of {s.shape.head_dim} may need more shared memory than these cards have",
        source="vllm-project/vllm#36802",
    ),
    Caution(
        id="volta-untested-layers",
        when=lambda s: is_volta(s.capability) and s.shape.hybrid,
        why="layers that are no plain attention are untested on Volta",
        source="vllm/model_executor/layers/mamba",
    ),
    Caution(
        id="volta-engine-0-11",
        when=lambda s: is_volta(s.capability),
        why="vLLM 0.11.0 was seen to die on V100 right after compiling: take 0.17.1",
        source="vllm-project/vllm#27729",
        versions=Versions(since=(0, 11), before=(0, 12)),
    ),
    Caution(
        id="first-engine-not-modelled",
        when=lambda s: s.before_ampere,
        why="below capability 8.0 this vLLM runs its first engine, whose memory is not modelled: mind the figures",
        source="vllm-project/vllm#13398, vllm-project/vllm#23614",
        versions=Versions(before=(0, 10, 2)),
    ),
    Caution(
        id="triton-wrong-answers-0-21",
        when=lambda s: s.before_ampere and s.tensor > 1,
        why="wrong answers with Triton attention and tensor parallelism were reported for 0.21: compare before use",
        source="vllm-project/vllm#43962",
        versions=Versions(since=(0, 21), before=(0, 22)),
    ),
    Caution(
        id="memory-not-predicted",
        when=lambda s: s.shape.hybrid,
        why=lambda s: f"the KV cache of {s.shape.model_type} follows other formulas: its tokens are not predicted",
        source="vllm/v1/core/kv_cache_utils.py",
    ),
    Caution(
        id="vision-tower-estimated",
        when=lambda s: s.shape.multimodal,
        why="memory of the image or audio encoder is estimated from its depth and width",
        source="vllm/v1/worker/gpu_model_runner.py, profile_run",
    ),
    Caution(
        id="unknown-quantisation",
        when=lambda s: s.quantization is not None and s.scheme is None,
        why=lambda s: (
            f"the quantisation {s.quantization.scheme if s.quantization else ''} is unknown: cards are not checked"
        ),
        source="vllm/model_executor/layers/quantization",
    ),
    Caution(
        id="extra-memory-not-predicted",
        when=lambda s: any(flag in s.parameters for flag in ("--enable-lora", "--speculative-config")),
        why="LoRA adapters and draft models take memory that is not predicted",
        source="vllm/v1/worker/gpu_model_runner.py",
    ),
    Caution(
        id="chat-template-needed",
        when=lambda s: (
            s.intent.tools and bool(s.family and s.family.template) and "--chat-template" not in s.parameters
        ),
        why=lambda s: (
            "tool calls of this family need the chat template "
            f"{s.family.template if s.family else ''} of vLLM's examples: declare --chat-template with its path"
        ),
        source="vLLM docs/features/tool_calling.md",
    ),
    Caution(
        id="drivers-differ",
        when=lambda s: s.distributed and len(set(s.drivers.values())) > 1,
        why=lambda s: f"the hosts of one engine run different drivers ({s.drivers_text})",
        source="vllm-project/vllm#4114",
    ),
    Caution(
        id="driver-545-hangs",
        when=lambda s: s.tensor > 1 and any(driver.startswith("545.29.02") for driver in s.drivers.values()),
        why="driver 545.29.02 was seen to hang with tensor parallelism",
        source="vllm-project/vllm#1801",
    ),
    Caution(
        id="volta-eager-needs-kernels",
        when=lambda s: is_volta(s.capability) and s.declared("--enforce-eager") is True and not s.custom_image,
        why="--enforce-eager takes vLLM's own kernels, which GPUStack's images lack for Volta",
        source="vllm/config/vllm.py, gpustack/runner pack/cuda/Dockerfile",
    ),
)
