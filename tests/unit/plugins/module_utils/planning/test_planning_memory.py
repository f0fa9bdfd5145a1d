# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory model against figures that vLLM printed in public logs, and its single formulas."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.architecture import Architecture, architecture
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.memory import (
    GIB,
    MIB,
    Engine,
    KvGroups,
    Split,
    allocated,
    concurrency,
    kv_bytes_per_token_and_layer,
    kv_groups,
    longest_request,
    predict,
    stage_layers,
    weights_bytes,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.shapes import known_config


def shape(name: str) -> Architecture:
    config = known_config(name)
    assert config is not None, name
    return architecture(config, name)


@pytest.mark.parametrize(
    ("name", "tensor", "printed_gib"),
    [
        ("Qwen2.5-14B-Instruct", 4, 6.95),
        ("DeepSeek-R1-Distill-Qwen-14B", 2, 13.9476),
        ("Qwen2-7B-Instruct", 1, 14.2488),
        ("Qwen2-7B-Instruct", 2, 7.1217),
        ("Qwen2.5-1.5B", 1, 2.89),
        ("Qwen2.5-0.5B", 1, 0.93),
        ("Qwen2.5-32B-Instruct", 1, 61.04),
        ("Qwen3-0.6B", 1, 1.12),
        ("Qwen3-8B", 1, 15.2683),
        ("Qwen3-14B", 1, 27.52),
        ("Qwen3-32B", 1, 61.03),
        ("Qwen3-32B", 2, 30.59),
        ("Qwen3-30B-A3B", 4, 14.2474),
        ("Llama-3.1-8B", 1, 14.9889),
        ("Qwen2.5-1.5B-Instruct-AWQ", 1, 1.1018),
    ],
)
def test_weights_are_within_0_6_percent_of_the_log(name: str, tensor: int, printed_gib: float) -> None:
    assert weights_bytes(shape(name), Split(tensor), 0, 2) / GIB == pytest.approx(printed_gib, rel=0.006)


@pytest.mark.parametrize(
    ("name", "tensor", "printed_gib", "printed_tokens"),
    [
        ("Qwen2.5-14B-Instruct", 4, 20.97, 458160),
        ("Qwen2.5-14B-Instruct", 1, 141.96, 775280),
        ("Qwen2-7B-Instruct", 1, 5.01, 93872),
        ("Qwen2-7B-Instruct", 2, 31.83, 1192160),
        ("Qwen3-30B-A3B", 4, 23.74, 1037152),
        ("Qwen3-14B", 1, 11.57, 75824),
        ("Llama-3.1-8B", 1, 3.78, 30960),
        ("Qwen2.5-1.5B", 1, 11.4, 427104),
    ],
)
def test_printed_tokens_follow_from_printed_gib(
    name: str, tensor: int, printed_gib: float, printed_tokens: int
) -> None:
    per_token = kv_bytes_per_token_and_layer(shape(name), tensor, 2) * shape(name).layers
    low, high = ((printed_gib + step) * GIB / per_token for step in (-0.0051, 0.0051))
    assert low - 16 <= printed_tokens <= high


def test_sliding_layers_share_blocks_as_vllm_prints_them() -> None:
    """gpt-oss-120b on four A100-80: 45.32 GiB gave 2,640,144 tokens and 284.25x at 16,384."""
    config = {
        "model_type": "gpt_oss", "num_hidden_layers": 36, "hidden_size": 2880, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "sliding_window": 128, "num_local_experts": 128,
        "intermediate_size": 2880, "num_experts_per_tok": 4, "max_position_embeddings": 131072,
    }  # fmt: skip
    model = architecture(config)
    groups = kv_groups(model.layers - model.sliding_layers, model.sliding_layers)
    assert groups == KvGroups(layers_per_group=18, full=1, sliding=1)
    page = 16 * kv_bytes_per_token_and_layer(model, 4, 2)
    blocks = int(45.32 * GIB) // page // 18
    assert blocks // 2 * 16 == pytest.approx(2640144, rel=0.0005)
    prediction = predict(
        model, Split(4), Engine("triton"), cuda_memory_gib=79.15, gpu_memory_utilization=0.8, multiprocessors=108,
        capability=(8, 0),
    )  # fmt: skip
    scaled = concurrency(model, Engine("triton"), prediction, 16384) * blocks / prediction.kv_blocks
    assert scaled == pytest.approx(284.25, rel=0.001)


def test_uneven_groups_of_full_and_sliding_layers() -> None:
    assert kv_groups(10, 52) == KvGroups(10, 1, 6)
    assert kv_groups(48, 0) == KvGroups(48, 1, 0)
    assert kv_groups(0, 32) == KvGroups(32, 0, 1)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (100, 512),
        (9 * MIB, 9 * MIB),
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
        (11 * MIB - 1, 11 * MIB - 1),
        (12 * MIB - 100, 12 * MIB),
    ],
)
def test_allocator_rounds_up_to_two_mib_when_the_rest_is_small(size: int, expected: int) -> None:
    assert allocated(size) == expected


@pytest.mark.parametrize(
    ("layers", "stages", "expected"), [(64, 3, (21, 22, 21)), (48, 2, (24, 24)), (30, 4, (7, 8, 8, 7)), (4, 1, (4,))]
)
def test_layers_are_split_over_stages(layers: int, stages: int, expected: tuple[int, ...]) -> None:
    assert stage_layers(layers, stages) == expected


def test_kv_memory_stops_shrinking_beyond_the_kv_heads() -> None:
    model = shape("Qwen2-7B-Instruct")
    per_token = [kv_bytes_per_token_and_layer(model, tensor, 2) for tensor in (1, 2, 4, 28)]
    assert per_token == [2048, 1024, 512, 512]


def test_latent_attention_keeps_one_compressed_entry() -> None:
    config = {
        "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
        "num_key_value_heads": 128, "vocab_size": 129280, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3, "intermediate_size": 18432,
        "max_position_embeddings": 163840,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }  # fmt: skip
    model = architecture(config)
    assert kv_bytes_per_token_and_layer(model, 8, 2) == kv_bytes_per_token_and_layer(model, 1, 2) == 1152
    assert weights_bytes(model, Split(8), 0, 2) / GIB == pytest.approx(671e9 / 8 / GIB, rel=0.05)


def test_longest_request_fits_as_often_as_asked() -> None:
    model = shape("Qwen2.5-14B-Instruct")
    assert longest_request(model, Engine("triton"), 1000) == 16000
    assert longest_request(model, Engine("triton"), 1000, 3) == 333 * 16
    assert longest_request(model, Engine("triton"), 0) == 0


def test_a_larger_batch_leaves_less_for_the_cache() -> None:
    model = shape("Qwen2.5-7B-Instruct")

    def tokens(**settings: int) -> int:
        prediction = predict(
            model, Split(), Engine("triton", **settings), cuda_memory_gib=31.74, gpu_memory_utilization=0.9,
            multiprocessors=80, capability=(7, 0),
        )  # fmt: skip
        assert prediction.kv_tokens is not None
        return prediction.kv_tokens

    assert tokens(max_num_batched_tokens=8192) < tokens() < tokens(max_num_seqs=32)
