# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What will not run. ``rules.py`` says how the tables work together."""

from __future__ import annotations

from collections.abc import Callable

from .hardware import AMPERE, TURING, capability_text, is_volta
from .intent import NONE, YARN
from .parallelism import tensor_sizes
from .rule import Refusal, When
from .situation import NOT_FLOAT16, Situation
from .versions import ALL, Versions


def _is_set(variable: str) -> When:
    return lambda s: variable in s.intent.env


def _scheme_too_new(s: Situation) -> bool:
    return s.scheme is not None and s.capability < s.scheme.since


def _scheme_text(s: Situation) -> str:
    if s.scheme is None:
        raise AssertionError("the rule holds for quantised models only")
    return (
        f"{s.scheme.name} needs compute capability {capability_text(s.scheme.since)}, "
        f"{s.cards_text} has {capability_text(s.capability)}"
    )


def _quantised_remedy(s: Situation) -> str:
    if s.capability < TURING:
        return "take a GPTQ-Int8 or bitsandbytes variant, the float16 checkpoint, or cards of capability 7.5 and up"
    return "take an AWQ or GPTQ variant, the unquantised checkpoint, or newer cards"


def _attention_minimum(s: Situation) -> bool:
    backend = s.text("--attention-backend").upper() or s.environment("VLLM_ATTENTION_BACKEND").upper()
    return backend in ATTENTION_BACKENDS and s.capability < ATTENTION_BACKENDS[backend]


# Lowest capability of attention backends (vllm/v1/attention/backends, supports_compute_capability).
ATTENTION_BACKENDS = {
    "FLASH_ATTN": AMPERE,
    "FLASH_ATTN_VLLM_V1": AMPERE,
    "FLASHINFER": TURING,
    "FLASHINFER_VLLM_V1": TURING,
    "FLASHMLA": (9, 0),
    "FLASH_ATTN_MLA": (9, 0),
    "CUTLASS_MLA": (10, 0),
    "FLASHINFER_MLA": (10, 0),
}

# What the attention kernel asked for at head dimension 512 (vllm-project/vllm#36802).
_LARGE_HEAD_KIB = 80

_GPUSTACK_OWN_FLAGS = (
    "--api-key", "--headless", "--host", "--master-addr", "--master-port", "--model", "--nnodes", "--node-rank",
    "--port", "--served-model-name", "--uds",
)  # fmt: skip
_OTHER_SIZES = (
    "--data-parallel-address", "--data-parallel-external-lb", "--data-parallel-hybrid-lb", "--data-parallel-rank",
    "--data-parallel-size-local", "--data-parallel-start-rank", "--prefill-context-parallel-size",
)  # fmt: skip
_PER_HOST_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "VLLM_HOST_IP", "VLLM_PORT")


def _batch_too_small(s: Situation) -> bool:
    batch = s.declared("--max-num-batched-tokens")
    if batch is None:
        return False
    whole = s.context if s.declared("--enable-chunked-prefill") is False else 0
    return int(batch) < max(whole, int(s.declared("--max-num-seqs") or 0))


def _first_declared(*flags: str) -> Callable[[Situation], str]:
    return lambda s: next((flag for flag in flags if flag in s.parameters), "")


def _first_set(*variables: str) -> Callable[[Situation], str]:
    return lambda s: next((variable for variable in variables if variable in s.intent.env), "")


def _branch(driver: str) -> str:
    return driver.split(".", 1)[0]


def _old_cuda(s: Situation) -> bool:
    if s.custom_image or not s.cuda_version:
        return False
    return tuple(int(part) for part in s.cuda_version.split(".")[:2]) < _oldest_image_cuda(s)


# Lowest CUDA of GPUStack's runner images per vLLM (gpustack/runner, runner.py.json of 0.1.25.post7, up to 0.17.1).
_IMAGE_CUDA = ((Versions(since=(0, 16)), (12, 8)), (Versions(since=(0, 10, 2)), (12, 6)), (ALL, (12, 4)))


def _oldest_image_cuda(s: Situation) -> tuple[int, int]:
    return next(cuda for versions, cuda in _IMAGE_CUDA if s.version in versions)


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        id="volta-no-pipeline-parallel",
        when=lambda s: s.pipeline > 1 and s.has_volta,
        why="an engine with pipeline parallelism over Volta cards starts, answers and dies some chats later, when the "
        "channel between its stages fails",
        source="vllm-project/vllm#28976, gpustack/gpustack#4675, docs/planner.md",
        liftable=False,
        of_choice=True,
        subject=_first_declared("--pipeline-parallel-size"),
        remedy=lambda s: (
            f"drop it and use --tensor-parallel-size={tensor_sizes(s.shape, s.world // s.data)[-1]} with "
            "--pipeline-parallel-size=1"
        ),
    ),
    Refusal(
        id="bfloat16-needs-ampere",
        when=lambda s: s.before_ampere and "bfloat16" in (s.text("--dtype"), s.text("--kv-cache-dtype")),
        why=lambda s: f"bfloat16 needs compute capability 8.0, {s.cards_text} has {capability_text(s.capability)}",
        source="vllm/platforms/cuda.py, check_if_supports_dtype",
        subject=lambda s: "--dtype" if s.text("--dtype") == "bfloat16" else "--kv-cache-dtype",
        remedy="drop it: the planner writes what runs",
    ),
    Refusal(
        id="float16-overflows",
        when=lambda s: s.text("--dtype") in ("float16", "half") and s.shape.model_type in NOT_FLOAT16,
        why=lambda s: f"activations of {s.shape.model_type} overflow float16, and vLLM refuses it",
        source="vllm/config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS",
        versions=Versions(since=(0, 9)),
        subject="--dtype",
        remedy="write --dtype=float32, or --dtype=bfloat16 on capability 8.0 and up",
    ),
    Refusal(
        id="fp8-kv-cache-needs-ada",
        when=lambda s: (
            s.text("--kv-cache-dtype").startswith("fp8")
            and not s.generation.fp8_kv_cache
            and not (s.generation.bfloat16 and s.text("--attention-backend") == "flashinfer")
        ),
        why=lambda s: (
            "the Triton kernel casts an FP8 cache to e4m3, which needs compute capability 8.9; "
            f"{s.cards_text} has {capability_text(s.capability)}"
        ),
        source="vllm-project/vllm#35720, vllm-project/vllm#26431",
        subject="--kv-cache-dtype",
        remedy="write --kv-cache-dtype=auto or drop it",
    ),
    Refusal(
        id="attention-backend-needs-capability",
        when=_attention_minimum,
        why=lambda s: (
            f"this attention backend does not run on {s.cards_text} (capability {capability_text(s.capability)})"
        ),
        source="vllm/platforms/cuda.py, vllm-project/vllm#13398",
        subject=lambda s: _first_declared("--attention-backend")(s) or "VLLM_ATTENTION_BACKEND",
        remedy=lambda s: "drop it: vLLM takes TRITON_ATTN by itself" if s.capability < TURING else "drop it",
    ),
    Refusal(
        id="attention-backend-variable-is-gone",
        when=_is_set("VLLM_ATTENTION_BACKEND"),
        why="this vLLM no longer reads the variable VLLM_ATTENTION_BACKEND",
        source="vllm/engine/arg_utils.py, --attention-backend",
        versions=Versions(since=(0, 16)),
        subject="VLLM_ATTENTION_BACKEND",
        remedy="declare --attention-backend in backend_parameters",
    ),
    Refusal(
        id="flashinfer-sampler-needs-turing",
        when=lambda s: s.capability < TURING and s.environment("VLLM_USE_FLASHINFER_SAMPLER") == "1",
        why="FlashInfer's sampler raises on compute capability below 7.5",
        source="vllm/v1/sample/ops/topk_topp_sampler.py",
        subject="VLLM_USE_FLASHINFER_SAMPLER",
        remedy="drop the variable",
    ),
    Refusal(
        id="batch-smaller-than-its-parts",
        when=_batch_too_small,
        why=lambda s: (
            f"a batch of {s.declared('--max-num-batched-tokens')} tokens is smaller than the requests it has to hold"
        ),
        source="vllm/config/scheduler.py, verify_max_model_len",
        subject="--max-num-batched-tokens",
        remedy="raise it to --max-num-seqs, and to the context when chunked prefill is off",
    ),
    Refusal(
        id="gpustack-sets-it",
        when=lambda s: bool(_first_declared(*_GPUSTACK_OWN_FLAGS)(s)),
        why="GPUStack sets this itself or refuses the model",
        source="gpustack/routes/models.py, gpustack/worker/backends/vllm.py",
        subject=_first_declared(*_GPUSTACK_OWN_FLAGS),
        remedy="drop it; the served name is the model's name",
    ),
    Refusal(
        id="no-config-file",
        when=lambda s: "--config" in s.parameters,
        why="a config file hides flags from the planner and from GPUStack's scheduler",
        source="vllm/utils/argparse_utils.py, gpustack/utils/command.py",
        subject="--config",
        remedy="declare its flags in backend_parameters",
    ),
    Refusal(
        id="per-host-variable-in-model",
        when=lambda s: bool(_first_set(*_PER_HOST_VARIABLES)(s)),
        why="it differs between hosts, and a model's variables reach all of them; GPUStack sets it per worker",
        source="NVIDIA/nccl#286, gpustack/worker/backends/vllm.py",
        subject=_first_set(*_PER_HOST_VARIABLES),
        remedy="drop it and pin the worker's address and interface (--worker-ip, --worker-ifname)",
    ),
    Refusal(
        id="sizes-not-planned",
        when=lambda s: bool(_first_declared(*_OTHER_SIZES)(s)),
        why="it spreads the engine over GPUs in a way that neither the planner nor GPUStack's scheduler counts",
        source="vllm/config/parallel.py, gpustack/policies/candidate_selectors/vllm_resource_fit_selector.py",
        subject=_first_declared(*_OTHER_SIZES),
        remedy="use --tensor-parallel-size, --pipeline-parallel-size and --data-parallel-size",
    ),
    Refusal(
        id="hosts-are-joined-by-ray",
        when=lambda s: s.distributed and s.text("--distributed-executor-backend") not in ("", "ray"),
        why=lambda s: f"the replica spans {s.layout.hosts} hosts, and GPUStack joins them with Ray only",
        source="gpustack/worker/backends/vllm.py",
        subject="--distributed-executor-backend",
        remedy="drop it",
    ),
    Refusal(
        id="tools-are-declared",
        when=lambda s: s.intent.tools and s.declared("--enable-auto-tool-choice") is False,
        why="the model declares tools: true",
        source="vLLM docs/features/tool_calling.md",
        subject="--enable-auto-tool-choice",
        remedy="drop the flag or tools",
    ),
    Refusal(
        id="quantisation-needs-capability",
        when=_scheme_too_new,
        why=_scheme_text,
        source="vllm/model_executor/layers/quantization, get_min_capability; vllm-project/vllm#1488",
        subject=_first_declared("--quantization"),
        remedy=_quantised_remedy,
    ),
    Refusal(
        id="latent-attention-needs-ampere",
        when=lambda s: s.shape.latent is not None and s.before_ampere and s.environment("VLLM_MLA_DISABLE") != "1",
        why="multi-head latent attention prefills with FlashAttention, which needs compute capability 8.0",
        source="vllm-project/vllm#14016, vllm-project/vllm#8189",
        remedy="take another model or cards of capability 8.0 and up",
    ),
    Refusal(
        id="dual-chunk-attention-needs-ampere",
        when=lambda s: s.shape.dual_chunk and s.before_ampere,
        why="dual-chunk attention exists for FlashAttention only, which needs compute capability 8.0",
        source="vllm/v1/attention/backends",
        remedy="take the model's variant without the 1M context",
    ),
    Refusal(
        id="shared-memory-too-small",
        when=lambda s: s.shape.head_dim > 256 and s.generation.shared_memory_kib < _LARGE_HEAD_KIB,
        why=lambda s: (
            f"a head dimension of {s.shape.head_dim} needs {_LARGE_HEAD_KIB} KiB of shared memory, {s.cards_text} has "
            f"{s.generation.shared_memory_kib}"
        ),
        source="vllm-project/vllm#36802, vllm-project/vllm#57712",
        remedy="take a model with smaller heads or other cards",
    ),
    Refusal(
        id="volta-last-vllm",
        when=lambda s: is_volta(s.capability) and not s.custom_image,
        why="published vLLM binaries from 0.20 on hold no code for compute capability 7.0",
        source="vllm-project/vllm#39878",
        versions=Versions(since=(0, 20)),
        remedy="declare vllm_version 0.17.1 up to 0.19.x, or a -custom backend_version built for 7.0",
    ),
    Refusal(
        id="driver-older-than-images",
        when=_old_cuda,
        why=lambda s: (
            f"the driver supports CUDA {s.cuda_version}, GPUStack's images of vLLM {s.intent.vllm_version} need "
            f"{capability_text(_oldest_image_cuda(s))}"
        ),
        source="gpustack/gpustack#5107, gpustack/gpustack#5886",
        versions=Versions(before=(0, 18)),
        remedy="update the driver, or declare a -custom backend_version whose image fits it",
    ),
    Refusal(
        id="driver-branches-differ",
        when=lambda s: s.distributed and len({_branch(driver) for driver in s.drivers.values()}) > 1,
        why=lambda s: f"the hosts of one engine run drivers of different branches ({s.drivers_text})",
        source="NVIDIA/nccl#1257",
        remedy="bring the hosts to one driver branch",
    ),
    Refusal(
        id="mixed-cards-without-peer-access",
        when=lambda s: s.layout.mixed and s.tensor > 1 and s.layout.peers_blocked,
        why="tensor parallelism over unlike cards that cannot reach each other's memory fails",
        source="vllm-project/vllm#15255",
        subject=_first_declared("--tensor-parallel-size"),
        remedy="use one card, or alike cards",
    ),
    Refusal(
        id="context-beyond-model",
        when=lambda s: s.beyond_native and s.extension == NONE,
        why=lambda s: f"the context of {s.context} is beyond the model's own {s.native_context}",
        source="vllm/config/model.py, _get_and_verify_max_len",
        remedy=lambda s: (
            f"declare context {s.native_context} or less"
            + (
                ", or context_extension: yarn"
                if s.yarn_factor
                else ", or context_extension: unscaled at the risk of bad output"
            )
        ),
    ),
    Refusal(
        id="yarn-reaches-not-far-enough",
        when=lambda s: s.beyond_native and s.extension == YARN and not 0 < s.yarn_factor_needed <= s.yarn_factor,
        why=lambda s: (
            f"YaRN with the documented factor {s.yarn_factor:g} reaches {int(s.native_context * s.yarn_factor)}, "
            f"not {s.context}"
            if s.yarn_factor
            else "YaRN is not documented for this model"
        ),
        source="model card of the family, vllm/config/model.py",
        remedy=lambda s: f"declare context {int(s.native_context * max(1.0, s.yarn_factor))} or less",
    ),
    Refusal(
        id="tool-parser-unknown",
        when=lambda s: s.intent.tools and not s.tool_parser and "--tool-call-parser" not in s.parameters,
        why="no tool-call parser is known to read this model reliably",
        source="vLLM docs/features/tool_calling.md",
        remedy="drop tools, or declare --tool-call-parser in backend_parameters",
    ),
    Refusal(
        id="reasoning-parser-unknown",
        when=lambda s: s.intent.reasoning and not s.reasoning_parser and "--reasoning-parser" not in s.parameters,
        why="no reasoning parser is known for this model",
        source="vLLM docs/features/reasoning_outputs.md",
        remedy="drop reasoning, or declare --reasoning-parser in backend_parameters",
    ),
)
