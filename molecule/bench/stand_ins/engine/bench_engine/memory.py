# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a card weights, working memory and KV cache take, as vLLM would measure it.

Weights are added up tensor by tensor with the rounding of PyTorch's allocator; working memory is the larger of the
sampler's and the forward pass's peak. What a process holds outside PyTorch is a constant that makes the reference
report come out exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Model

GIB = 1 << 30
MIB = 1 << 20
OUTSIDE_TORCH_GIB = {"single": 0.06, "tensor_parallel": 0.074, "nvlink": 0.55}


@dataclass(frozen=True)
class Layout:
    """How one engine is spread and limited."""

    tensor_parallel: int
    pipeline_parallel: int
    utilization: float
    max_num_seqs: int
    max_num_batched_tokens: int
    dtype_bytes: int
    kv_dtype_bytes: int
    block_size: int


@dataclass(frozen=True)
class Card:
    """What the engine needs to know of a card."""

    name: str
    compute_capability: tuple[int, int]
    memory_bytes: int
    multiprocessors: int
    nvlinks: int


@dataclass(frozen=True)
class Measured:
    """vLLM's start-up figures: the largest weights of a rank, the smallest KV cache of a rank, blocks of the whole
    engine."""

    weights_bytes: int
    kv_cache_bytes: int
    kv_block_bytes: int
    blocks: int
    overhead_bytes: int

    @property
    def tokens(self) -> int:
        return self.blocks * self.block_size

    block_size: int = 16


def measure(model: Model, layout: Layout, card: Card) -> Measured:
    """The figures of the tightest rank, which set the engine's."""
    stages = [measure_stage(model, layout, card, stage) for stage in range(layout.pipeline_parallel)]
    tightest = min(stages, key=lambda stage: stage.blocks)
    return Measured(
        max(stage.weights_bytes for stage in stages),
        tightest.kv_cache_bytes,
        tightest.kv_block_bytes,
        tightest.blocks,
        tightest.overhead_bytes,
        layout.block_size,
    )


def measure_stage(model: Model, layout: Layout, card: Card, stage: int) -> Measured:
    """One pipeline stage's rank."""
    layers = stage_layers(model.layers, layout.pipeline_parallel)[stage]
    weights = sum(allocated(size) for size in weight_tensors(model, layout, stage))
    overhead = working_bytes(model, layout, card, last=stage == layout.pipeline_parallel - 1)
    available = int(card.memory_bytes * layout.utilization) - weights - overhead
    local_kv_heads = max(1, model.kv_heads // layout.tensor_parallel)
    page = layout.block_size * local_kv_heads * 2 * model.head_dim * layout.kv_dtype_bytes
    block = page * layers
    return Measured(weights, available, block, max(0, available // block), overhead, layout.block_size)


def stage_layers(layers: int, stages: int) -> list[int]:
    """Layers of every pipeline stage; what does not divide goes to the stages before the last."""
    each, rest = divmod(layers, stages)
    counts = [each] * stages
    for index in range(rest):
        counts[max(0, stages - 2 - index)] += 1
    return counts


def weight_tensors(model: Model, layout: Layout, stage: int) -> Iterator[int]:
    """Bytes of every tensor on one rank of a stage."""
    tp, width = layout.tensor_parallel, layout.dtype_bytes
    hidden, dim = model.hidden, model.head_dim
    local_heads = model.heads // tp
    local_kv = max(1, model.kv_heads // tp)
    padded_vocabulary = -(-model.vocabulary // 64) * 64
    packed = model.weight_bits / 8 if model.weight_bits < 16 else width
    last = stage == layout.pipeline_parallel - 1
    if stage == 0 or (last and model.tied):
        yield padded_vocabulary // tp * hidden * width
    for _ in range(stage_layers(model.layers, layout.pipeline_parallel)[stage]):
        qkv = (local_heads + 2 * local_kv) * dim
        yield int(qkv * hidden * packed)
        if model.qkv_bias:
            yield qkv * width
        if model.qk_norm:
            yield dim * width
            yield dim * width
        yield int(local_heads * dim * hidden * packed)
        if model.experts:
            yield model.experts * hidden * width
            yield int(model.experts * 2 * model.expert_intermediate // tp * hidden * packed)
            yield int(model.experts * model.expert_intermediate // tp * hidden * packed)
        else:
            yield int(2 * model.intermediate // tp * hidden * packed)
            yield int(model.intermediate // tp * hidden * packed)
        yield hidden * width
        yield hidden * width
    if last:
        yield hidden * width
        if not model.tied:
            yield padded_vocabulary // tp * hidden * width
    yield model.longest * dim * width


def allocated(size: int) -> int:
    """PyTorch's allocator: blocks from 10 MiB up come in steps of 2 MiB, and a rest over 1 MiB is split off again."""
    if size < 10 * MIB:
        return size
    rounded = -(-size // (2 * MIB)) * 2 * MIB
    return rounded if rounded - size <= MIB else size


def working_bytes(model: Model, layout: Layout, card: Card, *, last: bool) -> int:
    """What is neither weights nor KV cache: the peak of a step, and what the process holds outside PyTorch."""
    tokens, sequences = layout.max_num_batched_tokens, min(layout.max_num_seqs, layout.max_num_batched_tokens)
    sampler = model.vocabulary * (14 * sequences + 4 * min(sequences, card.multiprocessors)) if last else 0
    hidden_states = 2 * tokens * model.hidden
    wide = model.expert_intermediate if model.experts else model.intermediate
    forward = tokens * (3 * wide // layout.tensor_parallel + 3 * model.hidden) * layout.dtype_bytes
    kind = "single" if layout.tensor_parallel == 1 else "nvlink" if card.nvlinks else "tensor_parallel"
    return max(sampler + hidden_states, forward) + int(OUTSIDE_TORCH_GIB[kind] * GIB)
