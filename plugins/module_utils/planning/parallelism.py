# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sizes of parallelism an architecture allows: what must divide what, as data.

vLLM splits heads, the MLP and the vocabulary over the tensor-parallel ranks, and layers over pipeline stages. A size
that does not divide is refused at start, or, with quantised groups, when the weights are loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Callable

from .architecture import Architecture
from .memory import Split


@dataclass(frozen=True)
class Constraint:
    """One condition: ``broken`` returns what is wrong with a split, or the empty string."""

    id: str
    broken: Callable[[Architecture, Split], str]
    source: str


def _heads(shape: Architecture, split: Split) -> str:
    if shape.attention_heads % split.tensor:
        return f"{shape.attention_heads} attention heads do not divide by {split.tensor}"
    return ""


def _kv_heads(shape: Architecture, split: Split) -> str:
    if shape.latent or shape.kv_heads % split.tensor == 0 or split.tensor % shape.kv_heads == 0:
        return ""
    return f"{shape.kv_heads} KV heads neither divide by {split.tensor} nor divide it"


def _vocabulary(shape: Architecture, split: Split) -> str:
    padded = -(-shape.vocabulary // 64) * 64
    return f"the vocabulary of {padded} does not divide by {split.tensor}" if padded % split.tensor else ""


def _intermediate(shape: Architecture, split: Split) -> str:
    if shape.experts and not shape.experts.dense_layers:
        return ""
    if shape.intermediate_size % split.tensor:
        return f"the intermediate size {shape.intermediate_size} does not divide by {split.tensor}"
    return ""


def _expert_intermediate(shape: Architecture, split: Split) -> str:
    if shape.experts is None or split.expert_parallel:
        return ""
    if shape.experts.intermediate_size % split.tensor:
        return f"the experts' intermediate size {shape.experts.intermediate_size} does not divide by {split.tensor}"
    return ""


def _expert_count(shape: Architecture, split: Split) -> str:
    if shape.experts is None or not split.expert_parallel:
        return ""
    ranks = split.tensor * split.data
    return f"{shape.experts.count} experts do not divide by {ranks} ranks" if shape.experts.count % ranks else ""


def _groups(shape: Architecture, split: Split) -> str:
    """Inputs of the down projection per rank must hold whole quantisation groups or blocks."""
    quantized = shape.quantization
    if quantized is None or split.tensor == 1:
        return ""
    group = quantized.group_size or quantized.block[1]
    if not group:
        return ""
    sizes = []
    if shape.experts is None or shape.experts.dense_layers:
        sizes.append(shape.intermediate_size)
    if shape.experts and not split.expert_parallel:
        sizes.append(shape.experts.intermediate_size)
    for size in sizes:
        if size % (group * split.tensor):
            return f"the intermediate size {size} in groups of {group} does not divide by {split.tensor}"
    return ""


def _pipeline(shape: Architecture, split: Split) -> str:
    if split.pipeline == 1:
        return ""
    if not shape.supports_pipeline:
        return f"{', '.join(shape.classes)} cannot be split into pipeline stages"
    return f"{shape.layers} layers are fewer than {split.pipeline} stages" if shape.layers < split.pipeline else ""


CONSTRAINTS: tuple[Constraint, ...] = (
    Constraint("attention-heads-divide", _heads, "vllm/config/model.py, verify_with_parallel_config"),
    Constraint("kv-heads-divide", _kv_heads, "vllm/model_executor/layers/linear.py, QKVParallelLinear"),
    Constraint("vocabulary-divides", _vocabulary, "vllm/model_executor/layers/vocab_parallel_embedding.py"),
    Constraint("intermediate-size-divides", _intermediate, "vllm/distributed/utils.py, divide"),
    Constraint("expert-size-divides", _expert_intermediate, "vllm/model_executor/layers/fused_moe/layer.py"),
    Constraint("experts-divide", _expert_count, "vllm/model_executor/layers/fused_moe/layer.py, determine_expert_map"),
    Constraint("quantisation-groups-divide", _groups, "vllm-project/vllm#21695, vllm-project/vllm#1816"),
    Constraint("pipeline-stages", _pipeline, "vllm/config/model.py, verify_with_parallel_config"),
)


@lru_cache(maxsize=8192)
def broken(shape: Architecture, split: Split) -> tuple[Constraint, str]:
    """The first condition that a split breaks, and how; an empty text when it breaks none."""
    for constraint in CONSTRAINTS:
        text = constraint.broken(shape, split)
        if text:
            return constraint, text
    return CONSTRAINTS[0], ""


def tensor_sizes(shape: Architecture, limit: int, expert_parallel: bool = False) -> tuple[int, ...]:
    """The tensor-parallel sizes up to ``limit`` that an architecture allows."""
    return tuple(
        size
        for size in range(1, limit + 1)
        if not broken(shape, Split(tensor=size, expert_parallel=expert_parallel and size > 1))[1]
    )
