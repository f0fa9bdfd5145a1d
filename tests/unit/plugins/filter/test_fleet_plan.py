# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.fleet_plan import fleet_plan

SMALL = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}


def host(cards: int = 2) -> dict[str, Any]:
    device = {
        "name": "Tesla V100-PCIE-32GB",
        "architecture": "volta",
        "compute_capability": "7.0",
        "memory_total_mib": 32768,
        "memory_used_mib": 0,
        "mig": "unsupported",
        "usable": True,
        "problems": [],
        "uuid": None,
    }
    devices = [{**device, "index": index, "pci_bus_id": f"00000000:{index + 1:02X}:00.0"} for index in range(cards)]
    links = {"0-1": {"topology": "SYS", "nvlinks": 0, "p2p_read": None}} if cards == 2 else {}
    return {
        "driver_version": "580.95.05",
        "cuda_version": "13.0",
        "devices": devices,
        "links": links,
        "nvlink": "none",
        "problems": [],
    }


def model(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "source": {"local_path": f"/models/{name}"}, "config": SMALL, "gpus": 2, **keys}


def test_a_card_goes_to_one_model_only() -> None:
    plans = fleet_plan([model("one"), model("two")], {"a": host(), "b": host()})
    assert list(plans) == ["one", "two"]
    assert {plans["one"]["placement"].popitem()[0], plans["two"]["placement"].popitem()[0]} == {"a", "b"}


def test_a_model_that_finds_no_card_left_is_infeasible_and_does_not_stop_the_others() -> None:
    plans = fleet_plan([model("one"), model("two"), model("three")], {"a": host(), "b": host()})
    assert [plan["feasible"] for plan in plans.values()] == [True, True, False]
    assert plans["three"]["problems"]


def test_config_comes_from_the_directory_that_was_read_on_the_workers() -> None:
    declared = {"name": "one", "source": {"local_path": "/models/one"}, "gpus": 2}
    read = {"b": {"model_directories": {"/models/one": {"config": SMALL}}}, "a": {"model_directories": {}}}
    (plan,) = fleet_plan([declared], {"a": host()}, read).values()
    assert plan["feasible"]
    assert plan["max_model_len"] == 32768


def test_defaults_count_unless_the_model_says_otherwise() -> None:
    declared = [model("one"), model("two", gpu_memory_utilization=0.8)]
    plans = fleet_plan(declared, {"a": host(), "b": host()}, {}, {"gpu_memory_utilization": 0.7})
    budgets = [plan["predicted"]["budget_gib"] for plan in plans.values()]
    assert budgets == pytest.approx([31.74 * 0.7, 31.74 * 0.8], abs=0.02)


def test_keys_of_gpustack_alone_do_not_reach_the_planner() -> None:
    plans = fleet_plan([model("one", description="d", categories=["llm"], restart_on_error=False)], {"a": host()})
    assert plans["one"]["feasible"]


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ("qwen", "gpustack_models_declared is str, wanted a list of models"),
        (["qwen"], "gpustack_models_declared has 'qwen', wanted a mapping with name and source"),
        ([model("one"), model("one")], "model one is declared 2 times, wanted one entry a name"),
        ([model("one", contxt=1)], "contxt"),
    ],
)
def test_a_wrong_declaration_is_one_clear_sentence(declared: Any, sentence: str) -> None:
    with pytest.raises(AnsibleFilterError, match=sentence):
        fleet_plan(declared, {"a": host()})


def test_a_model_alone_on_the_fleet_is_left_to_the_scheduler() -> None:
    (plan,) = fleet_plan([model("one")], {"a": host()}).values()
    assert plan["gpu_selector"] is None


def test_models_beside_each_other_are_pinned_to_their_cards_under_the_workers_names() -> None:
    fleet = {"a": host(), "b": host()}
    plans = fleet_plan([model("one", gpus=1), model("two", gpus=1), model("three")], fleet, {}, {}, {"b": "worker-b"})
    assert [plan["gpu_selector"] for plan in plans.values()] == [
        {"gpu_ids": ["a:cuda:0"], "gpus_per_replica": 1},
        {"gpu_ids": ["a:cuda:1"], "gpus_per_replica": 1},
        {"gpu_ids": ["worker-b:cuda:0", "worker-b:cuda:1"], "gpus_per_replica": 2},
    ]
