# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM refuses at start-up, in its own words. Every check raises Refusal with the lines that vLLM would end
with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from .log import API_SERVER, ENGINE_CORE
from .memory import GIB, Card, Layout, Measured
from .model import Model

TOOL_PARSERS = """
deepseek_v3 deepseek_v31 deepseek_v32 ernie45 functiongemma gigachat3 glm45 glm47 granite granite-20b-fc hermes
hunyuan_a13b internlm jamba kimi_k2 llama3_json llama4_json llama4_pythonic longcat minimax minimax_m2 mistral olmo3
openai phi4_mini_json pythonic qwen3_coder qwen3_xml seed_oss step3 step3p5 xlam
"""
SMALLEST_CAPABILITY = {
    "awq": 75,
    "awq_marlin": 75,
    "fp8": 75,
    "gptq_marlin": 75,
    "modelopt": 89,
    "mxfp4": 80,
    "torchao": 75,
}
MEMORY_HELP = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
LONG_WARNING = (
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution. If the model uses relative position encoding "
    "(RoPE), positions "
    "exceeding derived_max_model_len lead to nan. If the model uses absolute position encoding, positions exceeding "
    "derived_max_model_len will cause a CUDA array out-of-bounds error."
)


class Refusal(Exception):
    """vLLM does not start with this; ``process`` is the one of its processes that says so."""

    def __init__(self, text: str, process: str = ENGINE_CORE) -> None:
        super().__init__(text)
        self.process = process


def check_tools(options: argparse.Namespace) -> None:
    """Tool calling needs a parser, and one that exists."""
    if options.enable_auto_tool_choice and not options.tool_call_parser:
        raise Refusal("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser", API_SERVER)
    if options.enable_auto_tool_choice and options.tool_call_parser not in TOOL_PARSERS.split():
        known = ",".join(TOOL_PARSERS.split())
        raise Refusal(
            f"KeyError: 'invalid tool call parser: {options.tool_call_parser} (chose from {{ {known} }})'", API_SERVER
        )


def choose_length(model: Model, asked: int | None, environment: Mapping[str, str]) -> tuple[int, str]:
    """(max_model_len, warning); beyond the model's own length only with the variable that allows it."""
    if asked is None or asked == -1:
        return model.longest, ""
    if asked <= model.longest:
        return asked, ""
    message = (
        f"User-specified max_model_len ({asked}) is greater than the derived max_model_len (max_position_embeddings="
        f"{model.longest} or model_max_length=None in model's config.json)."
    )
    if environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") in ("1", "true", "True"):
        return asked, f"{message} {LONG_WARNING}"
    raise Refusal(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        f"  Value error, {message} To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. "
        f"{LONG_WARNING} [type=value_error, input_value=ArgsKwargs((), {{'model': ...}}), input_type=ArgsKwargs]",
        API_SERVER,
    )


def choose_dtype(model: Model, asked: str, card: Card) -> tuple[str, str]:
    """(dtype, warning); bfloat16 needs capability 8.0, and auto falls back to float16 below it."""
    names = {"half": "float16", "float": "float32"}
    wanted = names.get(asked, asked)
    old = card.compute_capability < (8, 0)
    capability = ".".join(map(str, card.compute_capability))
    if wanted == "bfloat16" and old:
        raise Refusal(
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
            f"Your {card.name} GPU has compute capability {capability}. You can use float16 instead by explicitly "
            "setting "
            "the `dtype` flag in CLI, for example: --dtype=half."
        )
    if wanted != "auto":
        return wanted, ""
    if model.dtype == "bfloat16" and old:
        return "float16", (
            f"Your device '{card.name}' (with compute capability {capability}) doesn't support torch.bfloat16. "
            "Falling back to torch.float16 for compatibility."
        )
    return ("float16" if model.dtype == "float32" else model.dtype), ""


def check_quantization(method: str | None, card: Card) -> None:
    """Every quantisation method has a smallest compute capability."""
    needed = SMALLEST_CAPABILITY.get(method or "", 0)
    current = card.compute_capability[0] * 10 + card.compute_capability[1]
    if current < needed:
        raise Refusal(
            f"ValueError: The quantization method {method} is not supported for the current GPU. Minimum capability: "
            f"{needed}. "
            f"Current capability: {current}."
        )


def check_division(model: Model, layout: Layout) -> None:
    """Heads and layers must divide."""
    if model.heads % layout.tensor_parallel:
        raise Refusal(
            f"ValueError: Total number of attention heads ({model.heads}) must be divisible by tensor parallel size "
            f"({layout.tensor_parallel}).",
            API_SERVER,
        )


def check_local_cards(world: int, local: int) -> None:
    """Without Ray every rank needs a card in this node."""
    if local == 0:
        raise Refusal(
            "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG`"
        )
    if world > local:
        raise Refusal(
            f"ValueError: World size ({world}) is larger than the number of available GPUs ({local}) in this node. "
            "If this is "
            "intentional and you are using:\n- ray, set '--distributed-executor-backend ray'.\n- multiprocessing, set "
            "'--nnodes' appropriately."
        )


def check_weights(measured: Measured, card: Card) -> None:
    """Weights that do not fit end in CUDA's own error."""
    if measured.weights_bytes <= card.memory_bytes:
        return
    free_mib = 61.69
    raise Refusal(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of "
        f"{card.memory_bytes / GIB:.2f} GiB of which {free_mib} MiB is free."
    )


def check_cache(measured: Measured, max_model_len: int) -> None:
    """The KV cache must hold at least one request of full length."""
    if measured.kv_cache_bytes <= 0:
        raise Refusal(
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
            "initializing "
            f"the engine. {MEMORY_HELP}"
        )
    needed = -(-max_model_len // measured.block_size) * measured.kv_block_bytes
    if needed <= measured.kv_cache_bytes:
        return
    raise Refusal(
        f"ValueError: To serve at least one request with the models's max seq len ({max_model_len}), "
        f"({needed / GIB:.2f} GiB KV "
        f"cache is needed, which is larger than the available KV cache memory ({measured.kv_cache_bytes / GIB:.2f} "
        "GiB). Based on "
        f"the available memory, the estimated maximum model length is {measured.tokens}. Try increasing "
        "`gpu_memory_utilization` "
        f"or decreasing `max_model_len` when initializing the engine. {MEMORY_HELP}"
    )
