# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.verification import verification

PLAN = {
    "backend_version": "0.17.1",
    "backend_parameters": ["--tensor-parallel-size=2"],
    "env": {},
    "tensor_parallel_size": 2,
    "pipeline_parallel_size": 1,
    "placement": {"a": [0, 1]},
    "replicas": 1,
    "predicted": {"weights_gib": 13.93, "kv_cache_gib": 13.97, "kv_cache_tokens": 152528, "concurrency": 4.65},
    "decisions": [
        {
            "parameter": "--tensor-parallel-size",
            "value": 2,
            "rule": "r",
            "reason": "both cards hold half of it",
            "source": "s",
        }
    ],
}
LOG = [
    "Model loading took 13.94 GiB memory and 5.1 seconds",
    "Available KV cache memory: 13.98 GiB",
    "GPU KV cache size: 152,640 tokens",
    "Maximum concurrency for 32,768 tokens per request: 4.66x",
]
WORKERS = [{"name": "a", "state": "ready", "gpu_devices": [{"name": "Tesla V100-PCIE-32GB"}] * 2}]


def model(**changes: Any) -> dict[str, Any]:
    instance = {
        "name": "qwen-x1y2z",
        "state": "running",
        "restart_count": 0,
        "worker_name": "a",
        "distributed_servers": None,
        "log": LOG,
    }
    return {"name": "qwen", "stale_instances": [], "instances": [instance], **changes}


def engines(command: str = "--tensor-parallel-size=2") -> dict[str, Any]:
    container = {
        "name": "qwen-x1y2z-run-0",
        "role": "default",
        "state": "running",
        "command": ["vllm", "serve", "/models/qwen", command],
        "env": {"CUDA_VISIBLE_DEVICES": "0,1"},
    }
    return {"a": {"instances": {"qwen-x1y2z": {"containers": [container]}}, "worker": None}}


def test_what_runs_as_planned_says_so_in_the_first_line_and_shows_figures() -> None:
    result = verification({"qwen": PLAN}, [model()], WORKERS, engines())
    assert (result["verified"], result["problems"]) == (True, [])
    lines = result["text"].splitlines()
    assert lines[0] == "1 model runs as planned"
    assert "    instance          qwen-x1y2z running on a, 0 restarts" in lines
    assert "    KV cache tokens   152,528 predicted, 152,640 printed by vLLM (+0.1%)" in lines
    assert any("--tensor-parallel-size=2" in line and "both cards hold half of it" in line for line in lines)
    assert "    a                 ready, 2 × Tesla V100-PCIE-32GB" in lines


def test_another_parameter_than_planned_is_a_problem_in_one_sentence() -> None:
    result = verification({"qwen": PLAN}, [model()], WORKERS, engines("--tensor-parallel-size=1"))
    assert result["verified"] is False
    assert result["text"].splitlines()[0] == "0 of 1 model run as planned"
    assert result["problems"] == ["qwen-x1y2z-run-0 on a: --tensor-parallel-size is 1, planned is 2."]


def test_model_that_gpustack_lacks_and_stale_instances_are_problems() -> None:
    missing = verification({"qwen": PLAN}, [], WORKERS, engines())
    assert missing["problems"] == ["qwen is declared and GPUStack does not have it. Run site.yml."]
    stale = verification({"qwen": PLAN}, [model(stale_instances=["qwen-x1y2z"])], WORKERS, engines())
    assert stale["problems"] == ["qwen-x1y2z still runs an older configuration than GPUStack has. Run site.yml."]


ASKED = {"ansible_loop_var": "name", "name": "qwen"}  # as Ansible keeps a result of a loop


def test_answer_is_shown_with_its_length_and_time() -> None:
    asked = {
        **ASKED,
        "elapsed": 2,
        "json": {"choices": [{"message": {"content": " Hello there. "}}], "usage": {"completion_tokens": 3}},
    }
    text = verification({"qwen": PLAN}, [model()], WORKERS, engines(), [asked], "Say hello.")["text"]
    assert "    asked             Say hello." in text
    assert "    answered          Hello there. (3 tokens in 2.0 s)" in text


def test_an_answer_that_was_cut_off_says_so() -> None:
    choice = {"message": {"content": "Hello there, my"}, "finish_reason": "length"}
    asked = {**ASKED, "elapsed": 2, "json": {"choices": [choice], "usage": {"completion_tokens": 4}}}
    text = verification({"qwen": PLAN}, [model()], WORKERS, engines(), [asked], "Say hello.")["text"]
    assert "    answered          Hello there, my … (no more than 4 tokens were asked for; in 2.0 s)" in text


def test_no_model_declared_says_what_to_do() -> None:
    assert verification({}, [], [], {})["text"].startswith("No model is declared: set gpustack_models_declared.")


def test_something_else_than_results_is_one_clear_error() -> None:
    with pytest.raises(AnsibleFilterError, match="Wanted are plans by model name"):
        verification({"qwen": PLAN}, [{"nome": "qwen"}], WORKERS, engines())


TWO = {**PLAN, "members": ["qwen", "qwen-r2"], "replicas": 2, "placements": [{"a": [0, 1]}, {"b": [0, 1]}]}
IN_ROUTE = [{"name": "qwen"}]


def second(**changes: Any) -> dict[str, Any]:
    instance = {**model()["instances"][0], "name": "qwen-r2-a1b2c", "worker_name": "b", "log": []}
    return {"name": "qwen-r2", "stale_instances": [], "routes": IN_ROUTE, "instances": [instance], **changes}


def two_engines() -> dict[str, Any]:
    first = engines()
    (content,) = first["a"]["instances"].values()
    return {**first, "b": {"instances": {"qwen-r2-a1b2c": content}}}


def test_replicas_that_are_models_of_their_own_are_one_declared_model() -> None:
    result = verification({"qwen": TWO}, [model(routes=IN_ROUTE), second()], WORKERS, two_engines())
    assert result["problems"] == []
    assert result["text"].startswith("1 model runs as planned")
    assert "qwen-x1y2z running on a" in result["text"]
    assert "qwen-r2-a1b2c running on b" in result["text"]
    assert result["text"].count("printed by vLLM") == 4


@pytest.mark.parametrize(
    ("running", "problem"),
    [
        (
            [model(routes=IN_ROUTE)],
            "qwen-r2, a replica of qwen, is declared and GPUStack does not have it. Run site.yml.",
        ),
        (
            [model(routes=IN_ROUTE), second(routes=[])],
            "qwen-r2 is not in the route qwen, so it gets no requests. Run site.yml.",
        ),
        (
            [model(routes=IN_ROUTE), second(stale_instances=["qwen-r2-a1b2c"])],
            "qwen-r2-a1b2c still runs an older configuration than GPUStack has. Run site.yml.",
        ),
    ],
)
def test_replica_that_does_not_serve_is_told(running: list[dict[str, Any]], problem: str) -> None:
    result = verification({"qwen": TWO}, running, WORKERS, two_engines())
    assert result["problems"] == [problem]
    assert result["text"].startswith("0 of 1 model run as planned")


def test_engine_of_a_second_replica_is_compared_with_the_plan() -> None:
    engines_of_both = two_engines()
    engines_of_both["b"] = engines("--tensor-parallel-size=1")["a"]
    engines_of_both["b"]["instances"] = {"qwen-r2-a1b2c": engines_of_both["b"]["instances"].popitem()[1]}
    result = verification({"qwen": TWO}, [model(routes=IN_ROUTE), second()], WORKERS, engines_of_both)
    assert any("--tensor-parallel-size is 1, planned is 2" in problem for problem in result["problems"])
