# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The case that the planner has to meet to the letter: Qwen2.5-14B on two hosts with two V100-PCIE-32GB each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan

PARAMETERS = [
    "--distributed-executor-backend=ray",
    "--tensor-parallel-size=4",
    "--pipeline-parallel-size=1",
    "--max-model-len=65536",
    "--generation-config=vllm",
    "--enable-auto-tool-choice",
    "--tool-call-parser=hermes",
    "--dtype=float16",
]


@pytest.fixture
def reference() -> dict[str, Any]:
    return {
        "name": "qwen2.5-14b-instruct",
        "source": {"local_path": "/var/lib/models/Qwen2.5-14B-Instruct"},
        "gpus": 4,
        "context": 65536,
        "context_extension": "unscaled",
        "tools": True,
        "concurrency": 4,
    }


def test_parameters_are_those_of_the_stable_setup(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    result = plan(reference, v100_pair_fleet)
    assert result["feasible"] is True
    assert result["problems"] == []
    assert result["backend_parameters"] == PARAMETERS


def test_variables_allow_the_long_context_and_size_the_shared_memory(
    reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    assert plan(reference, v100_pair_fleet)["env"] == {
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
        "GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB": "64",
    }


def test_prediction_meets_what_vllm_printed(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    predicted = plan(reference, v100_pair_fleet)["predicted"]
    assert predicted["weights_gib"] == 6.95
    assert predicted["kv_cache_tokens"] == pytest.approx(458160, rel=0.002)
    assert predicted["kv_cache_gib"] == pytest.approx(20.97, rel=0.002)
    assert predicted["concurrency"] == pytest.approx(6.98, abs=0.01)
    assert plan({**reference, "context": 32768}, v100_pair_fleet)["predicted"]["concurrency"] == pytest.approx(
        13.98, abs=0.03
    )


def test_all_four_cards_are_placed(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    result = plan(reference, v100_pair_fleet)
    assert result["placement"] == {"gpu-worker-a": [0, 1], "gpu-worker-b": [0, 1]}
    assert result["distributed"] is True
    assert result["automatic_placement"] is True
    assert result["gpus_per_replica"] == 4


def test_user_is_told_that_output_may_degrade(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    messages = {warning["rule"]: warning["message"] for warning in plan(reference, v100_pair_fleet)["warnings"]}
    assert "32768" in messages["context-unscaled"]
    assert "degrade" in messages["context-unscaled"]


def test_every_parameter_and_variable_has_a_reason_and_a_source(
    reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    result = plan(reference, v100_pair_fleet)
    decided = [decision["parameter"] for decision in result["decisions"]]
    assert decided == [item.partition("=")[0] for item in PARAMETERS] + list(result["env"])
    assert all(decision["rule"] and decision["reason"] and decision["source"] for decision in result["decisions"])
    pipeline = next(d for d in result["decisions"] if d["parameter"] == "--pipeline-parallel-size")
    assert (pipeline["value"], pipeline["rule"]) == (1, "volta-no-pipeline-parallel")


def test_two_replicas_on_one_host_each_are_offered(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    first = plan(reference, v100_pair_fleet)["alternatives"][0]
    assert (first["replicas"], first["tensor_parallel_size"], first["distributed"]) == (2, 2, False)
    assert first["placements"] == [{"gpu-worker-a": [0, 1]}, {"gpu-worker-b": [0, 1]}]
    assert first["predicted"]["weights_gib"] == 13.93
    assert first["predicted"]["kv_cache_tokens"] == pytest.approx(152528, rel=0.005)


@pytest.mark.parametrize(
    "spelling",
    [
        ["--pipeline-parallel-size=2"],
        ["--pipeline-parallel-size 2"],
        ["--pipeline-parallel-size", "2"],
        ["--pipeline_parallel_size=2"],
        ["-pp=2"],
        ["-pp 2"],
        ["-pp", "2"],
        ["-pp2"],
        ["--pipeline-parallel=2"],
        ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"],
    ],
    ids=" ".join,
)
def test_pipeline_parallel_on_volta_is_an_error_in_every_spelling(
    spelling: list[str], reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    with pytest.raises(PlanError, match=r"refused by rule volta-no-pipeline-parallel: .*--tensor-parallel-size=4"):
        plan({**reference, "backend_parameters": spelling}, v100_pair_fleet)


def test_pipeline_parallel_on_volta_cannot_be_lifted(
    reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    asked = {**reference, "backend_parameters": ["-pp=2"], "override": ["volta-no-pipeline-parallel"]}
    with pytest.raises(PlanError, match="volta-no-pipeline-parallel cannot be lifted"):
        plan(asked, v100_pair_fleet)


def test_graph_timeout_is_taken_out(reference: dict[str, Any], v100_pair_fleet: dict[str, Any]) -> None:
    result = plan({**reference, "env": {"RAY_CGRAPH_get_timeout": "600", "HF_HUB_OFFLINE": "1"}}, v100_pair_fleet)
    assert "RAY_CGRAPH_get_timeout" not in result["env"]
    assert result["env"]["HF_HUB_OFFLINE"] == "1"
    assert "no-graph-timeout-without-stages" in {warning["rule"] for warning in result["warnings"]}


def test_custom_image_is_echoed_and_quiets_the_warning(
    reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    result = plan({**reference, "backend_version": "0.17.1-v100-custom"}, v100_pair_fleet)
    assert (result["backend"], result["backend_version"]) == ("vLLM", "0.17.1-v100-custom")
    assert "volta-stock-image" not in {warning["rule"] for warning in result["warnings"]}


class TaggedText(str):
    """A text like Ansible's tagged ones."""

    __slots__ = ()


def tagged(value: Any) -> Any:
    if isinstance(value, str):
        return TaggedText(value)
    if isinstance(value, dict):
        return {TaggedText(key): tagged(inner) for key, inner in value.items()}
    return [tagged(inner) for inner in value] if isinstance(value, list) else value


def types_in(value: Any) -> set[type]:
    if isinstance(value, dict):
        return {dict}.union(*(types_in(key) | types_in(inner) for key, inner in value.items()))
    if isinstance(value, list):
        return {list}.union(*(types_in(inner) for inner in value))
    return {type(value)}


def test_result_is_plain_whatever_kind_of_text_came_in(
    reference: dict[str, Any], v100_pair_fleet: dict[str, Any]
) -> None:
    asked = {**reference, "backend_parameters": ["--max-num-seqs=64"], "env": {"A": "b"}}
    result = plan(tagged(asked), tagged(v100_pair_fleet))
    assert types_in(result) <= {dict, list, str, int, float, bool, type(None)}
    assert json.loads(json.dumps(result)) == result == plan(asked, v100_pair_fleet)
