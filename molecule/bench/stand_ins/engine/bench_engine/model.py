# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model's shape, from its config.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Model:
    """The numbers of config.json that memory and limits depend on. ``config`` is the whole file with overrides
    applied."""

    config: dict[str, Any]
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    qkv_bias: bool
    qk_norm: bool
    experts: int
    expert_intermediate: int
    weight_bits: int
    dtype: str
    longest: int

    @property
    def architecture(self) -> str:
        return str((self.config.get("architectures") or ["unknown"])[0])


def load(directory: Path, overrides: dict[str, Any] | None = None) -> Model:
    """Reads ``config.json`` and applies --hf-overrides."""
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return from_config({**config, **(overrides or {})})


def from_config(config: dict[str, Any]) -> Model:
    """Interprets one config."""
    text = {**config, **config.get("text_config", {})}
    heads = text["num_attention_heads"]
    quantization = text.get("quantization_config") or {}
    return Model(
        config=config,
        layers=text["num_hidden_layers"],
        hidden=text["hidden_size"],
        intermediate=text["intermediate_size"],
        heads=heads,
        kv_heads=text.get("num_key_value_heads") or heads,
        head_dim=text.get("head_dim") or text["hidden_size"] // heads,
        vocabulary=text["vocab_size"],
        tied=bool(text.get("tie_word_embeddings")),
        qkv_bias=bool(text.get("attention_bias", text.get("model_type") == "qwen2")),
        qk_norm=str(text.get("model_type", "")).startswith("qwen3"),
        experts=text.get("num_experts") or text.get("num_local_experts") or 0,
        expert_intermediate=text.get("moe_intermediate_size") or text["intermediate_size"],
        weight_bits=_weight_bits(quantization),
        dtype=text.get("torch_dtype") or text.get("dtype") or "float16",
        longest=_longest(text),
    )


def _weight_bits(quantization: dict[str, Any]) -> int:
    if quantization.get("quant_method") == "fp8":
        return 8
    return int(quantization.get("bits", 16))


def _longest(config: dict[str, Any]) -> int:
    """The longest sequence the model is made for, stretched by YaRN where the config says so."""
    longest = int(config["max_position_embeddings"])
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "yarn":
        return int(rope.get("original_max_position_embeddings", longest) * rope["factor"])
    if kind in ("linear", "dynamic"):
        return int(longest * rope["factor"])
    return longest
