# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""config.json → the numbers that count, for the shapes that real files have."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.architecture import architecture
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.quantization import quantization
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.shapes import SHAPES, known_config

DENSE: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}


def test_kv_heads_head_size_and_mlp_have_the_usual_defaults() -> None:
    shape = architecture(DENSE)
    assert (shape.kv_heads, shape.head_dim, shape.intermediate_size) == (16, 64, 4096)


def test_a_multimodal_config_is_read_inside() -> None:
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "hidden_act": "silu"}
    shape = architecture({"model_type": "qwen2_5_vl", "text_config": DENSE, "vision_config": vision})
    assert (shape.layers, shape.multimodal) == (4, True)
    assert shape.vision_parameters == 32 * (4 * 1280 * 1280 + 3 * 1280 * 3420)


@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        ({}, 4096),
        ({"rope_type": "llama3", "factor": 8.0}, 4096),
        ({"type": "linear", "factor": 2.0}, 8192),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}, 16384),
        ({"rope_type": "default"}, 4096),
    ],
    ids=lambda value: str(value),
)
def test_context_follows_the_rope_scaling(rope: dict[str, Any], expected: int) -> None:
    assert architecture({**DENSE, "rope_scaling": rope}).context == expected


def test_an_unused_sliding_window_is_ignored() -> None:
    config = {**DENSE, "model_type": "qwen2", "sliding_window": 131072, "use_sliding_window": False}
    assert architecture(config).sliding_layers == 0


def test_layer_types_tell_how_many_layers_slide() -> None:
    types = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
    shape = architecture({**DENSE, "sliding_window": 512, "layer_types": types})
    assert (shape.sliding_window, shape.sliding_layers) == (512, 3)


def test_layers_that_keep_a_state_are_told() -> None:
    assert architecture({**DENSE, "model_type": "jamba"}).hybrid is True
    assert architecture(DENSE).hybrid is False


@pytest.mark.parametrize("lacking", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"])
def test_a_config_that_lacks_a_key_is_an_error_that_names_it(lacking: str) -> None:
    config = {key: value for key, value in DENSE.items() if key != lacking}
    with pytest.raises(PlanError, match=f"config lacks {lacking}"):
        architecture(config)


def test_a_config_value_of_the_wrong_type_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"config.num_hidden_layers is 'many', wanted a number"):
        architecture({**DENSE, "num_hidden_layers": "many"})


@pytest.mark.parametrize(
    ("config", "scheme", "bits", "group"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq", 4, 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "gptq", 8, 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "gptq", 4, 0),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8, 0),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes", 4, 0),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes", 8, 0),
        ({"quant_method": "mxfp4"}, "mxfp4", 4, 0),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt_fp4", 4, 16),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt", 8, 0),
        (
            {"quant_method": "compressed-tensors", "config_groups": {
                "g": {"weights": {"num_bits": 8, "type": "float"}, "input_activations": {"num_bits": 8}}}},
            "compressed-tensors w8a8-fp8", 8, 0,
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {
                "g": {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8}}}},
            "compressed-tensors w8a8-int8", 8, 0,
        ),
        ({"quant_method": "compressed-tensors", "format": "pack-quantized"}, "compressed-tensors wNa16", 4, 0),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "compressed-tensors nvfp4", 8, 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_quantisation_is_read_down_to_its_scheme(config: dict[str, Any], scheme: str, bits: int, group: int) -> None:
    read = quantization(config)
    assert (read.scheme, read.bits, read.group_size) == (scheme, bits, group)
    assert read.minimum is not None


def test_an_unknown_quantisation_has_no_minimum() -> None:
    assert quantization({"quant_method": "tomorrow"}).minimum is None


@pytest.mark.parametrize(
    ("source", "layers", "context"),
    [
        ("Qwen/Qwen2.5-14B-Instruct", 48, 32768),
        ("/var/lib/models/Qwen2.5-14B-Instruct/", 48, 32768),
        ("qwen2.5-14b", 48, 32768),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", 48, 262144),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", 32, 131072),
        ("Qwen/Qwen2.5-Coder-7B-Instruct-AWQ", 28, 32768),
    ],
)
def test_well_known_models_are_found_by_name(source: str, layers: int, context: int) -> None:
    config = known_config(source)
    assert config is not None
    assert (config["num_hidden_layers"], config["max_position_embeddings"]) == (layers, context)


@pytest.mark.parametrize("source", ["Qwen/Qwen2.5-14B-Instruct-1M", "org/Qwen2.5-14B-Instruct-mine", "unheard-of"])
def test_a_name_that_only_resembles_a_known_one_is_unknown(source: str) -> None:
    assert known_config(source) is None


def test_every_built_in_shape_reads_and_divides() -> None:
    for row in SHAPES:
        shape = architecture(row.config())
        assert shape.attention_heads % shape.kv_heads == 0, row.pattern
        assert shape.context >= 32768, row.pattern
