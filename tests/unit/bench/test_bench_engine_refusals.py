# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine refuses, and that it says so as vLLM does."""

from __future__ import annotations

from argparse import Namespace

import pytest
from bench_engine import refusals
from bench_engine.memory import GIB, Card, Measured
from bench_engine.model import from_config

V100 = Card("Tesla V100-PCIE-32GB", (7, 0), int(31.74 * GIB), 80, 0)
A100 = Card("NVIDIA A100-PCIE-40GB", (8, 0), int(39.39 * GIB), 108, 0)
MODEL = from_config(
    {
        "num_hidden_layers": 4,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "vocab_size": 1000,
        "max_position_embeddings": 32768,
        "torch_dtype": "bfloat16",
    }
)


def refused(check, *arguments):
    with pytest.raises(refusals.Refusal) as caught:
        check(*arguments)
    return str(caught.value)


def test_bfloat16_needs_capability_8():
    text = refused(refusals.choose_dtype, MODEL, "bfloat16", V100)

    assert "Bfloat16 is only supported on GPUs with compute capability of at least 8.0" in text
    assert "Your Tesla V100-PCIE-32GB GPU has compute capability 7.0" in text


def test_auto_falls_back_to_float16_on_volta_and_says_so():
    dtype, warning = refusals.choose_dtype(MODEL, "auto", V100)

    assert dtype == "float16"
    assert "Falling back to torch.float16" in warning
    assert refusals.choose_dtype(MODEL, "auto", A100) == ("bfloat16", "")
    assert refusals.choose_dtype(MODEL, "half", V100) == ("float16", "")


def test_a_length_beyond_the_model_needs_the_variable():
    text = refused(refusals.choose_length, MODEL, 65536, {})

    assert "User-specified max_model_len (65536) is greater than the derived max_model_len" in text
    assert "set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1" in text

    length, warning = refusals.choose_length(MODEL, 65536, {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})
    assert length == 65536
    assert "lead to nan" in warning


def test_no_length_means_the_models_own():
    assert refusals.choose_length(MODEL, None, {}) == (32768, "")


def test_a_length_that_does_not_fit_names_the_one_that_would():
    measured = Measured(10 * GIB, 4 * GIB, 1 << 20, 2176, 0)

    text = refused(refusals.check_cache, measured, 98304)

    assert "max seq len (98304), (6.00 GiB KV cache is needed" in text
    assert "available KV cache memory (4.00 GiB)" in text
    assert "the estimated maximum model length is 34816" in text


def test_a_full_card_leaves_no_cache():
    text = refused(refusals.check_cache, Measured(30 * GIB, -1, 1 << 20, 0, 0), 1024)

    assert "No available memory for the cache blocks" in text


def test_weights_larger_than_the_card_end_in_cudas_error():
    text = refused(refusals.check_weights, Measured(62 * GIB, 0, 1, 0, 0), V100)

    assert "CUDA out of memory" in text
    assert "total capacity of 31.74 GiB" in text


@pytest.mark.parametrize(("method", "minimum"), [("awq", 75), ("mxfp4", 80), ("modelopt", 89)])
def test_quantisation_has_a_smallest_capability(method, minimum):
    text = refused(refusals.check_quantization, method, V100)

    assert f"Minimum capability: {minimum}. Current capability: 70." in text


def test_gptq_runs_on_volta():
    refusals.check_quantization("gptq", V100)


def test_more_ranks_than_local_cards_need_ray():
    text = refused(refusals.check_local_cards, 4, 2)

    assert "World size (4) is larger than the number of available GPUs (2) in this node" in text


def test_tool_calling_needs_a_parser_that_exists():
    refusals.check_tools(Namespace(enable_auto_tool_choice=True, tool_call_parser="hermes"))

    without = Namespace(enable_auto_tool_choice=True, tool_call_parser=None)
    assert "--enable-auto-tool-choice requires --tool-call-parser" in refused(refusals.check_tools, without)
    unknown = Namespace(enable_auto_tool_choice=True, tool_call_parser="hermes2")
    assert "invalid tool call parser: hermes2" in refused(refusals.check_tools, unknown)
