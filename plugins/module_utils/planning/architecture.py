# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``config.json`` → the numbers that count: heads, layers, experts, context.

Key names are those of Hugging Face's ``config.json``; what vLLM derives from them is in
``vllm/transformers_utils/model_arch_config_convertor.py`` and ``vllm/config/model.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import PlanError
from .quantization import Quantization, quantization


@dataclass(frozen=True)
class Experts:
    """Mixture of experts; ``dense_layers`` layers at the start have an ordinary MLP instead."""

    count: int
    per_token: int
    intermediate_size: int
    shared_intermediate_size: int
    dense_layers: int


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek): one compressed KV entry per token instead of KV heads."""

    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True)
class Architecture:
    """The shape of one model; sizes in elements, ``context`` in tokens."""

    name: str
    model_type: str
    classes: tuple[str, ...]
    layers: int
    hidden_size: int
    intermediate_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied_embeddings: bool
    context: int
    position_limit: int
    rope_type: str
    rope_theta: float
    dtype: str
    attention_bias: bool
    output_bias: bool
    query_key_norm: bool
    gated_mlp: bool
    experts: Experts | None
    latent: LatentAttention | None
    sliding_window: int
    sliding_layers: int
    vision_parameters: int
    multimodal: bool
    hybrid: bool
    dual_chunk: bool
    quantization: Quantization | None

    @property
    def supports_pipeline(self) -> bool:
        """Whether vLLM can split it into pipeline stages (its class implements SupportsPP)."""
        return not any(name.startswith(WITHOUT_PIPELINE) for name in self.classes)


# Classes of vLLM 0.17.1's registry without SupportsPP (vllm/model_executor/models).
WITHOUT_PIPELINE: tuple[str, ...] = (
    "Aria", "Bert", "Gemma3TextModel", "Gemma3n", "Idefics3", "IQuestLoopCoder", "Mamba2", "MiniMaxM1",
    "MiniMaxText01", "ModernBert", "NemotronH_Nano_VL", "Ouro", "Phi4MM", "Roberta", "SmolVLM", "Whisper", "XLMRoberta",
    "Zamba2",
)  # fmt: skip

# Layers that keep a state instead of keys and values: their memory follows other formulas.
HYBRID_TYPES = frozenset({
    "bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "kimi_linear", "lfm2", "lfm2_moe", "mamba",
    "mamba2", "minimax", "minimax_m1", "minimax_text_01", "nemotron_h", "olmo_hybrid", "plamo2", "qwen3_5",
    "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "zamba2",
})  # fmt: skip
# Attention with several KV shapes in one model: page sizes differ per layer.
UNEVEN_KV_TYPES = frozenset({"gemma3n", "gemma3n_text", "gemma4", "gemma4_text"})
_QUERY_KEY_NORM_TYPES = frozenset({"qwen3", "qwen3_moe", "gemma3", "gemma3_text", "olmo2", "olmo3", "qwen3_vl_text"})
_QKV_BIAS_TYPES = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl_text"})
_SIZES_OF_CONTEXT = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length",
    "max_seq_length", "seq_len",
)  # fmt: skip
_UNSCALED_ROPE = frozenset(("", "default", "llama3", "longrope", "su", "mrope"))


_LARGEST = 10**9  # no size of a model comes near it


def _integer(config: Mapping[str, Any], *keys: str) -> int:
    for key in keys:
        value = config.get(key)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST:
                raise PlanError(f"config.{key} is {value!r}, wanted a number: give the model's own config.json")
            return int(value)
    return 0


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model inside a multi-modal ``config.json``, with the outer keys as fallback."""
    for key in ("text_config", "llm_config", "language_config", "thinker_config"):
        inner = config.get(key)
        if isinstance(inner, Mapping):
            inner = _text_config(inner)
            outer = {k: v for k, v in config.items() if not isinstance(v, Mapping) or k == "quantization_config"}
            return {**outer, **inner}
    return config


def _vision_parameters(vision: Mapping[str, Any]) -> int:
    """A transformer of the given depth and width: attention, MLP of two or three matrices, patch embedding."""
    depth = _integer(vision, "depth", "num_hidden_layers")
    width = _integer(vision, "embed_dim", "hidden_size")
    inner = _integer(vision, "intermediate_size") or 4 * width
    matrices = 3 if "silu" in str(vision.get("hidden_act", "")) else 2
    return depth * (4 * width * width + matrices * width * inner)


def _context(config: Mapping[str, Any], rope: Mapping[str, Any], rope_type: str) -> int:
    """The longest sequence that vLLM derives (vllm/config/model.py, _get_and_verify_max_len)."""
    sizes = [_integer(config, key) for key in _SIZES_OF_CONTEXT if config.get(key)]
    if not sizes:
        return 0
    factor = float(rope.get("factor") or 1.0)
    if rope_type == "yarn":
        return int((_integer(rope, "original_max_position_embeddings") or min(sizes)) * factor)
    return min(sizes) if rope_type in _UNSCALED_ROPE else int(min(sizes) * factor)


def _sliding(config: Mapping[str, Any], layers: int, model_type: str) -> tuple[int, int]:
    """Window in tokens and how many layers use it."""
    window = _integer(config, "sliding_window")
    if not window or config.get("use_sliding_window") is False:
        return 0, 0
    types = config.get("layer_types")
    if isinstance(types, (list, tuple)):
        return window, sum(1 for kind in types if "sliding" in str(kind))
    if model_type in ("gemma2", "gpt_oss"):
        return window, layers // 2
    pattern = _integer(config, "sliding_window_pattern") or (6 if model_type.startswith("gemma3") else 0)
    if pattern:
        return window, layers - layers // pattern
    return (window, layers) if model_type in ("mistral", "starcoder2", "phi3") else (0, 0)


def _experts(config: Mapping[str, Any], layers: int, intermediate: int) -> Experts | None:
    count = _integer(config, "num_experts", "num_local_experts", "n_routed_experts")
    if count < 2:
        return None
    size = _integer(config, "moe_intermediate_size") or intermediate
    shared = _integer(config, "shared_expert_intermediate_size") or _integer(config, "n_shared_experts") * size
    dense = _integer(config, "first_k_dense_replace")
    return Experts(
        count, _integer(config, "num_experts_per_tok", "experts_per_token"), size, shared, min(dense, layers)
    )


def _latent(config: Mapping[str, Any]) -> LatentAttention | None:
    if not config.get("kv_lora_rank"):
        return None
    return LatentAttention(
        query_rank=_integer(config, "q_lora_rank"),
        kv_rank=_integer(config, "kv_lora_rank"),
        nope_dim=_integer(config, "qk_nope_head_dim"),
        rope_dim=_integer(config, "qk_rope_head_dim"),
        value_dim=_integer(config, "v_head_dim"),
    )


def architecture(config: Mapping[str, Any], name: str = "") -> Architecture:
    """Read a ``config.json``. Raises PlanError that names the keys it lacks."""
    text = _text_config(config)
    model_type = str(text.get("model_type") or config.get("model_type") or "")
    layers = _integer(text, "num_hidden_layers", "n_layer", "num_layers")
    hidden = _integer(text, "hidden_size", "n_embd", "d_model")
    heads = _integer(text, "num_attention_heads", "n_head")
    vocabulary = _integer(text, "vocab_size")
    missing: list[str] = [
        key
        for key, value in (
            ("num_hidden_layers", layers), ("hidden_size", hidden), ("num_attention_heads", heads),
            ("vocab_size", vocabulary),
        )
        if not value
    ]  # fmt: skip
    if missing:
        raise PlanError(f"config lacks {', '.join(missing)}: give the whole config.json of the model")
    head_dim = _integer(text, "head_dim") or hidden // heads
    if not head_dim:
        raise PlanError(
            f"config.hidden_size is {hidden}, less than its {heads} heads: give the model's own config.json"
        )
    intermediate = _integer(text, "intermediate_size", "n_inner", "ffn_dim") or 4 * hidden
    rope = text.get("rope_parameters") or text.get("rope_scaling") or {}
    rope = rope if isinstance(rope, Mapping) else {}
    rope_type = str(rope.get("rope_type") or rope.get("type") or "")
    window, sliding_layers = _sliding(text, layers, model_type)
    vision = config.get("vision_config")
    vision = vision if isinstance(vision, Mapping) else {}
    quantized = text.get("quantization_config") or config.get("quantization_config")
    return Architecture(
        name=name,
        model_type=model_type,
        classes=tuple(str(entry) for entry in config.get("architectures") or ()),
        layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        attention_heads=heads,
        kv_heads=_integer(text, "num_key_value_heads", "n_head_kv", "num_kv_heads") or heads,
        head_dim=head_dim,
        vocabulary=vocabulary,
        tied_embeddings=bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))),
        context=_context(text, rope, rope_type),
        position_limit=_integer(text, "max_position_embeddings"),
        rope_type="" if rope_type == "default" else rope_type,
        rope_theta=float(rope.get("rope_theta") or text.get("rope_theta") or 10000.0),
        dtype=str(text.get("torch_dtype") or text.get("dtype") or config.get("torch_dtype") or "bfloat16"),
        attention_bias=model_type in _QKV_BIAS_TYPES or bool(text.get("attention_bias")),
        output_bias=model_type not in _QKV_BIAS_TYPES and bool(text.get("attention_bias")),
        query_key_norm=model_type in _QUERY_KEY_NORM_TYPES,
        gated_mlp=model_type not in ("opt", "gpt2", "gpt_bigcode", "starcoder2", "falcon", "bloom", "phi"),
        experts=_experts(text, layers, intermediate),
        latent=_latent(text),
        sliding_window=window,
        sliding_layers=sliding_layers,
        vision_parameters=_vision_parameters(vision) if vision else 0,
        multimodal=bool(vision) or any(key in config for key in ("audio_config", "thinker_config", "vision_tower")),
        hybrid=model_type in HYBRID_TYPES or model_type in UNEVEN_KV_TYPES,
        dual_chunk=bool(text.get("dual_chunk_attention_config")),
        quantization=quantization(quantized) if isinstance(quantized, Mapping) and quantized else None,
    )
