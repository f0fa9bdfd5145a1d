# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a user can get wrong in a declared model or in facts is one clear sentence."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan

Host = Callable[..., dict[str, Any]]
Model = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"contxt": 1}, r"contxt is not a key of a model \(did you mean context\?\)"),
        ({"name": ""}, "name is '', wanted a text"),
        ({"name": None}, "name is None, wanted a text"),
        ({"source": "Qwen/Qwen3-8B"}, "source is 'Qwen/Qwen3-8B', wanted a mapping with one of local_path"),
        ({"source": {"local_pth": "/m"}}, r"source has local_pth \(did you mean local_path\?\)"),
        ({"source": {}}, "exactly one of local_path"),
        ({"source": {"local_path": "/m", "huggingface_repo_id": "a/b"}}, "exactly one of local_path"),
        ({"source": None}, "neither source nor config is declared"),
        ({"source": {"local_path": "/m/unheard-of"}}, "the shape of unheard-of is not built in: declare config"),
        ({"config": "config.json"}, "config is 'config.json', wanted the mapping"),
        ({"context": "long"}, "context is 'long', wanted a number"),
        ({"context": 0}, "context is 0, wanted a number of at least 1"),
        ({"context": 1.5}, "context is 1.5, wanted a whole number"),
        ({"context": True}, "context is True, wanted a number"),
        ({"context_extension": "stretch"}, "wanted yarn, unscaled or none"),
        ({"concurrency": 0}, "concurrency is 0, wanted a number of at least 1"),
        ({"gpus": -1}, "gpus is -1, wanted a number of at least 1"),
        ({"replicas": -1}, "replicas is -1"),
        ({"tools": "hermes"}, "tools is 'hermes', wanted true or false"),
        ({"gpu_memory_utilization": 90}, "wanted a share between 0 and 1"),
        ({"shared_memory_gib": "64g"}, "shared_memory_gib is '64g', wanted a number"),
        ({"vllm_version": "newest"}, "vllm_version is 'newest', wanted a version like 0.17.1"),
        ({"vllm_version": 0.17}, "vllm_version is 0.17, wanted a text"),
        ({"vllm_version": "0.7.3"}, "the oldest that can be planned is 0.8.5"),
        ({"backend_parameters": "--dtype=half"}, "wanted a list of texts"),
        ({"backend_parameters": [1]}, "wanted a list of texts"),
        ({"env": ["A=b"]}, "env is .* wanted a mapping"),
        ({"env": {"A": True}}, "env.A is bool, wanted a text: put it in quotes"),
        (
            {"override": ["volta-no-pipeline"]},
            r"no rule volta-no-pipeline \(did you mean volta-no-pipeline-parallel\?\)",
        ),
        ({"context": 1024, "backend_parameters": ["--max-model-len=2048"]}, "declare it once"),
        (
            {"gpu_memory_utilization": 0.8, "backend_parameters": ["--gpu-memory-utilization=0.9"]},
            "gpu_memory_utilization is 0.8, but backend_parameters has .* declare it once",
        ),
        ({"gpus": 2, "backend_parameters": ["-tp=4", "-pp=1"]}, "gpus is 2, but the sizes .* make 4"),
        ({"gpus": 3, "backend_parameters": ["-tp=2"]}, r"gpus is 3, which the sizes .* \(2\) do not divide"),
        ({"backend_parameters": ["-tp=0"]}, "--tensor-parallel-size is 0"),
        ({"backend_parameters": ["--enable-expert-parallel"]}, "mixture-of-experts models: drop it"),
        ({"backend_parameters": ["--port=8000"]}, "refused by rule gpustack-sets-it"),
        ({"backend_parameters": ["--api-key=x"]}, "refused by rule gpustack-sets-it"),
        ({"backend_parameters": ["--config=/etc/vllm.yml"]}, "refused by rule no-config-file"),
        ({"backend_parameters": ["--dtype=bfloat16"]}, "refused by rule bfloat16-needs-ampere"),
        ({"env": {"VLLM_ATTENTION_BACKEND": "TRITON_ATTN"}}, "attention-backend-variable-is-gone"),
        ({"env": {"VLLM_USE_FLASHINFER_SAMPLER": "1"}}, "flashinfer-sampler-needs-turing"),
        ({"tools": True, "backend_parameters": ["--no-enable-auto-tool-choice"]}, "tools-are-declared"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_wrong_input_is_one_sentence_that_says_what_to_do(
    keys: dict[str, Any], message: str, v100_pair_fleet: dict[str, Any], model: Model
) -> None:
    with pytest.raises(PlanError, match=message) as raised:
        plan(model(**keys), v100_pair_fleet)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fleet", "message"),
    [
        (None, "fleet is NoneType, wanted the mapping"),
        ({"a": None}, "fleet.a is NoneType"),
        ({"a": {}}, "fleet.a has no list of devices"),
        ({"a": {"devices": [{"index": "0"}]}}, "fleet.a has a device with index '0'"),
        ({"a": {"devices": ["Tesla"]}}, "fleet.a.devices is str"),
        (
            {"a": {"devices": [{"index": 0, "name": "x", "compute_capability": "7.0", "memory_total_mib": 1}],
                   "links": {"zero": {}}}},
            "fleet.a.links has 'zero', wanted pairs like 0-1",
        ),
    ],
)  # fmt: skip
def test_facts_of_another_shape_are_one_sentence(fleet: Any, message: str, model: Model) -> None:
    with pytest.raises(PlanError, match=message):
        plan(model(), fleet)


def test_a_model_that_is_no_mapping_is_an_error() -> None:
    with pytest.raises(PlanError, match="the model is str, wanted a mapping"):
        plan("qwen", {})  # type: ignore[arg-type]


def test_numbers_may_come_as_text(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    typed = plan(model(gpus=4, context=32768, tools=True), v100_pair_fleet)
    assert plan(model(gpus="4", context="32768", tools="yes"), v100_pair_fleet) == typed


def test_a_parameter_error_comes_without_any_card_as_well(model: Model) -> None:
    with pytest.raises(PlanError, match="gpustack-sets-it"):
        plan(model(backend_parameters=["--port=8000"]), {})


def test_cards_that_cannot_be_used_are_named_with_their_reason(host: Host, model: Model) -> None:
    lost = host("v100", "v100")
    lost["devices"][0]["usable"] = False
    lost["devices"][0]["problems"] = [{"code": "gpu_lost", "message": "the GPU is lost", "remedy": "reboot"}]
    result = plan(model("Qwen/Qwen2.5-7B-Instruct"), {"one": lost})
    assert result["placement"] == {"one": [1]}
    warning = next(w["message"] for w in result["warnings"] if w["rule"] == "card-left-out")
    assert warning == "left out, because the GPU is lost: one card 0 (Tesla V100-PCIE-32GB)"


def test_a_fleet_without_cards_says_what_the_hosts_report(model: Model) -> None:
    facts = {"devices": [], "links": {}, "problems": [{"code": "driver_missing", "message": "no NVIDIA driver"}]}
    result = plan(model(), {"one": facts})
    assert result["feasible"] is False
    assert result["problems"][0]["message"] == "the fleet has no usable GPU (one: no NVIDIA driver)"


def test_cards_split_by_mig_or_without_facts_are_left_out(host: Host, model: Model) -> None:
    facts = host("a100", "a100", "a100")
    facts["devices"][0]["mig"] = "enabled"
    facts["devices"][1]["compute_capability"] = None
    result = plan(model("Qwen/Qwen2.5-7B-Instruct"), {"one": facts})
    assert result["placement"] == {"one": [2]}
    assert len([w for w in result["warnings"] if w["rule"] == "card-left-out"]) == 2


@pytest.mark.parametrize(
    "keys",
    [
        {"backend_parameters": ["--api-key=s3cret-value"]},
        {"backend_parameters": ["--hf-token s3cret-value --no-such"]},
        {"backend_parameters": ["--hf-token=s3cret-value", "--hf-token=s3cret-value"]},
        {"backend_parameters": ["--hf-token=s3cret-value --dtype=half"]},
        {"backend_parameters": ["--api-key=s3cret-value", 1]},
        {"env": ["HF_TOKEN=s3cret-value"]},
        {"env": {"HF_TOKEN": ["s3cret-value"]}},
    ],
    ids=str,
)
def test_no_error_shows_a_secret(keys: dict[str, Any], v100_pair_fleet: dict[str, Any], model: Model) -> None:
    with pytest.raises(PlanError) as raised:
        plan(model(**keys), v100_pair_fleet)
    assert "s3cret-value" not in str(raised.value)


def test_no_decision_shows_a_secret(v100_pair_fleet: dict[str, Any], model: Model) -> None:
    asked = model(
        env={"HF_TOKEN": "s3cret-value", "HF_HUB_OFFLINE": "1"}, backend_parameters=["--hf-token=s3cret-value"]
    )
    result = plan(asked, v100_pair_fleet)
    assert result["env"]["HF_TOKEN"] == "s3cret-value"
    shown = {decision["parameter"]: decision["value"] for decision in result["decisions"]}
    assert (shown["HF_TOKEN"], shown["--hf-token"], shown["HF_HUB_OFFLINE"]) == ("********", "********", "1")
