# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where replicas go: hosts, islands of NVLink, mixed fleets, several replicas, alternatives, and what would fit."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.fleet import parse_fleet
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.placement import without
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan, plan_models
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.shapes import known_config

Host = Callable[..., dict[str, Any]]
Model = Callable[..., dict[str, Any]]

SMALL = "Qwen/Qwen2.5-7B-Instruct"


def test_as_few_cards_as_serve(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    assert plan(model(SMALL), v100_pair_fleet)["placement"] == {"gpu-worker-a": [0]}
    assert plan(model(), v100_pair_fleet)["placement"] == {"gpu-worker-a": [0, 1]}
    assert plan(model("Qwen/Qwen2.5-32B-Instruct"), v100_pair_fleet)["gpus_per_replica"] == 4


def test_more_requests_at_once_take_more_cards(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    cards = [plan(model(context=32768, concurrency=n), v100_pair_fleet)["gpus_per_replica"] for n in (1, 4, 5, 13)]
    assert cards == [2, 2, 4, 4]
    assert plan(model(context=32768, concurrency=14), v100_pair_fleet)["feasible"] is False


def test_one_host_with_a_shorter_context_comes_before_two_hosts(host: Host, model: Model) -> None:
    """Unless the context is declared: only then is a network worth it."""
    fleet = {"a": host("v100"), "b": host("v100")}
    own = plan(model("meta-llama/Llama-3.1-8B-Instruct"), fleet)
    assert (own["placement"], own["max_model_len"]) == ({"a": [0]}, pytest.approx(103000, abs=2000))
    declared = plan(model("meta-llama/Llama-3.1-8B-Instruct", context=131072), fleet)
    assert declared["placement"] == {"a": [0], "b": [0]}


def test_a_useless_context_on_one_host_is_worth_two_hosts(host: Host, model: Model) -> None:
    fleet = {"a": host("v100"), "b": host("v100")}
    assert plan(model(), fleet)["distributed"] is True


def test_a_useless_context_is_only_planned_when_it_is_declared(host: Host, model: Model) -> None:
    refused = plan(model(), {"a": host("v100")})
    assert refused["feasible"] is False
    assert refused["problems"][0]["remedies"][0] == "declare context: 1488"
    assert plan(model(context=1488), {"a": host("v100")})["feasible"] is True


def test_nvlink_islands_stay_whole(host: Host, model: Model) -> None:
    fleet = {"one": host(*["v100"] * 8, islands=[[0, 3, 5, 6], [1, 2, 4, 7]])}
    assert plan(model(gpus=4), fleet)["placement"] == {"one": [0, 3, 5, 6]}
    both = plan(model(gpus=4, replicas=2), fleet)
    assert both["placements"] == [{"one": [0, 3, 5, 6]}, {"one": [1, 2, 4, 7]}]


def test_pairs_with_nvlink_come_before_pairs_over_the_socket(host: Host, model: Model) -> None:
    fleet = {"one": host("v100", "v100", "v100", islands=[[1, 2]])}
    assert plan(model(gpus=2), fleet)["placement"] == {"one": [1, 2]}
    fleet = {"a": host("v100", "v100"), "b": host("v100", "v100", nvlinks=2)}
    assert plan(model(gpus=2), fleet)["placement"] == {"b": [0, 1]}


def test_replicas_fill_hosts_and_spill_to_others(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model(SMALL, replicas=3), v100_pair_fleet)
    assert result["placements"] == [{"gpu-worker-a": [0]}, {"gpu-worker-a": [1]}, {"gpu-worker-b": [0]}]
    assert result["placement"] == result["placements"][0]


def test_replicas_on_unlike_hosts_take_the_same_parameters(host: Host, model: Model) -> None:
    fleet = {"a": host("v100", "v100"), "b": host("v100", "v100", nvlinks=2), "c": host("a100", "a100")}
    result = plan(model(replicas=2, gpus=2, **{"backend_version": "0.17.1-site-custom"}), fleet)
    assert result["placements"] == [{"b": [0, 1]}, {"a": [0, 1]}]


def test_too_many_replicas_say_how_many_fit(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model(replicas=3), v100_pair_fleet)
    assert result["problems"] == [
        {
            "rule": "replicas-fit",
            "message": "3 replicas of 2 GPU(s) are declared, the fleet has room for 2",
            "remedies": ["declare replicas: 2"],
        }
    ]


def test_no_replica_still_has_a_plan(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model(replicas=0), v100_pair_fleet)
    assert (result["feasible"], result["replicas"]) == (True, 0)


def test_a_model_that_is_stopped_leaves_its_cards_to_others(host: Host, model: Model) -> None:
    stopped, other = plan_models([model(SMALL, replicas=0), model(SMALL, gpus=1)], {"a": host("v100")})
    assert (stopped["placements"], other["placement"]) == ([{"a": [0]}], {"a": [0]})


def test_several_hosts_give_equally_many_cards(host: Host, model: Model) -> None:
    fleet = {"a": host("v100", "v100"), "b": host("v100", "v100", "v100"), "c": host("v100", "v100")}
    result = plan(model("Qwen/Qwen2.5-32B-Instruct"), fleet)
    assert result["placement"] == {"a": [0, 1], "c": [0, 1]}
    assert result["automatic_placement"] is True


def test_parts_of_hosts_must_be_named(host: Host, model: Model) -> None:
    fleet = {"a": host("v100", "v100", "v100"), "b": host("v100", "v100", "v100")}
    result = plan(model("Qwen/Qwen2.5-32B-Instruct", gpus=4), fleet)
    assert result["placement"] == {"a": [0, 1], "b": [0, 1]}
    assert result["automatic_placement"] is False


def test_hosts_of_one_driver_branch_come_together(host: Host, model: Model) -> None:
    old, new = "535.161.07", "570.133.20"
    fleet = {name: host("v100", "v100", driver=driver) for name, driver in (("a", old), ("b", new), ("c", new))}
    asked = model("Qwen/Qwen2.5-32B-Instruct", backend_version="0.17.1-site-custom")
    assert plan(asked, fleet)["placement"] == {"b": [0, 1], "c": [0, 1]}


def test_a_cache_larger_than_the_card_is_not_promised(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model(SMALL, backend_parameters=["--kv-cache-memory-bytes=40G"]), v100_pair_fleet)
    assert result["feasible"] is False
    assert result["problems"][0]["remedies"] == [
        "drop --kv-cache-memory-bytes from backend_parameters: vLLM takes what is left"
    ]


def test_cards_are_named_where_gpustack_might_take_others(host: Host, model: Model) -> None:
    alike = {"a": host("v100", "v100"), "b": host("v100", "v100")}
    assert plan(model(), alike)["automatic_placement"] is True
    assert plan(model(SMALL), alike)["automatic_placement"] is True
    unlike = {"a": host("v100", "v100"), "b": host("t4", "t4")}
    assert plan(model(), unlike)["automatic_placement"] is False
    islands = {"one": host(*["v100"] * 4, islands=[[0, 2], [1, 3]])}
    assert plan(model(), islands)["automatic_placement"] is False
    assert plan(model(SMALL), islands)["automatic_placement"] is True


def test_stages_go_over_the_network_where_they_may(host: Host, model: Model) -> None:
    fleet = {"a": host("a10", "a10"), "b": host("a10", "a10")}
    result = plan(model("Qwen/Qwen2.5-32B-Instruct", context=8192), fleet)
    assert (result["tensor_parallel_size"], result["pipeline_parallel_size"]) == (2, 2)
    assert "--pipeline-parallel-size=2" in result["backend_parameters"]


def test_a_mixed_fleet_takes_alike_cards_first(host: Host, model: Model) -> None:
    fleet = {"old": host("v100", "v100"), "new": host("a100", "a100"), "small": host("t4", "t4", "t4", "t4")}
    assert plan(model(SMALL), fleet)["placement"] == {"new": [0]}
    custom = plan(model(SMALL, backend_version="0.17.1-site-custom"), fleet)
    assert custom["placement"] == {"old": [0]}
    assert plan(model("Qwen/Qwen2.5-72B-Instruct", context=8192), fleet)["placement"] == {"new": [0, 1]}


def test_the_weakest_rank_decides_a_mixed_group(host: Host, model: Model) -> None:
    fleet = {"a": host("a100", "a100"), "b": host("v100", "v100")}
    asked = model("Qwen/Qwen2.5-32B-Instruct", gpus=4, backend_version="0.17.1-site-custom")
    result = plan(asked, fleet)
    assert result["placement"] == {"a": [0, 1], "b": [0, 1]}
    assert result["pipeline_parallel_size"] == 1
    assert "--dtype=float16" in result["backend_parameters"]
    assert result["predicted"]["memory_gib"] == 31.74
    assert "mixed-cards" in {warning["rule"] for warning in result["warnings"]}


def test_an_fp8_expert_model_spreads_experts_where_slices_do_not_divide(host: Host, model: Model) -> None:
    """768 columns in blocks of 128 give 6 slices: 4 ranks hold whole experts instead."""
    fleet = {"one": host(*["l40s"] * 4)}
    four = plan(model("Qwen/Qwen3-30B-A3B-FP8", gpus=4), fleet)
    assert "--enable-expert-parallel" in four["backend_parameters"]
    two = plan(model("Qwen/Qwen3-30B-A3B-FP8", gpus=2), fleet)
    assert "--enable-expert-parallel" not in two["backend_parameters"]


def test_data_parallel_ranks_are_offered_where_the_kv_cache_would_be_copied(host: Host, model: Model) -> None:
    result = plan(model("Qwen/Qwen3-235B-A22B-FP8", context=32768), {"one": host(*["h100"] * 8, nvlinks=18)})
    other = next(a for a in result["alternatives"] if a["data_parallel_size"] == 8)
    sliced = next(a for a in result["alternatives"] if a["tensor_parallel_size"] == 8)
    assert other["predicted"]["kv_cache_tokens"] > sliced["predicted"]["kv_cache_tokens"]


def test_several_models_are_planned_on_what_is_left(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    first, second, third = plan_models([model(), model(SMALL), model()], v100_pair_fleet)
    assert first["placement"] == {"gpu-worker-a": [0, 1]}
    assert second["placement"] == {"gpu-worker-b": [0]}
    assert third["feasible"] is False


def test_models_share_a_card_when_their_shares_allow_it(host: Host, model: Model) -> None:
    small = model("Qwen/Qwen2.5-0.5B-Instruct", context=4096, gpu_memory_utilization=0.3)
    plans = plan_models(
        [small, {**small, "name": "second"}, {**small, "name": "third"}, small], {"one": host("a10", "a10")}
    )
    assert [result["placement"] for result in plans] == [{"one": [0]}, {"one": [0]}, {"one": [0]}, {"one": [1]}]
    whole = plan_models([small, model("Qwen/Qwen2.5-7B-Instruct", context=8192)], {"one": host("a10", "a10")})
    assert [result["placement"] for result in whole] == [{"one": [0]}, {"one": [1]}]


def test_a_fleet_without_some_cards_keeps_the_others_alike(v100_pair_fleet: dict[str, Any]) -> None:
    rest = without(parse_fleet(v100_pair_fleet), {("gpu-worker-a", 0)})
    assert [(slots.indexes, hosts) for slots, hosts in rest.alike] == [
        ((0, 1), ("gpu-worker-b",)),
        ((1,), ("gpu-worker-a",)),
    ]


def test_what_would_fit_is_computed(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model("Qwen/Qwen2.5-72B-Instruct"), v100_pair_fleet)
    problem = result["problems"][0]
    assert "weights take 33.98" in problem["message"]
    assert "give it 8 GPUs like Tesla V100-PCIE-32GB (tensor parallel 8)" in problem["remedies"]
    assert any("GPTQ-Int8 variant" in remedy for remedy in problem["remedies"])
    eight = {f"host-{n}": v100_pair_fleet["gpu-worker-a"] for n in range(4)}
    assert plan(model("Qwen/Qwen2.5-72B-Instruct"), eight)["tensor_parallel_size"] == 8
    assert plan(model("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8"), v100_pair_fleet)["feasible"] is True


def test_the_context_that_is_offered_instead_serves(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    asked = model(gpus=2, context=32768, concurrency=8)
    refused = plan(asked, v100_pair_fleet)
    shorter = int(refused["problems"][0]["remedies"][0].split()[2])
    assert plan({**asked, "context": shorter}, v100_pair_fleet)["feasible"] is True
    assert plan({**asked, "context": shorter + 2048}, v100_pair_fleet)["feasible"] is False
    assert "declare concurrency: 4 (for context 32768)" in refused["problems"][0]["remedies"]


def test_the_users_own_memory_settings_count(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    def tokens(*parameters: str, **keys: Any) -> int:
        result = plan(model(gpus=2, backend_parameters=list(parameters), **keys), v100_pair_fleet)
        value = result["predicted"]["kv_cache_tokens"]
        assert isinstance(value, int)
        return value

    plain = tokens()
    assert tokens("--max-num-seqs=32") > plain
    assert tokens("--max_num_batched_tokens 16384") < plain
    assert tokens("--gpu-memory-utilization=0.8") < plain
    assert tokens("--gpu-memory-utilization=0.8") == tokens(gpu_memory_utilization=0.8)
    assert tokens("--kv-cache-memory-bytes=4G") == 4 * 2**30 // 98304 // 16 * 16
    assert tokens("--num-gpu-blocks-override=4000") == 64000
    assert tokens("--no-enable-chunked-prefill") < plain
    assert tokens("--cpu-offload-gb=2") == pytest.approx(plain + 2 * 2**30 / 98304, abs=32)


def test_a_text_only_engine_loads_no_image_encoder(host: Host) -> None:
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420}
    text = {
        "model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
        "vocab_size": 32000, "max_position_embeddings": 8192,
    }  # fmt: skip
    asked = {"name": "sees", "config": {"text_config": text, "vision_config": vision}}
    fleet = {"one": host("v100")}
    seeing = plan(asked, fleet)
    reading = plan({**asked, "backend_parameters": ["--language-model-only"]}, fleet)
    assert seeing["predicted"]["weights_gib"] - reading["predicted"]["weights_gib"] == pytest.approx(0.91, abs=0.02)
    assert "--mm-encoder-attn-backend=TORCH_SDPA" in seeing["backend_parameters"]
    assert "--mm-encoder-attn-backend=TORCH_SDPA" not in reading["backend_parameters"]


def test_the_version_counts_in_the_prediction(host: Host, model: Model) -> None:
    asked = model(SMALL)
    fleet = {"one": host("a100")}

    def tokens(version: str, **env: str) -> int:
        result = plan({**asked, "vllm_version": version, "env": env}, fleet)
        value = result["predicted"]["kv_cache_tokens"]
        assert isinstance(value, int)
        return value

    assert tokens("0.16.0") < tokens("0.17.1"), "the older sampler sorts"
    assert tokens("0.20.2") < tokens("0.19.1"), "CUDA graphs are counted"
    assert tokens("0.20.2", VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="0") == tokens("0.19.1")


def test_sizes_that_are_given_are_kept(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    result = plan(model(backend_parameters=["--tensor-parallel-size=4"]), v100_pair_fleet)
    assert result["gpus_per_replica"] == 4
    assert [d["rule"] for d in result["decisions"] if d["parameter"] == "--tensor-parallel-size"] == ["declared"]
    assert result["backend_parameters"].count("--tensor-parallel-size=4") == 1


def test_data_parallel_size_of_the_user_makes_the_world_larger(host: Host, model: Model) -> None:
    fleet = {"one": host(*["a100"] * 4)}
    result = plan(model(SMALL, backend_parameters=["-dp=2"], gpus=4), fleet)
    assert (result["tensor_parallel_size"], result["data_parallel_size"], result["gpus_per_replica"]) == (2, 2, 4)
    single = plan(model(SMALL, gpus=2), fleet)
    assert result["predicted"]["kv_cache_tokens"] == 2 * single["predicted"]["kv_cache_tokens"]


def test_experts_of_a_dense_model_are_an_error(host: Host, model: Model) -> None:
    with pytest.raises(PlanError, match="mixture-of-experts"):
        plan(model(backend_parameters=["-ep"]), {"one": host("a100")})


def test_a_replica_on_other_cards_is_judged_by_these(host: Host, model: Model) -> None:
    """Pipeline stages may go over A100, never over V100, also where these come second."""
    fleet = {**{f"a{n}": host("a100", "a100") for n in (1, 2)}, **{f"v{n}": host("v100", "v100") for n in (1, 2)}}
    one = plan(model(gpus=4), fleet)
    assert (one["feasible"], one["placement"].keys()) == (True, {"a1", "a2"})
    two = plan(model(gpus=4, replicas=2), fleet)
    assert two["problems"][0]["rule"] == "replicas-fit"
    assert two["placements"] == []


def test_a_replica_is_judged_by_the_drivers_of_its_hosts(host: Host, model: Model) -> None:
    old, new = host("v100", "v100", driver="535.183.01"), host("v100", "v100")
    fleet = {"h1": old, "h2": old, "h3": old, "h4": new}
    assert plan(model(gpus=4, replicas=2), fleet)["problems"][0]["rule"] == "replicas-fit"


def test_a_host_with_an_old_driver_does_not_stand_for_the_others(host: Host, model: Model) -> None:
    fleet = {"a": host("v100", "v100", cuda="12.2"), "b": host("v100", "v100", cuda="13.0")}
    assert plan(model(gpus=2), fleet)["placement"] == {"b": [0, 1]}
    assert plan(model(gpus=2, replicas=2), fleet)["problems"][0]["rule"] == "replicas-fit"


def test_cards_are_named_where_one_is_left_out(host: Host, model: Model) -> None:
    broken = host("a100", "a100")
    broken["devices"][1]["usable"] = False
    planned = plan(model(SMALL, gpus=1), {"a": broken})
    assert (planned["placement"], planned["automatic_placement"]) == ({"a": [0]}, False)


@pytest.mark.parametrize(
    "flag",
    [
        "--gpu-memory-utilization=90",
        "--gpu-memory-utilization=0",
        "--gpu-memory-utilization=nan",
        "--cpu-offload-gb=inf",
        "--max-num-seqs=-1",
        "--block-size=-16",
        "--num-gpu-blocks-override=0",
        "--kv-cache-memory-bytes=auto",
    ],
)
def test_amounts_that_are_none_are_refused(v100_pair_fleet: dict[str, Any], model: Model, flag: str) -> None:
    with pytest.raises(PlanError, match=flag.partition("=")[0]):
        plan(model(backend_parameters=[flag]), v100_pair_fleet)


@pytest.mark.parametrize("size", [[128], [0, 128], "128"])
def test_block_size_of_a_quantization_that_is_none_is_refused(host: Host, model: Model, size: Any) -> None:
    config = {**known_config("Qwen/Qwen2.5-7B-Instruct"), "quantization_config": {"quant_method": "fp8"}}
    config["quantization_config"]["weight_block_size"] = size
    with pytest.raises(PlanError, match="weight_block_size"):
        plan(model(SMALL, config=config), {"a": host("h100")})


@pytest.mark.parametrize("flag", ['--hf-overrides={"foo":1}', "--hf-overrides.foo=1"])
def test_overrides_of_the_user_do_not_take_the_place_of_a_longer_context(
    v100_pair_fleet: dict[str, Any], model: Model, flag: str
) -> None:
    with pytest.raises(PlanError, match=r"a context of 65536 needs --hf-overrides=\{.*put both into one"):
        plan(model(context=65536, backend_parameters=[flag]), v100_pair_fleet)


def test_alternatives_are_judged_by_the_cards_of_every_replica(host: Host, model: Model) -> None:
    fleet = {**{f"a{n}": host("a100", "a100") for n in (1, 2)}, **{f"v{n}": host("v100", "v100") for n in (1, 2)}}
    for offered in plan(model("Qwen/Qwen2.5-72B-Instruct", replicas=2), fleet)["alternatives"]:
        on_volta = any(name.startswith("v") for placed in offered["placements"] for name in placed)
        assert not (on_volta and offered["pipeline_parallel_size"] > 1), offered
