# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.fleet_plan import fleet_plan
from ansible_collections.gpuops.gpustack.plugins.filter.model_declarations import model_declarations
from ansible_collections.gpuops.gpustack.plugins.filter.plan_html import plan_html
from ansible_collections.gpuops.gpustack.plugins.filter.plan_table import plan_table

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


@pytest.mark.parametrize(
    ("source", "keys", "download"),
    [
        ({"local_path": "/models/one"}, {"gpus": 2, "config": SMALL}, None),
        ({"huggingface_repo_id": "Qwen/Qwen2.5-14B-Instruct"}, {"gpus": 2},
         {"model": "Qwen/Qwen2.5-14B-Instruct", "size_gib": 27.6}),
        ({"model_scope_model_id": "qwen/Qwen2.5-14B-Instruct"}, {"gpus": 2},
         {"model": "qwen/Qwen2.5-14B-Instruct", "size_gib": 27.6}),
        ({"huggingface_repo_id": "somebody/model"}, {"plan": False}, {"model": "somebody/model", "size_gib": None}),
    ],
)  # fmt: skip
def test_what_is_not_on_a_disk_has_to_be_downloaded(source, keys, download) -> None:
    (plan,) = fleet_plan([{"name": "one", "source": source, **keys}], {"a": host(), "b": host()}).values()
    assert plan["download"] == download


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
    assert (plan["gpu_selectors"], plan["members"], plan["rollout"]) == (None, ["one"], "drain")


def test_models_beside_each_other_are_pinned_to_their_cards_under_the_workers_names() -> None:
    fleet = {"a": host(), "b": host()}
    plans = fleet_plan([model("one", gpus=1), model("two", gpus=1), model("three")], fleet, {}, {}, {"b": "worker-b"})
    assert [plan["gpu_selectors"] for plan in plans.values()] == [
        [{"gpu_ids": ["a:cuda:0"], "gpus_per_replica": 1}],
        [{"gpu_ids": ["a:cuda:1"], "gpus_per_replica": 1}],
        [{"gpu_ids": ["worker-b:cuda:0", "worker-b:cuda:1"], "gpus_per_replica": 2}],
    ]


AS_IS: dict[str, Any] = {
    "name": "mine",
    "plan": False,
    "source": {"local_path": "/models/mine"},
    "config": SMALL,
    "backend_parameters": ["--max-model-len=4096"],
    "env": {"A": "1"},
    "gpu_selector": {"gpu_ids": ["a:cuda:0"]},
    "replicas": 2,
}


def test_model_that_is_not_to_be_planned_is_taken_as_declared() -> None:
    plans = fleet_plan([model("one"), AS_IS], {"a": host()}, defaults={"vllm_version": "0.17.1"})
    plan = plans["mine"]
    assert (plan["feasible"], plan["as_is"], plan["backend"], plan["backend_version"]) == (True, True, "vLLM", None)
    assert (plan["backend_parameters"], plan["env"]) == (["--max-model-len=4096"], {"A": "1"})
    assert (plan["members"], plan["rollout"], plan["gpu_selectors"]) == (["mine"], "recreate", None)
    assert plan["warnings"][0]["message"] == "taken as declared (plan: false): nothing is planned or predicted"
    assert plans["one"]["placement"] == {"a": [0, 1]}


def test_what_the_planner_would_refuse_is_a_warning_there() -> None:
    refused = {**AS_IS, "backend_parameters": ["--pipeline-parallel-size=2"]}
    messages = [warning["message"] for warning in fleet_plan([refused], {"a": host()})["mine"]["warnings"]]
    assert any("the planner would refuse it" in text and "volta-no-pipeline-parallel" in text for text in messages)
    other = {**refused, "backend": "Custom", "image_name": "x/y:1", "run_command": "serve"}
    assert len(fleet_plan([other], {"a": host()})["mine"]["warnings"]) == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"context": 4096}, "with plan: false there is no key context"),
        ({"worker_selectr": {}}, r"no key worker_selectr \(did you mean worker_selector\?\)"),
        ({"source": None}, "model mine: source is missing"),
    ],
)
def test_declaration_that_makes_no_sense_without_a_plan_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        fleet_plan([{**AS_IS, **keys}], {"a": host()})


def test_plan_true_is_the_same_as_none() -> None:
    fleet = {"a": host()}
    assert fleet_plan([model("one", plan=True)], fleet) == fleet_plan([model("one")], fleet)


def test_declarations_are_what_modules_take() -> None:
    declared = [model("one", description="text", replicas=2), AS_IS]
    plans = fleet_plan(declared, {"a": host(), "b": host(), "c": host()})
    one, mine = model_declarations(declared, plans)
    assert (one["name"], one["local_path"], one["description"], one["replicas"]) == ("one", "/models/one", "text", 2)
    assert one["backend_parameters"] == plans["one"]["backend_parameters"]
    assert one["gpu_selectors"] == plans["one"]["gpu_selectors"]
    assert "source" not in one
    assert mine == {
        "name": "mine",
        "local_path": "/models/mine",
        "backend_parameters": ["--max-model-len=4096"],
        "env": {"A": "1"},
        "gpu_selector": {"gpu_ids": ["a:cuda:0"]},
        "replicas": 2,
        "rollout": "recreate",
    }


def test_table_and_page_show_a_model_that_is_not_planned() -> None:
    plans, fleet = fleet_plan([AS_IS], {"a": host()}), {"a": host()}
    assert "aken as declared" in plan_table(plans, fleet)
    assert "aken as declared" in plan_html(plans, fleet)


def test_declarations_need_their_plans() -> None:
    with pytest.raises(AnsibleFilterError, match="Wanted are the declared models, and their plans"):
        model_declarations([model("one")], {})


def test_each_replica_is_a_model_of_its_own_on_its_own_cards() -> None:
    (plan,) = fleet_plan([model("one", gpus=2, replicas=2)], {"a": host(), "b": host()}).values()
    assert (plan["members"], plan["rollout"]) == (["one", "one-r2"], "drain")
    assert [selector["gpu_ids"] for selector in plan["gpu_selectors"]] == [
        ["a:cuda:0", "a:cuda:1"],
        ["b:cuda:0", "b:cuda:1"],
    ]


def test_plain_replicas_are_one_model_that_gpustack_places() -> None:
    declared = [model("one", gpus=2, replicas=2, rollout="recreate")]
    (plan,) = fleet_plan(declared, {"a": host(), "b": host()}).values()
    assert (plan["members"], plan["gpu_selectors"]) == (["one"], None)
    (plan,) = fleet_plan(
        [model("one", gpus=2, replicas=2)], {"a": host(), "b": host()}, {}, {"rollout": "recreate"}
    ).values()
    assert plan["rollout"] == "recreate"


def test_members_are_named_though_the_model_does_not_fit() -> None:
    (plan,) = fleet_plan([model("one", gpus=2, replicas=3)], {"a": host()}).values()
    assert (plan["feasible"], plan["members"], plan["gpu_selectors"]) == (False, ["one", "one-r2", "one-r3"], None)


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (
            [model("one", replicas=2, gpus=1), model("one-r2", gpus=1)],
            "model one-r2 is declared, and a replica of model",
        ),
        (
            [model("one", rollout="blue")],
            "rollout of model one: strategy is 'blue'; wanted is auto or drain or surge or ",
        ),
    ],
)
def test_a_replica_that_can_not_be_is_one_clear_sentence(declared: Any, sentence: str) -> None:
    with pytest.raises(AnsibleFilterError, match=sentence):
        fleet_plan(declared, {"a": host(), "b": host()})


def test_model_that_is_taken_as_it_is_may_have_replicas_of_their_own() -> None:
    selectors = [{"gpu_ids": ["a:cuda:0"]}, {"gpu_ids": ["a:cuda:1"]}]
    entry = {name: value for name, value in AS_IS.items() if name != "gpu_selector"}
    drained = {**entry, "rollout": "drain", "gpu_selectors": selectors}
    plan = fleet_plan([drained], {"a": host()})["mine"]
    assert (plan["members"], plan["rollout"], plan["gpu_selectors"]) == (["mine", "mine-r2"], "drain", selectors)
    assert model_declarations([drained], {})[0]["rollout"] == "drain"
