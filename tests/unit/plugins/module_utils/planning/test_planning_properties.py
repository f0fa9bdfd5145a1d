# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds for every plan, whatever the model, the fleet and the user's wishes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan, plan_models
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.shapes import known_config
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.vllm_flags import VERSIONS, known_flags

CARDS = [
    ("Tesla V100-PCIE-32GB", "7.0", 32768),
    ("Tesla V100-SXM2-16GB", "7.0", 16384),
    ("Tesla P40", "6.1", 24576),
    ("Tesla T4", "7.5", 15360),
    ("NVIDIA GeForce RTX 3090", "8.6", 24576),
    ("NVIDIA A100-SXM4-80GB", "8.0", 81920),
    ("NVIDIA L40S", "8.9", 46068),
    ("NVIDIA H100 80GB HBM3", "9.0", 81559),
    ("A card of tomorrow", "12.1", 65536),
]
MODELS = [
    "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-14B-Instruct", "Qwen/Qwen2.5-32B-Instruct",
    "Qwen/Qwen2.5-72B-Instruct-AWQ", "Qwen/Qwen2.5-14B-Instruct-GPTQ-Int8", "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-235B-A22B-FP8", "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
]  # fmt: skip
WISHES = [
    "--max-num-seqs=64", "--max-num-batched-tokens=8192", "--enforce-eager", "--kv-cache-dtype=fp8", "-pp=2", "-tp=2",
    "-tp 4", "--dtype=float32", "--block-size=32", "--no-enable-prefix-caching", "--gpu-memory-utilization=0.8",
    "-dp=2", "--enable-expert-parallel", "--kv-cache-memory-bytes=4G",
]  # fmt: skip


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Any]:
    kinds = draw(st.lists(st.sampled_from(CARDS), min_size=1, max_size=2))
    cards = [draw(st.sampled_from(kinds)) for _ in range(draw(st.sampled_from([0, 1, 2, 2, 3, 4, 8])))]
    devices = [
        {
            "index": index,
            "name": name,
            "compute_capability": capability,
            "memory_total_mib": memory,
            "memory_used_mib": draw(st.sampled_from([0, 0, 3000, 30000])),
            "mig": "unsupported",
            "usable": draw(st.sampled_from([True, True, True, True, False])),
            "problems": [],
        }
        for index, (name, capability, memory) in enumerate(cards)
    ]
    labels = st.sampled_from([("SYS", 0), ("PHB", 0), ("NV2", 2), ("NV12", 12)])
    links = {}
    for first in range(len(cards)):
        for second in range(first + 1, len(cards)):
            topology, nvlinks = draw(labels)
            peers = draw(st.sampled_from([None, None, True, False]))
            links[f"{first}-{second}"] = {"topology": topology, "nvlinks": nvlinks, "p2p_read": peers}
    return {"driver_version": "570.133.20", "cuda_version": "12.9", "devices": devices, "links": links, "problems": []}


fleets = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), hosts(), max_size=4)


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    model: dict[str, Any] = {"name": "model", "source": {"huggingface_repo_id": draw(st.sampled_from(MODELS))}}
    optional: dict[str, st.SearchStrategy[Any]] = {
        "context": st.sampled_from([1024, 8192, 32768, 65536, 131072]),
        "context_extension": st.sampled_from(["yarn", "unscaled", "none"]),
        "concurrency": st.integers(1, 8),
        "gpus": st.sampled_from([1, 2, 3, 4, 6, 8]),
        "replicas": st.integers(0, 3),
        "tools": st.booleans(),
        "vllm_version": st.sampled_from([*VERSIONS, "0.17.1", "0.17.1", "0.15.1"]),
        "backend_version": st.just("0.17.1-site-custom"),
        "backend_parameters": st.lists(st.sampled_from(WISHES), max_size=2, unique=True),
    }
    for key, values in optional.items():
        if draw(st.booleans()):
            model[key] = draw(values)
    return model


def planned(model: dict[str, Any], fleet: dict[str, Any]) -> dict[str, Any]:
    """The plan, or nothing to check when the input is refused in one sentence."""
    try:
        return plan(model, fleet)
    except PlanError as error:
        return {"feasible": None, "error": str(error)}


def layouts(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [result, *result["alternatives"]] if result["feasible"] else []


every = settings(max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def cards_of(layout: dict[str, Any], fleet: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        fleet[host]["devices"][index]
        for placed in layout["placements"]
        for host, indexes in placed.items()
        for index in indexes
    ]


@st.composite
def good_hosts(draw: st.DrawFn) -> dict[str, Any]:
    """Alike cards of an old or of a newer generation, all of them free."""
    name, capability, memory = draw(st.sampled_from([CARDS[0], CARDS[0], CARDS[5]]))
    card = {
        "name": name,
        "compute_capability": capability,
        "memory_total_mib": memory,
        "memory_used_mib": 0,
        "mig": "unsupported",
        "usable": True,
        "problems": [],
    }
    devices = [{**card, "index": index} for index in range(draw(st.sampled_from([1, 2, 4])))]
    pairs = [f"{one}-{other}" for one in range(len(devices)) for other in range(one + 1, len(devices))]
    links = {pair: {"topology": "SYS", "nvlinks": 0, "p2p_read": None} for pair in pairs}
    return {"driver_version": "570.133.20", "cuda_version": "12.9", "devices": devices, "links": links, "problems": []}


def test_never_pipeline_parallel_over_a_volta_card() -> None:
    seen = 0

    @every
    @given(
        st.sampled_from(MODELS),
        st.fixed_dictionaries({}, optional={"gpus": st.sampled_from([2, 4, 8]), "replicas": st.integers(1, 2)}),
        st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), good_hosts(), min_size=1),
    )
    def holds(repository: str, keys: dict[str, Any], fleet: dict[str, Any]) -> None:
        nonlocal seen
        for layout in layouts(planned({"name": "m", "source": {"huggingface_repo_id": repository}, **keys}, fleet)):
            if any(card["compute_capability"] == "7.0" for card in cards_of(layout, fleet)):
                seen += 1
                assert layout["pipeline_parallel_size"] == 1

    holds()
    assert seen > 30


@every
@given(models(), fleets)
def test_sizes_divide_the_model_and_match_the_cards(model: dict[str, Any], fleet: dict[str, Any]) -> None:
    config = known_config(model["source"]["huggingface_repo_id"])
    assert config is not None
    for layout in layouts(planned(model, fleet)):
        tensor, kv_heads = layout["tensor_parallel_size"], config["num_key_value_heads"]
        assert config["num_attention_heads"] % tensor == 0
        assert kv_heads % tensor == 0 or tensor % kv_heads == 0
        world = tensor * layout["pipeline_parallel_size"] * layout["data_parallel_size"]
        used = []
        for placed in layout["placements"]:
            counts = {len(indexes) for indexes in placed.values()}
            assert len(counts) == 1
            assert sum(len(indexes) for indexes in placed.values()) == world == layout["gpus_per_replica"]
            used += [(host, index) for host, indexes in placed.items() for index in indexes]
        assert len(used) == len(set(used))
        assert all(card["usable"] and card["compute_capability"] != "6.1" for card in cards_of(layout, fleet))


@every
@given(models(), fleets)
def test_memory_stays_within_the_weakest_card(model: dict[str, Any], fleet: dict[str, Any]) -> None:
    for layout in layouts(planned(model, fleet)):
        predicted = layout["predicted"]
        weakest = min(card["memory_total_mib"] for card in cards_of(layout, fleet)) / 1024
        assert predicted["budget_gib"] <= predicted["memory_gib"] < weakest
        # With a cache of a fixed size vLLM does not hold itself to the budget, only to the card.
        fixed = "--kv-cache-memory-bytes=4G" in model.get("backend_parameters", [])
        parts = predicted["weights_gib"] + predicted["overhead_gib"] + predicted["kv_cache_gib"]
        assert parts <= (predicted["memory_gib"] if fixed else predicted["budget_gib"]) + 0.03


@every
@given(models(), fleets)
def test_the_context_starts_and_the_requests_fit(model: dict[str, Any], fleet: dict[str, Any]) -> None:
    result = planned(model, fleet)
    if result["feasible"]:
        predicted = result["predicted"]
        assert 0 < result["max_model_len"] <= predicted["kv_cache_tokens"] / result["data_parallel_size"]
        assert predicted["concurrency"] >= model.get("concurrency", 1) - 0.01
        if "context" in model:
            assert result["max_model_len"] == model["context"]


@every
@given(models(), fleets, st.randoms(use_true_random=False))
def test_order_of_the_input_changes_nothing(
    model: dict[str, Any], fleet: dict[str, Any], shuffle: random.Random
) -> None:
    def mixed(mapping: dict[str, Any]) -> dict[str, Any]:
        keys = list(mapping)
        shuffle.shuffle(keys)
        return {key: mapping[key] for key in keys}

    other = mixed(fleet)
    for host, facts in other.items():
        devices = list(facts["devices"])
        shuffle.shuffle(devices)
        other[host] = mixed({**facts, "devices": devices, "links": mixed(facts["links"])})
    assert planned(mixed(model), other) == planned(model, fleet)


@every
@given(models(), fleets)
def test_every_flag_exists_and_every_decision_has_its_reason(model: dict[str, Any], fleet: dict[str, Any]) -> None:
    result = planned(model, fleet)
    if result["feasible"]:
        flags = known_flags(model.get("vllm_version", "0.17.1"))
        names = [item.partition("=")[0] for item in result["backend_parameters"] if item.startswith("-")]
        assert all(name in flags for name in names)
        assert len({flags[name].name for name in names}) == len(names)
        decided = [decision["parameter"] for decision in result["decisions"]]
        assert sorted(decided) == sorted([flags_name(name, flags, decided) for name in names] + list(result["env"]))
        assert all(decision["rule"] and decision["reason"] and decision["source"] for decision in result["decisions"])


def flags_name(name: str, flags: dict[str, Any], decided: list[str]) -> str:
    return name if name in decided else flags[name].name


@every
@given(models(), fleets)
def test_a_plan_is_plain_data_and_an_infeasible_one_says_why(model: dict[str, Any], fleet: dict[str, Any]) -> None:
    result = planned(model, fleet)
    assert json.loads(json.dumps(result)) == result
    assert "\n" not in result.get("error", "")
    if result["feasible"] is False:
        assert result["backend_parameters"] == []
        assert all(problem["rule"] and problem["message"] for problem in result["problems"])
        assert result["problems"]


@every
@given(st.lists(models(), max_size=4), fleets)
def test_several_models_never_share_a_card(declared: list[dict[str, Any]], fleet: dict[str, Any]) -> None:
    try:
        plans = plan_models(declared, fleet)
    except PlanError:
        return
    used = [
        (host, index)
        for result in plans
        for placed in result["placements"]
        for host, indexes in placed.items()
        for index in indexes
    ]
    assert len(used) == len(set(used))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_plans_on_every_version(version: str, v100_pair_fleet: dict[str, Any]) -> None:
    model = {
        "name": "m", "source": {"huggingface_repo_id": "Qwen/Qwen2.5-14B-Instruct"}, "gpus": 4, "tools": True,
        "vllm_version": version, "backend_version": f"{version}-site-custom",
    }  # fmt: skip
    result = plan(model, v100_pair_fleet)
    assert (result["tensor_parallel_size"], result["pipeline_parallel_size"]) == (4, 1)
    assert "--tool-call-parser=hermes" in result["backend_parameters"]
