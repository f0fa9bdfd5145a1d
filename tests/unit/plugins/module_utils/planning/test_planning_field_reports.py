# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What went wrong in the field, with the right answer: each test is a public report, named in its docstring.

Where a report advises pipeline parallelism over Volta cards, the rule against it wins, and the test says so.
"""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.architecture import architecture
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.hardware import binary_runs_on
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.memory import (
    GIB,
    Engine,
    Split,
    kv_bytes_per_token_and_layer,
    longest_request,
    utilization_that_fits,
    weights_bytes,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.parallelism import tensor_sizes
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan

Host = Callable[..., dict[str, Any]]
Model = Callable[..., dict[str, Any]]


def config(heads: int, kv_heads: int, layers: int, hidden: int, intermediate: int, vocabulary: int, **more: Any) -> Any:
    """A dense Llama-like config.json."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "vocab_size": vocabulary,
        "max_position_embeddings": 4096,
        "torch_dtype": "float16",
        **more,
    }


LLAMA_33B = config(52, 52, 60, 6656, 17920, 32000)
LLAMA_2_70B = config(64, 8, 80, 8192, 28672, 32000)
LLAMA_13B = config(40, 40, 40, 5120, 13824, 32000)
QWEN15_32B = config(40, 40, 64, 5120, 27392, 152064, max_position_embeddings=32768)


def named(name: str, shape: Any, **keys: Any) -> dict[str, Any]:
    return {"name": name, "config": shape, **keys}


def rules(result: dict[str, Any], key: str) -> set[str]:
    return {entry["rule"] for entry in result[key]}


# ------------------------------------------------------------------------------------------------ parallel sizes


def test_33b_on_three_v100_is_refused_for_memory_and_four_would_do(host: Host) -> None:
    """vllm-project/vllm#414. The report's way out, three pipeline stages, is none on Volta."""
    result = plan(named("llama-33b", LLAMA_33B), {"one": host("v100", "v100", "v100")})
    assert result["feasible"] is False
    assert rules(result, "problems") == {"memory"}
    assert "give it 4 GPUs like Tesla V100-PCIE-32GB (tensor parallel 4)" in result["problems"][0]["remedies"]


def test_three_cards_do_not_share_52_heads(host: Host) -> None:
    """vllm-project/vllm#414."""
    result = plan(named("llama-33b", LLAMA_33B, gpus=3), {"one": host("v100", "v100", "v100")})
    assert result["feasible"] is False
    assert result["problems"][0]["remedies"] == ["declare gpus: 2"]


def test_tensor_parallel_5_is_refused_with_the_sizes_that_fit(host: Host) -> None:
    """vllm-project/vllm#596."""
    asked = named("llama-2-70b", LLAMA_2_70B, backend_parameters=["--tensor-parallel-size=5"])
    with pytest.raises(PlanError, match=r"64 attention heads do not divide by 5; sizes that fit are 1, 2, 4, 8, 16"):
        plan(asked, {"one": host(*["v100"] * 8)})
    result = plan(named("llama-2-70b", LLAMA_2_70B), {"one": host(*["v100"] * 8)})
    assert result["tensor_parallel_size"] == 8


def test_13b_on_three_3090_takes_two_and_with_three_three_stages(host: Host) -> None:
    """vllm-project/vllm#596."""
    fleet = {"one": host("3090", "3090", "3090")}
    two = plan(named("llama-13b", LLAMA_13B), fleet)
    assert (two["tensor_parallel_size"], two["pipeline_parallel_size"]) == (2, 1)
    three = plan(named("llama-13b", LLAMA_13B, gpus=3), fleet)
    assert (three["tensor_parallel_size"], three["pipeline_parallel_size"]) == (1, 3)


def test_28_heads_with_4_kv_heads_do_not_split_by_7_or_14() -> None:
    """THU-KEG/AdaptThink#1."""
    shape = architecture(config(28, 4, 28, 3584, 28 * 640, 64 * 28 * 80, head_dim=128))
    assert tensor_sizes(shape, 28) == (1, 2, 4, 28)
    assert tensor_sizes(shape, 8) == (1, 2, 4)


def test_12_heads_on_8_cards_are_two_replicas_of_4(host: Host) -> None:
    """MIV-XJTU/FSDrive#21."""
    shape = config(12, 2, 28, 1536, 8960 + 256, 151936 + 128, head_dim=128)
    assert {4, 6, 12} <= set(tensor_sizes(architecture(shape), 12))
    assert 8 not in tensor_sizes(architecture(shape), 12)
    result = plan(named("drive", shape, gpus=4, replicas=2), {"one": host(*["a10"] * 8)})
    assert result["tensor_parallel_size"] == 4
    assert result["placements"] == [{"one": [0, 1, 2, 3]}, {"one": [4, 5, 6, 7]}]
    with pytest.raises(PlanError, match="12 attention heads do not divide by 8"):
        plan(named("drive", shape, backend_parameters=["-tp=8"]), {"one": host(*["a10"] * 8)})


def test_qwen15_32b_on_six_t4_is_two_by_three_in_float16(host: Host) -> None:
    """vllm-project/vllm#4232."""
    asked = named("qwen1.5-32b", QWEN15_32B, gpus=6, context=2048, gpu_memory_utilization=0.9)
    result = plan(asked, {"one": host(*["t4"] * 6)})
    assert (result["tensor_parallel_size"], result["pipeline_parallel_size"]) == (2, 3)
    assert "--dtype=float16" in result["backend_parameters"]


GEMMA_3_27B = config(
    32, 16, 62, 5376, 21504, 262208,
    model_type="gemma3_text", head_dim=128, max_position_embeddings=131072, sliding_window=1024, torch_dtype="bfloat16",
    tie_word_embeddings=True,
)  # fmt: skip


def test_gemma_3_27b_never_takes_three_cards(host: Host) -> None:
    """gpustack/gpustack#2259."""
    fleet = {"one": host("a100", "a100", "a100")}
    assert plan(named("gemma-3-27b", GEMMA_3_27B, context=8192), fleet)["tensor_parallel_size"] in (1, 2)
    refused = plan(named("gemma-3-27b", GEMMA_3_27B, context=8192, gpus=3, backend_parameters=["-pp=1"]), fleet)
    assert refused["problems"][0]["remedies"] == ["declare gpus: 2"]


def test_gemma_3_is_no_float16_model_on_volta(host: Host) -> None:
    """gpustack/gpustack#885."""
    asked = named("gemma-3-27b", GEMMA_3_27B, context=8192)
    with pytest.raises(PlanError, match="float16-overflows"):
        plan({**asked, "backend_parameters": ["--dtype=float16"]}, {"one": host("v100", "v100")})
    assert plan(asked, {"one": host("v100", "v100")})["feasible"] is False
    larger = plan(asked, {"one": host(*["v100"] * 8)})
    assert "--dtype=float32" in larger["backend_parameters"]


def test_two_hosts_of_two_v100_are_one_group_of_four(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    """vllm-project/vllm#7837 advises two stages of two: on Volta the rule wins; Turing gets them."""
    result = plan(model("Qwen/Qwen2.5-32B-Instruct"), v100_pair_fleet)
    assert (result["tensor_parallel_size"], result["pipeline_parallel_size"]) == (4, 1)
    assert "--pipeline-parallel-size=1" in result["backend_parameters"]


def test_two_hosts_of_two_t4_are_two_stages_of_two(host: Host, model: Model) -> None:
    """vllm-project/vllm#7837, on cards that may."""
    fleet = {"a": host("t4", "t4"), "b": host("t4", "t4")}
    result = plan(model("Qwen/Qwen2.5-14B-Instruct", context=8192), fleet)
    assert (result["tensor_parallel_size"], result["pipeline_parallel_size"]) == (2, 2)
    assert "--dtype=float16" in result["backend_parameters"]
    assert result["env"]["RAY_CGRAPH_get_timeout"] == "300"


def test_last_stage_carries_the_head() -> None:
    """vllm-project/vllm#14120."""
    shape = architecture(config(40, 8, 64, 5120, 27648, 152064))
    stages = [weights_bytes(shape, Split(pipeline=4), stage, 2) for stage in range(4)]
    assert (stages[3] - stages[1]) / GIB == pytest.approx(1.45, abs=0.01)


def test_more_ranks_than_cards_on_a_host_are_refused(host: Host, model: Model) -> None:
    """vllm-project/vllm#3722."""
    result = plan(model("Qwen/Qwen2.5-14B-Instruct", gpus=4), {"one": host("t4", "t4")})
    assert rules(result, "problems") == {"hosts-have-gpus"}


# ------------------------------------------------------------------------------------------------ quantisation


@pytest.mark.parametrize(("intermediate", "expected"), [(29568, {1}), (29696, {1, 2, 4, 8})])
def test_groups_of_128_decide_the_sizes_of_qwen2_72b(intermediate: int, expected: set[int]) -> None:
    """vllm-project/vllm#21695."""
    quantized = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    shape = architecture(config(64, 8, 80, 8192, intermediate, 152064, quantization_config=quantized))
    assert set(tensor_sizes(shape, 8)) & {1, 2, 4, 8} == expected


def test_awq_is_refused_on_v100_with_what_runs(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    """vllm-project/vllm#1488."""
    result = plan(model("Qwen/Qwen2.5-14B-Instruct-AWQ"), v100_pair_fleet)
    assert rules(result, "problems") == {"quantisation-needs-capability"}
    for variant in ("GPTQ", "bitsandbytes", "float16"):
        assert variant in result["problems"][0]["remedies"][0]
    with pytest.raises(PlanError, match=r"--quantization=awq .* quantisation-needs-capability"):
        plan(model("Qwen/Qwen2.5-14B-Instruct", backend_parameters=["-q awq"]), v100_pair_fleet)


def test_compressed_tensors_are_judged_by_their_scheme(host: Host) -> None:
    """vllm-project/llm-compressor#1258."""
    weights = {"num_bits": 4, "type": "int", "group_size": 128, "symmetric": True}
    packed = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"g": {"weights": weights}},
    }
    asked = named("packed", config(32, 8, 32, 4096, 14336, 128256, quantization_config=packed))
    assert rules(plan(asked, {"one": host("v100")}), "problems") == {"quantisation-needs-capability"}
    assert plan(asked, {"one": host("t4")})["feasible"] is True


# ------------------------------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("card", ["v100", "3090"])
@pytest.mark.parametrize("dtype", ["fp8", "fp8_e5m2", "fp8_e4m3"])
def test_fp8_kv_cache_is_refused_before_ada(card: str, dtype: str, host: Host, model: Model) -> None:
    """vllm-project/vllm#35720, vllm-project/vllm#26431."""
    asked = model("Qwen/Qwen2.5-7B-Instruct", context=8192, backend_parameters=[f"--kv-cache-dtype={dtype}"])
    with pytest.raises(PlanError, match="fp8-kv-cache-needs-ada"):
        plan(asked, {"one": host(card)})


def test_fp8_kv_cache_doubles_the_tokens_where_it_runs(host: Host, model: Model) -> None:
    """vllm-project/vllm#35720: halved keys and values count only there."""
    fleet = {"one": host("l40s")}
    plain = plan(model("Qwen/Qwen2.5-7B-Instruct"), fleet)["predicted"]["kv_cache_tokens"]
    halved = plan(model("Qwen/Qwen2.5-7B-Instruct", backend_parameters=["--kv-cache-dtype=fp8"]), fleet)
    assert halved["predicted"]["kv_cache_tokens"] == pytest.approx(2 * plain, abs=32)


@pytest.mark.parametrize(("backend", "card"), [("FLASH_ATTN", "v100"), ("FLASHINFER", "v100"), ("FLASH_ATTN", "t4")])
def test_attention_backends_need_their_capability(backend: str, card: str, host: Host, model: Model) -> None:
    """vllm-project/vllm#13398."""
    asked = model("Qwen/Qwen2.5-0.5B-Instruct", backend_parameters=[f"--attention-backend={backend}"])
    with pytest.raises(PlanError, match="attention-backend-needs-capability"):
        plan(asked, {"one": host(card)})


def test_triton_attention_may_be_pinned_on_v100(host: Host, model: Model) -> None:
    """vllm-project/vllm#13398."""
    asked = model("Qwen/Qwen2.5-0.5B-Instruct", backend_parameters=["--attention-backend=TRITON_ATTN"])
    assert "--attention-backend=TRITON_ATTN" in plan(asked, {"one": host("v100")})["backend_parameters"]


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (["sm_75", "sm_80", "sm_90"], (7, 0), False),
        (["sm_70", "sm_75"], (7, 0), True),
        (["7.5", "8.0+PTX", "9.0"], (7, 0), False),
        (["7.5", "8.0+PTX", "9.0"], (12, 0), True),
        (["sm_80"], (8, 6), True),
        (["sm_86"], (8, 0), False),
        (["compute_70"], (9, 0), True),
        (["sm_100a"], (10, 0), True),
    ],
)
def test_an_image_without_code_for_the_card_is_told(
    architectures: list[str], capability: tuple[int, int], runs: bool
) -> None:
    """vllm-project/vllm#19185, gpustack/gpustack#2664."""
    assert binary_runs_on(architectures, capability) is runs


def test_cards_before_volta_are_left_out_by_name(host: Host, model: Model) -> None:
    """vllm-project/vllm#19542."""
    fleet = {"one": host("a10", "v100", "p40", "p40")}
    result = plan(model("Qwen/Qwen2.5-7B-Instruct", context=8192), fleet)
    used = {index for placed in [result, *result["alternatives"]] for p in placed["placements"] for index in p["one"]}
    assert used <= {0, 1}
    warning = next(w["message"] for w in result["warnings"] if w["rule"] == "card-before-volta")
    assert "one card 2 (Tesla P40), one card 3 (Tesla P40)" in warning


def test_large_heads_are_refused_on_turing_and_warned_of_on_volta(host: Host) -> None:
    """vllm-project/vllm#36802."""
    large = named("large-heads", config(8, 8, 16, 4096, 14336, 32000, head_dim=512))
    assert rules(plan(large, {"one": host("t4")}), "problems") == {"shared-memory-too-small"}
    assert "large-heads-before-ampere" in rules(plan(large, {"one": host("v100")}), "warnings")


@pytest.mark.parametrize("link", [{"topology": "PHB"}, {"nvlinks": 2}], ids=["PCIe", "NVLink"])
def test_a_v100_pair_runs_without_custom_all_reduce(link: dict[str, Any], host: Host, model: Model) -> None:
    """1CatAI/1Cat-vLLM#652 (PCIe), 1CatAI/1Cat-vLLM#88 (NVLink)."""
    result = plan(model(gpus=2), {"one": host("v100", "v100", **link)})
    assert "--disable-custom-all-reduce" in result["backend_parameters"]


# ------------------------------------------------------------------------------------------------ memory

LLAMA_8B = config(32, 8, 32, 4096, 14336, 128256, max_position_embeddings=131072)


def test_tokens_of_llama_8b_from_2_89_gib() -> None:
    """vllm-project/vllm#10517: 23,648 tokens fitted, and 29,000 were refused."""
    per_token = kv_bytes_per_token_and_layer(architecture(LLAMA_8B), 1, 2) * 32
    assert per_token == 131072
    tokens = int(2.89 * GIB) // (per_token * 16) * 16
    assert 23600 <= tokens <= 23664


def test_kv_cache_is_per_rank_and_never_the_sum(host: Host, model: Model) -> None:
    """vllm-project/vllm#13061: 131,072 tokens need 12 GiB on each card of a pair."""
    shape = architecture(config(40, 8, 48, 5120, 13824, 152064))
    per_token = kv_bytes_per_token_and_layer(shape, 2, 2) * 48
    assert per_token == 98304
    assert 131072 * per_token == 12 * GIB
    assert int(7.455 * GIB) // per_token < 81536 <= int(7.465 * GIB) // per_token + 16
    result = plan(model("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", context=131072), {"one": host("3090", "3090")})
    assert result["feasible"] is False
    assert result["problems"][0]["remedies"][0].startswith("declare context: ")


def test_a_context_is_always_written_and_fits(host: Host, model: Model) -> None:
    """hiyouga/LlamaFactory#7234."""
    shape = architecture(config(32, 8, 32, 4096, 14336, 128256, max_position_embeddings=32768))
    assert min(32768, longest_request(shape, Engine("triton"), 16816 // 16)) == 16816
    result = plan(model("meta-llama/Llama-3.1-8B-Instruct"), {"one": host("3090")})
    assert f"--max-model-len={result['max_model_len']}" in result["backend_parameters"]
    assert result["max_model_len"] < 0.98 * result["predicted"]["kv_cache_tokens"] < 131072
    assert result["max_model_len"] % 16 == 0


def test_the_smaller_card_decides_for_both(host: Host, model: Model) -> None:
    """vllm-project/vllm#2317: a 3090 with a 3070 is worth two 3070, so the 3090 alone is taken."""
    fleet = {"one": host("3090", "3070")}
    alone = plan(model("Qwen/Qwen2.5-7B-Instruct"), fleet)
    assert alone["placement"] == {"one": [0]}
    both = plan(model("Qwen/Qwen2.5-7B-Instruct", gpus=2), fleet)
    assert both["feasible"] is False
    assert "each GPU may use 6." in both["problems"][0]["message"]
    assert "declare gpus: 1 (NVIDIA GeForce RTX 3090)" in both["problems"][0]["remedies"]


def test_a_card_in_use_lowers_the_share(host: Host, model: Model) -> None:
    """vllm-project/vllm#49816."""
    assert utilization_that_fits((23.5, 20.1), (24.0, 24.0)) == 0.83
    result = plan(model("Qwen/Qwen2.5-7B-Instruct", gpus=2), {"one": host("3090", "3090", used_mib={0: 512, 1: 4000})})
    warning = next(w["message"] for w in result["warnings"] if w["rule"] == "memory-in-use")
    assert "gpu_memory_utilization: 0.83" in warning


def test_an_engine_that_runs_already_changes_nothing(host: Host, model: Model) -> None:
    """A second run over a fleet that serves the model gives the plan of the first."""
    idle = plan(model(gpus=2), {"one": host("v100", "v100")})
    assert plan(model(gpus=2), {"one": host("v100", "v100", used_mib={0: 29500, 1: 29500})}) == idle


# ------------------------------------------------------------------------------------------------ mixed hosts


def test_a_host_with_several_models_of_cards_gets_bus_order(host: Host, model: Model) -> None:
    """vllm-project/vllm#7472."""
    result = plan(model("Qwen/Qwen2.5-1.5B-Instruct"), {"one": host("3060", "4080s")})
    assert result["env"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    alike = plan(model("Qwen/Qwen2.5-1.5B-Instruct"), {"one": host("3060", "3060")})
    assert "CUDA_DEVICE_ORDER" not in alike["env"]


def test_unlike_cards_without_peer_access_do_not_share_a_model(host: Host, model: Model) -> None:
    """vllm-project/vllm#15255."""
    fleet = {"wsl": host("4080s", "3060", p2p_read=False)}
    assert plan(model("Qwen/Qwen2.5-7B-Instruct", gpus=2, context=8192), fleet)["tensor_parallel_size"] == 1
    asked = model("Qwen/Qwen2.5-7B-Instruct", context=8192, backend_parameters=["--tensor-parallel-size=2"])
    with pytest.raises(PlanError, match="mixed-cards-without-peer-access"):
        plan(asked, fleet)
    forced = plan({**asked, "override": ["mixed-cards-without-peer-access"]}, fleet)
    assert forced["env"]["NCCL_P2P_DISABLE"] == "1"


# ------------------------------------------------------------------------------------------------ variables, hosts


@pytest.mark.parametrize("variable", ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "VLLM_HOST_IP"])
def test_variables_that_differ_per_host_are_refused(
    variable: str, v100_pair_fleet: dict[str, Any], model: Model
) -> None:
    """NVIDIA/nccl#286, vllm-project/vllm#12983."""
    with pytest.raises(PlanError, match=f"{variable} in env is refused by rule per-host-variable-in-model"):
        plan(model(gpus=4, env={variable: "10.0.0.1/"}), v100_pair_fleet)


@pytest.mark.parametrize(("declared", "expected"), [(None, "64"), (16, "16"), (0.5, "0.5")])
def test_ranks_get_shared_memory(declared: Any, expected: str, host: Host, model: Model) -> None:
    """vllm-project/vllm#1710, gpustack/gpustack#5014."""
    asked = model(gpus=2, **({} if declared is None else {"shared_memory_gib": declared}))
    assert plan(asked, {"one": host("v100", "v100")})["env"]["GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB"] == expected


@pytest.mark.parametrize("value", ["", "64g", "-1"])
def test_a_shared_memory_that_gpustack_would_drop_is_an_error(value: str, host: Host, model: Model) -> None:
    """gpustack/gpustack#5014: a bad value silently becomes 10 GiB."""
    with pytest.raises(PlanError, match="GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB"):
        plan(model(env={"GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB": value}), {"one": host("v100", "v100")})


def custom(model: Model, **keys: Any) -> dict[str, Any]:
    return model(gpus=4, backend_version="0.17.1-site-custom", **keys)


def test_drivers_of_one_branch_are_a_warning_of_two_a_refusal(host: Host, model: Model) -> None:
    """vllm-project/vllm#4114, NVIDIA/nccl#1257."""
    fleet = {"a": host("v100", "v100", driver="535.161.07"), "b": host("v100", "v100", driver="535.171.04")}
    assert "drivers-differ" in rules(plan(custom(model), fleet), "warnings")
    fleet["b"] = host("v100", "v100", driver="580.95.05")
    assert rules(plan(custom(model), fleet), "problems") == {"driver-branches-differ"}


def test_driver_545_is_warned_of(host: Host, model: Model) -> None:
    """vllm-project/vllm#1801."""
    result = plan(
        model(gpus=2, backend_version="0.17.1-site-custom"), {"one": host("v100", "v100", driver="545.29.02")}
    )
    assert "driver-545-hangs" in rules(result, "warnings")


@pytest.mark.parametrize(("cuda", "feasible"), [("12.2", False), ("12.8", True), ("13.0", True)])
def test_a_driver_older_than_every_image_is_told(cuda: str, feasible: bool, host: Host, model: Model) -> None:
    """gpustack/gpustack#5107."""
    result = plan(model("Qwen/Qwen2.5-7B-Instruct"), {"one": host("v100", cuda=cuda)})
    assert result["feasible"] is feasible
    assert rules(result, "problems") == (set() if feasible else {"driver-older-than-images"})


def test_an_image_without_ray_is_warned_of(host: Host, model: Model) -> None:
    """gpustack/gpustack#5182."""
    fleet = {"a": host("t4", "t4"), "b": host("t4", "t4")}
    asked = model("Qwen/Qwen2.5-14B-Instruct", context=8192, gpus=4)
    assert "ray-not-in-image" in rules(plan({**asked, "vllm_version": "0.18.1"}, fleet), "warnings")
    assert "ray-not-in-image" not in rules(plan(asked, fleet), "warnings")


@pytest.mark.parametrize(("version", "expected"), [("0.8.5", True), ("0.10.2", False), ("0.17.1", False)])
def test_old_switches_for_volta_are_given_to_old_versions_only(
    version: str, expected: bool, host: Host, model: Model
) -> None:
    """vllm-project/vllm#6723, vllm-project/vllm#13738."""
    asked = model("Qwen/Qwen2.5-7B-Instruct", vllm_version=version, backend_version=f"{version}-site-custom")
    parameters = plan(asked, {"one": host("v100")})["backend_parameters"]
    assert ("--no-enable-chunked-prefill" in parameters) is expected
    assert ("--no-enable-prefix-caching" in parameters) is expected
