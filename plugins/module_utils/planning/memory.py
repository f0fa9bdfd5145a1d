# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Weights, KV cache and overhead per GPU, predicted as vLLM will print them at start-up.

    requested = CUDA memory x gpu_memory_utilization                     vllm/v1/worker/utils.py
    available = requested - weights - activation peak - other            vllm/v1/worker/gpu_worker.py
    page      = block x KV heads per rank x (key + value) x bytes        vllm/v1/kv_cache_interface.py
    blocks    = available // page // layers, smallest rank decides       vllm/v1/core/kv_cache_utils.py
    tokens    = blocks x block size                 ("GPU KV cache size")
    concurrency = blocks / blocks of one request    ("Maximum concurrency")

Byte counts are integers, GiB are floats. Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from .architecture import Architecture
from .hardware import HOPPER, Capability
from .quantization import Quantization
from .versions import FLASHINFER_SAMPLER, SORT_SAMPLER

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True)
class Split:
    """How one replica is spread over its ranks; ``expert_parallel`` spreads experts instead of slicing them."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert_parallel: bool = False

    @property
    def world(self) -> int:
        """GPUs of one replica."""
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True)
class Engine:
    """What of vLLM's settings changes memory: ``dtype_bytes`` of weights and activations, ``kv_bytes`` of the cache,
    ``offloaded_bytes`` of weights that stay in the host's memory."""

    sampler: str
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    block_size: int = 16
    dtype_bytes: int = 2
    kv_bytes: int = 2
    cuda_graphs_bytes: int = 0
    offloaded_bytes: int = 0
    custom_all_reduce: bool = False


@dataclass(frozen=True)
class Prediction:
    """One layout's memory, per GPU for the weakest rank; tokens and concurrency for one engine.

    ``kv_tokens`` is None for a model whose cache follows formulas that are not modelled.
    """

    weights_bytes: int
    overhead_bytes: int
    kv_bytes: int
    kv_tokens: int | None
    kv_blocks: int


# ---------------------------------------------------------------------------------------------------- weights


def allocated(size: int) -> int:
    """What PyTorch's caching allocator takes for one tensor of this many bytes.

    Blocks of 10 MiB and more are rounded up to 2 MiB, and a remainder of up to 1 MiB is not split off
    (c10/cuda/CUDACachingAllocator.cpp: kMinLargeAlloc, kRoundLarge, should_split).
    """
    if size < 10 * MIB:
        return -(-size // 512) * 512
    rounded = -(-size // (2 * MIB)) * 2 * MIB
    return rounded if rounded - size <= MIB else size


def _linear(rows: int, columns: int, quantized: Quantization | None, dtype_bytes: int) -> list[int]:
    """Tensors of a linear layer of ``rows`` outputs and ``columns`` inputs."""
    elements = rows * columns
    if quantized is None:
        return [elements * dtype_bytes]
    weight = elements * quantized.bits // 8
    if quantized.block != (0, 0):
        scales = -(-rows // quantized.block[0]) * -(-columns // quantized.block[1]) * 4
        return [weight, scales]
    groups = rows * (columns // quantized.group_size if quantized.group_size else 1)
    scales = groups * (4 if quantized.method == "fp8" else 2)
    if quantized.method == "bitsandbytes":
        scales = elements // 64 * 4 if quantized.bits == 4 else rows * 4
    zeros = groups * quantized.bits // 8 if quantized.zero_points else 0
    return [weight, scales, zeros]


def _kv_heads(heads: int, tensor: int) -> int:
    """KV heads of one rank: once there are more ranks than heads, heads are replicated."""
    return max(1, heads // tensor)


def _attention(shape: Architecture, tensor: int, dtype_bytes: int) -> list[int]:
    hidden, quantized = shape.hidden_size, shape.quantization
    if shape.latent:
        latent, heads = shape.latent, shape.attention_heads // tensor
        query_dim = latent.nope_dim + latent.rope_dim
        expand = heads * (latent.nope_dim + latent.value_dim)
        tensors = _linear(expand, latent.kv_rank, quantized, dtype_bytes)
        tensors += _linear(hidden, heads * latent.value_dim, quantized, dtype_bytes)
        # vLLM keeps W_UK and W_UV once more, unquantised, for the absorbed decode path.
        tensors += [expand * latent.kv_rank * dtype_bytes]
        if latent.query_rank:
            tensors += _linear(latent.query_rank + latent.kv_rank + latent.rope_dim, hidden, quantized, dtype_bytes)
            tensors += _linear(heads * query_dim, latent.query_rank, quantized, dtype_bytes)
        else:
            tensors += _linear(latent.kv_rank + latent.rope_dim, hidden, quantized, dtype_bytes)
            tensors += _linear(heads * query_dim, hidden, quantized, dtype_bytes)
        return tensors
    query = shape.attention_heads // tensor * shape.head_dim
    key_value = 2 * _kv_heads(shape.kv_heads, tensor) * shape.head_dim
    tensors = _linear(query + key_value, hidden, quantized, dtype_bytes)
    tensors += _linear(hidden, query, quantized, dtype_bytes)
    if shape.attention_bias:
        tensors.append((query + key_value) * dtype_bytes)
    if shape.output_bias:
        tensors.append(hidden * dtype_bytes)
    if shape.query_key_norm:
        tensors += [shape.head_dim * dtype_bytes] * 2
    return tensors


def _mlp(hidden: int, intermediate: int, gated: bool, quantized: Quantization | None, dtype_bytes: int) -> list[int]:
    up = 2 * intermediate if gated else intermediate
    return _linear(up, hidden, quantized, dtype_bytes) + _linear(hidden, intermediate, quantized, dtype_bytes)


def _experts(shape: Architecture, split: Split, dtype_bytes: int) -> list[int]:
    experts = shape.experts
    if experts is None:
        raise AssertionError("asked for the experts of a dense model")
    if split.expert_parallel:
        count, size = -(-experts.count // (split.tensor * split.data)), experts.intermediate_size
    else:
        count, size = experts.count, experts.intermediate_size // split.tensor
    one = _mlp(shape.hidden_size, size, True, shape.quantization, dtype_bytes)
    tensors = [tensor * count for tensor in one]
    tensors.append(experts.count * shape.hidden_size * dtype_bytes)
    if experts.shared_intermediate_size:
        shared = experts.shared_intermediate_size // split.tensor
        tensors += _mlp(shape.hidden_size, shared, True, shape.quantization, dtype_bytes)
    return tensors


def stage_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each pipeline stage: a remainder goes to the stages before the last, from the back.

    vllm/distributed/utils.py, get_pp_indices.
    """
    split = [layers // stages] * stages
    for extra in range(layers % stages):
        split[-(2 + extra) % stages] += 1
    return tuple(split)


@lru_cache(maxsize=4096)
def weights_bytes(shape: Architecture, split: Split, stage: int, dtype_bytes: int) -> int:
    """Weights of one rank of a pipeline stage, with the allocator's rounding ("Model loading took")."""
    layers = stage_layers(shape.layers, split.pipeline)[stage]
    before = sum(stage_layers(shape.layers, split.pipeline)[:stage])
    attention = _attention(shape, split.tensor, dtype_bytes) + [shape.hidden_size * dtype_bytes] * 2
    dense = _mlp(
        shape.hidden_size, shape.intermediate_size // split.tensor, shape.gated_mlp, shape.quantization, dtype_bytes
    )
    expert_layers = 0
    total = layers * sum(map(allocated, attention))
    if shape.experts:
        expert_layers = layers - min(layers, max(0, shape.experts.dense_layers - before))
        total += expert_layers * sum(map(allocated, _experts(shape, split, dtype_bytes)))
    total += (layers - expert_layers) * sum(map(allocated, dense))
    vocabulary = -(-shape.vocabulary // 64) * 64 // split.tensor
    embedding = allocated(vocabulary * shape.hidden_size * dtype_bytes)
    first, last = stage == 0, stage == split.pipeline - 1
    if first or (last and shape.tied_embeddings):
        total += embedding
    if last and not shape.tied_embeddings:
        total += embedding
    rotary = shape.latent.rope_dim if shape.latent else shape.head_dim
    total += allocated(max(shape.position_limit, shape.context) * rotary * dtype_bytes)
    if first:
        total += allocated(shape.vision_parameters // split.tensor * dtype_bytes)
    return total


# ---------------------------------------------------------------------------------------------------- KV cache


def kv_bytes_per_token_and_layer(shape: Architecture, tensor: int, kv_bytes: int) -> int:
    """Keys and values of one token in one layer on one rank."""
    if shape.latent:
        return (shape.latent.kv_rank + shape.latent.rope_dim) * kv_bytes
    return 2 * _kv_heads(shape.kv_heads, tensor) * shape.head_dim * kv_bytes


@dataclass(frozen=True)
class KvGroups:
    """Layers grouped as vLLM shares blocks among them: ``full`` groups see everything, ``sliding`` only the window."""

    layers_per_group: int
    full: int
    sliding: int

    @property
    def count(self) -> int:
        """Groups altogether; one for a model whose layers are all alike."""
        return self.full + self.sliding


def kv_groups(full_layers: int, sliding_layers: int) -> KvGroups:
    """vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size."""
    if not sliding_layers or not full_layers:
        return KvGroups(full_layers + sliding_layers, 1 if full_layers else 0, 0 if full_layers else 1)
    smallest, largest = sorted((full_layers, sliding_layers))
    size = largest if largest < smallest * 1.25 else smallest
    return KvGroups(size, -(-full_layers // size), -(-sliding_layers // size))


def blocks_of_request(shape: Architecture, engine: Engine, groups: KvGroups, tokens: int) -> int:
    """Blocks that one request of this length holds, over all groups."""
    full = -(-tokens // engine.block_size)
    window = min(shape.sliding_window - 1 + engine.max_num_batched_tokens, tokens)
    return groups.full * full + groups.sliding * (-(-window // engine.block_size) + 1)


# ---------------------------------------------------------------------------------------------------- overhead


@dataclass(frozen=True)
class OtherMemory:
    """Memory outside PyTorch (CUDA context growth, NCCL, custom all-reduce buffers) by situation, in GiB."""

    single: float
    several: float
    custom_all_reduce: float


# Measured as requested - weights - KV cache - activation peak in public logs: A100 and RTX 3090 0.03-0.04, V100 over
# two hosts 0.07, A100 pair without P2P 0.15, A100 over two hosts 0.19, H100 0.13-0.14, H100 pair with NVLink 0.54.
OTHER_MEMORY = OtherMemory(single=0.05, several=0.10, custom_all_reduce=0.55)
OTHER_MEMORY_HOPPER = OtherMemory(single=0.14, several=0.20, custom_all_reduce=0.55)


def sampler_peak_bytes(shape: Architecture, engine: Engine, multiprocessors: int) -> int:
    """Logits and their copies while profiling samples ``max_num_seqs`` requests (last pipeline stage only)."""
    requests = min(engine.max_num_seqs, engine.max_num_batched_tokens)
    hidden_states = 2 * engine.max_num_batched_tokens * shape.hidden_size
    if engine.sampler == SORT_SAMPLER:
        return int(38.3 * requests * shape.vocabulary) + hidden_states
    logits = 14 * requests * shape.vocabulary + hidden_states
    if engine.sampler == FLASHINFER_SAMPLER:
        return logits
    # The Triton kernel keeps one row of float32 per program (vllm/v1/sample/ops/topk_topp_triton.py).
    return logits + 4 * min(requests, multiprocessors) * shape.vocabulary


def forward_peak_bytes(shape: Architecture, engine: Engine, tensor: int) -> int:
    """Activations of the widest layer for one full batch of tokens."""
    if shape.experts:
        widest = shape.experts.per_token * (2 * shape.experts.intermediate_size // tensor + shape.hidden_size)
    else:
        widest = 3 * shape.intermediate_size // tensor
    return engine.max_num_batched_tokens * (widest + 3 * shape.hidden_size) * engine.dtype_bytes


def other_bytes(engine: Engine, split: Split, capability: Capability) -> int:
    """Memory outside PyTorch for one rank."""
    row = OTHER_MEMORY_HOPPER if capability >= HOPPER else OTHER_MEMORY
    if split.world == 1:
        return int(row.single * GIB)
    return int((row.custom_all_reduce if engine.custom_all_reduce else row.several) * GIB)


# ---------------------------------------------------------------------------------------------------- altogether


@lru_cache(maxsize=4096)
def predict(
    shape: Architecture,
    split: Split,
    engine: Engine,
    *,
    cuda_memory_gib: float,
    gpu_memory_utilization: float,
    multiprocessors: int,
    capability: Capability,
) -> Prediction:
    """Memory of the tightest rank when every card has at least this much; never the sum over cards."""
    requested = math.ceil(cuda_memory_gib * GIB * gpu_memory_utilization)
    groups = kv_groups(shape.layers - shape.sliding_layers, shape.sliding_layers)
    page = engine.block_size * kv_bytes_per_token_and_layer(shape, split.tensor, engine.kv_bytes)
    tightest: tuple[int, int, int, int] | None = None
    for stage, layers in enumerate(stage_layers(shape.layers, split.pipeline)):
        last = stage == split.pipeline - 1
        weights = max(0, weights_bytes(shape, split, stage, engine.dtype_bytes) - engine.offloaded_bytes)
        peak = forward_peak_bytes(shape, engine, split.tensor)
        if last:
            peak = max(peak, sampler_peak_bytes(shape, engine, multiprocessors))
        overhead = peak + other_bytes(engine, split, capability) + engine.cuda_graphs_bytes
        available = requested - weights - overhead
        per_group = layers if groups.count == 1 else -(-groups.layers_per_group // split.pipeline)
        blocks = max(0, available) // page // per_group
        if tightest is None or (blocks, available) < tightest[:2]:
            tightest = (blocks, available, weights, overhead)
    if tightest is None:
        raise AssertionError("a replica has at least one GPU")
    blocks, available, weights, overhead = tightest
    tokens = None if shape.hybrid else blocks // groups.count * engine.block_size
    return Prediction(weights, overhead, max(0, available), tokens, blocks)


def concurrency(shape: Architecture, engine: Engine, prediction: Prediction, max_model_len: int) -> float:
    """Requests of the full length that fit at once ("Maximum concurrency")."""
    groups = kv_groups(shape.layers - shape.sliding_layers, shape.sliding_layers)
    return prediction.kv_blocks / blocks_of_request(shape, engine, groups, max_model_len)


def longest_request(shape: Architecture, engine: Engine, blocks: int, at_once: int = 1) -> int:
    """The longest request, in tokens, of which ``at_once`` fit into this many blocks; a multiple of the block size."""
    groups = kv_groups(shape.layers - shape.sliding_layers, shape.sliding_layers)
    low, high = 0, blocks // at_once
    while low < high:
        middle = (low + high + 1) // 2
        if blocks_of_request(shape, engine, groups, middle * engine.block_size) * at_once <= blocks:
            low = middle
        else:
            high = middle - 1
    return low * engine.block_size


def utilization_that_fits(free_gib: tuple[float, ...], total_gib: tuple[float, ...]) -> float:
    """The largest ``gpu_memory_utilization``, in hundredths, that every card has free right now."""
    return math.floor(min(free / total for free, total in zip(free_gib, total_gib)) * 100) / 100
