# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shapes of well-known models, for a model that is declared without its ``config.json``.

Looked up by repository or directory name. The values are those of the published ``config.json`` files; a declared
``config`` always counts more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """A dense or expert decoder. ``heads``: attention, KV, dimension of one; ``experts``: count, per token, width."""

    pattern: str
    model_type: str
    layers: int
    heads: tuple[int, int, int]
    hidden_size: int
    intermediate_size: int
    vocabulary: int
    context: int
    tied: bool = False
    experts: tuple[int, int, int] | None = None
    rope_theta: float = 1000000.0

    def config(self) -> dict[str, Any]:
        """The keys of ``config.json`` that a plan reads."""
        attention, key_value, dimension = self.heads
        config: dict[str, Any] = {
            "model_type": self.model_type,
            "architectures": [_CLASSES[self.model_type]],
            "num_hidden_layers": self.layers,
            "num_attention_heads": attention,
            "num_key_value_heads": key_value,
            "head_dim": dimension,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "vocab_size": self.vocabulary,
            "max_position_embeddings": self.context,
            "tie_word_embeddings": self.tied,
            "rope_theta": self.rope_theta,
            "torch_dtype": "bfloat16",
        }
        if self.experts:
            keys = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
            config.update(zip(keys, self.experts))
        return config


_CLASSES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}

_QWEN25 = r"Qwen2\.5-(Coder-|Math-)?"
_SUFFIX = r"(-Base|-Chat|-Instruct|-Instruct-2507|-Thinking-2507)?"

SHAPES: tuple[Shape, ...] = (
    Shape(r"DeepSeek-R1-Distill-Qwen-7B", "qwen2", 28, (28, 4, 128), 3584, 18944, 152064, 131072, rope_theta=10000.0),
    Shape(r"DeepSeek-R1-Distill-Qwen-14B", "qwen2", 48, (40, 8, 128), 5120, 13824, 152064, 131072),
    Shape(r"DeepSeek-R1-Distill-Qwen-32B", "qwen2", 64, (40, 8, 128), 5120, 27648, 152064, 131072),
    Shape(r"(DeepSeek-R1-Distill-Llama-8B|Hermes-3-Llama-3\.1-8B)", "llama", 32, (32, 8, 128), 4096, 14336, 128256,
          131072, rope_theta=500000.0),
    Shape(r"DeepSeek-R1-Distill-Llama-70B", "llama", 80, (64, 8, 128), 8192, 28672, 128256, 131072,
          rope_theta=500000.0),
    Shape(r"QwQ-32B", "qwen2", 64, (40, 8, 128), 5120, 27648, 152064, 40960),
    Shape(r"Qwen2-7B" + _SUFFIX, "qwen2", 28, (28, 4, 128), 3584, 18944, 152064, 32768),
    Shape(_QWEN25 + r"0\.5B" + _SUFFIX, "qwen2", 24, (14, 2, 64), 896, 4864, 151936, 32768, tied=True),
    Shape(_QWEN25 + r"1\.5B" + _SUFFIX, "qwen2", 28, (12, 2, 128), 1536, 8960, 151936, 32768, tied=True),
    Shape(_QWEN25 + r"3B" + _SUFFIX, "qwen2", 36, (16, 2, 128), 2048, 11008, 151936, 32768, tied=True),
    Shape(_QWEN25 + r"7B" + _SUFFIX, "qwen2", 28, (28, 4, 128), 3584, 18944, 152064, 32768),
    Shape(_QWEN25 + r"14B" + _SUFFIX, "qwen2", 48, (40, 8, 128), 5120, 13824, 152064, 32768),
    Shape(_QWEN25 + r"32B" + _SUFFIX, "qwen2", 64, (40, 8, 128), 5120, 27648, 152064, 32768),
    Shape(_QWEN25 + r"72B" + _SUFFIX, "qwen2", 80, (64, 8, 128), 8192, 29568, 152064, 32768),
    Shape(r"Qwen3-4B-(Instruct|Thinking)-2507", "qwen3", 36, (32, 8, 128), 2560, 9728, 151936, 262144, tied=True,
          rope_theta=5000000.0),
    Shape(r"Qwen3-30B-A3B-(Instruct|Thinking)-2507", "qwen3_moe", 48, (32, 4, 128), 2048, 6144, 151936, 262144,
          experts=(128, 8, 768), rope_theta=10000000.0),
    Shape(r"Qwen3-235B-A22B-(Instruct|Thinking)-2507", "qwen3_moe", 94, (64, 4, 128), 4096, 12288, 151936, 262144,
          experts=(128, 8, 1536), rope_theta=5000000.0),
    Shape(r"Qwen3-0\.6B(-Base)?", "qwen3", 28, (16, 8, 128), 1024, 3072, 151936, 40960, tied=True),
    Shape(r"Qwen3-1\.7B(-Base)?", "qwen3", 28, (16, 8, 128), 2048, 6144, 151936, 40960, tied=True),
    Shape(r"Qwen3-4B(-Base)?", "qwen3", 36, (32, 8, 128), 2560, 9728, 151936, 40960, tied=True),
    Shape(r"Qwen3-8B(-Base)?", "qwen3", 36, (32, 8, 128), 4096, 12288, 151936, 40960),
    Shape(r"Qwen3-14B(-Base)?", "qwen3", 40, (40, 8, 128), 5120, 17408, 151936, 40960),
    Shape(r"Qwen3-32B", "qwen3", 64, (64, 8, 128), 5120, 25600, 151936, 40960),
    Shape(r"Qwen3-30B-A3B(-Base)?", "qwen3_moe", 48, (32, 4, 128), 2048, 6144, 151936, 40960, experts=(128, 8, 768)),
    Shape(r"Qwen3-235B-A22B", "qwen3_moe", 94, (64, 4, 128), 4096, 12288, 151936, 40960, experts=(128, 8, 1536)),
    Shape(r"(Meta-)?Llama-3\.1-8B" + _SUFFIX, "llama", 32, (32, 8, 128), 4096, 14336, 128256, 131072,
          rope_theta=500000.0),
    Shape(r"(Meta-)?Llama-3\.[13]-70B" + _SUFFIX, "llama", 80, (64, 8, 128), 8192, 28672, 128256, 131072,
          rope_theta=500000.0),
    Shape(r"Llama-3\.2-1B" + _SUFFIX, "llama", 16, (32, 8, 64), 2048, 8192, 128256, 131072, tied=True,
          rope_theta=500000.0),
    Shape(r"Llama-3\.2-3B" + _SUFFIX, "llama", 28, (24, 8, 128), 3072, 8192, 128256, 131072, tied=True,
          rope_theta=500000.0),
    Shape(r"Mistral-7B(-Instruct)?-v0\.3", "mistral", 32, (32, 8, 128), 4096, 14336, 32768, 32768),
    Shape(r"Mistral-Small-24B(-Instruct-2501|-Base-2501)?", "mistral", 40, (32, 8, 128), 5120, 32768, 131072, 32768,
          rope_theta=100000000.0),
)  # fmt: skip

# Suffixes of quantised repositories whose quantization_config can be told from the name alone.
_QUANTIZED: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (r"-AWQ", {"quant_method": "awq", "bits": 4, "group_size": 128}),
    (r"-GPTQ-Int4", {"quant_method": "gptq", "bits": 4, "group_size": 128}),
    (r"-GPTQ-Int8", {"quant_method": "gptq", "bits": 8, "group_size": 128}),
    (r"-FP8", {"quant_method": "fp8", "weight_block_size": [128, 128]}),
)


def model_name(source: str) -> str:
    """``Qwen2.5-14B-Instruct`` of ``Qwen/Qwen2.5-14B-Instruct`` or ``/var/lib/models/Qwen2.5-14B-Instruct/``."""
    return source.rstrip("/").rsplit("/", 1)[-1]


def known_config(source: str) -> Mapping[str, Any] | None:
    """The built-in ``config.json`` of a repository or directory name, None for an unknown one."""
    name = model_name(source)
    extra: dict[str, Any] = {}
    for suffix, quantization in _QUANTIZED:
        shortened = re.sub(suffix + "$", "", name, flags=re.IGNORECASE)
        if shortened != name:
            name, extra = shortened, {"quantization_config": dict(quantization)}
            break
    for shape in SHAPES:
        if re.fullmatch(shape.pattern, name, re.IGNORECASE):
            config = {**shape.config(), **extra}
            if extra and "72B" in name and shape.intermediate_size == 29568 and "block" not in str(extra):
                # The published AWQ and GPTQ checkpoints are padded so that groups of 128 split over 8 ranks.
                config["intermediate_size"] = 29696
            return config
    return None
