# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own memory model against what vLLM printed in public logs."""

from __future__ import annotations

import pytest
from bench_engine.memory import GIB, Card, Layout, measure, stage_layers
from bench_engine.model import from_config

V100 = Card("Tesla V100-PCIE-32GB", (7, 0), int(31.74 * GIB), 80, 0)
QWEN_14B = {
    "model_type": "qwen2",
    "num_hidden_layers": 48,
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}
QWEN_32B = {**QWEN_14B, "num_hidden_layers": 64, "intermediate_size": 27648}


def layout(tensor_parallel=1, pipeline_parallel=1, **changes):
    values = {
        "tensor_parallel": tensor_parallel,
        "pipeline_parallel": pipeline_parallel,
        "utilization": 0.9,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 2048,
        "dtype_bytes": 2,
        "kv_dtype_bytes": 2,
        "block_size": 16,
    }
    return Layout(**{**values, **changes})


def test_the_reference_report_comes_out_to_the_last_digit():
    measured = measure(from_config(QWEN_14B), layout(4), V100)

    assert f"{measured.weights_bytes / GIB:.2f}" == "6.95"
    assert f"{measured.kv_cache_bytes / GIB:.2f}" == "20.97"
    assert measured.tokens == 458_160
    assert f"{measured.tokens / 32_768:.2f}" == "13.98"
    assert f"{measured.tokens / 65_536:.2f}" == "6.99"


@pytest.mark.parametrize(
    ("config", "tensor_parallel", "logged_gib"),
    [
        (QWEN_14B, 1, 27.63),
        (QWEN_14B, 2, 13.9476),
        (QWEN_32B, 1, 61.04),
        (
            {
                "model_type": "llama",
                "num_hidden_layers": 32,
                "hidden_size": 4096,
                "intermediate_size": 14336,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "vocab_size": 128256,
                "max_position_embeddings": 131072,
            },
            1,
            14.9889,
        ),
        (
            {
                "model_type": "qwen3_moe",
                "num_hidden_layers": 48,
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "moe_intermediate_size": 768,
                "num_experts": 128,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "vocab_size": 151936,
                "max_position_embeddings": 40960,
            },
            4,
            14.2474,
        ),
    ],
)
def test_weights_are_within_half_a_percent_of_the_logs(config, tensor_parallel, logged_gib):
    measured = measure(from_config(config), layout(tensor_parallel), V100)

    assert measured.weights_bytes / GIB == pytest.approx(logged_gib, rel=0.005)


def test_the_tightest_pipeline_stage_sets_the_cache():
    measured = measure(from_config(QWEN_32B), layout(2, 2), V100)

    assert measured.weights_bytes / GIB == pytest.approx(15.36, abs=0.01)
    assert measured.tokens == pytest.approx(205_800, rel=0.01)


def test_a_cache_of_one_byte_per_value_holds_twice_the_tokens():
    full = measure(from_config(QWEN_14B), layout(4), V100)
    half = measure(from_config(QWEN_14B), layout(4, kv_dtype_bytes=1), V100)

    assert half.tokens == pytest.approx(2 * full.tokens, rel=0.001)


def test_a_model_that_is_too_large_has_no_cache():
    measured = measure(from_config(QWEN_32B), layout(1), V100)

    assert measured.weights_bytes > V100.memory_bytes
    assert measured.blocks == 0


@pytest.mark.parametrize(
    ("layers", "stages", "expected"), [(48, 2, [24, 24]), (61, 2, [31, 30]), (62, 4, [15, 16, 16, 15]), (5, 1, [5])]
)
def test_layers_that_do_not_divide_go_to_the_stages_before_the_last(layers, stages, expected):
    assert stage_layers(layers, stages) == expected


@pytest.mark.parametrize(
    ("rope", "longest"),
    [
        ({}, 32768),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768}}, 65536),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 32768),
    ],
)
def test_yarn_stretches_the_longest_sequence(rope, longest):
    assert from_config({**QWEN_14B, **rope}).longest == longest
