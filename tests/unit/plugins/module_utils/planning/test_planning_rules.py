# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every rule, in a case where it applies; and what rules have in common."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.rules import (
    CAUTIONS,
    PARAMETERS,
    REFUSALS,
    VARIABLES,
    all_rules,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.vllm_flags import VERSIONS, known_flags

Host = Callable[..., dict[str, Any]]
Model = Callable[..., dict[str, Any]]

SMALL = "Qwen/Qwen2.5-7B-Instruct"
CUSTOM = {"backend_version": "0.17.1-site-custom"}


def config(**keys: Any) -> dict[str, Any]:
    """A small dense model's config.json with some keys changed."""
    return {
        "model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
        "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000, "max_position_embeddings": 16384,
        **keys,
    }  # fmt: skip


LATENT = config(kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128)
VISION = {"depth": 8, "hidden_size": 1024}
EXPERTS = config(num_experts=16, num_experts_per_tok=2, moe_intermediate_size=1024)
ONE_KV_HEAD = {**EXPERTS, "num_key_value_heads": 1}
LLAMA = {"huggingface_repo_id": "meta-llama/Llama-3.1-8B-Instruct"}
MP = "--distributed-executor-backend=mp"
MXFP4 = {"quant_method": "mxfp4"}

# rule: (cards of each host, keys of the model)
CASES: dict[str, tuple[list[list[str]], dict[str, Any]]] = {
    # refusals
    "volta-no-pipeline-parallel": ([["v100", "v100"]], {"backend_parameters": ["-pp=2"]}),
    "bfloat16-needs-ampere": ([["t4"]], {"backend_parameters": ["--dtype=bfloat16"]}),
    "float16-overflows": ([["a100"]], {"config": config(model_type="gemma2"), "backend_parameters": ["--dtype=half"]}),
    "fp8-kv-cache-needs-ada": ([["a100"]], {"backend_parameters": ["--kv-cache-dtype=fp8"]}),
    "attention-backend-needs-capability": ([["t4"]], {"backend_parameters": ["--attention-backend=flash_attn"]}),
    "attention-backend-variable-is-gone": ([["a100"]], {"env": {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}}),
    "flashinfer-sampler-needs-turing": ([["v100"]], {"env": {"VLLM_USE_FLASHINFER_SAMPLER": "1"}}),
    "batch-smaller-than-its-parts": (
        [["a100"]],
        {"context": 8192, "backend_parameters": ["--max-num-batched-tokens=4096", "--no-enable-chunked-prefill"]},
    ),
    "gpustack-sets-it": ([["a100"]], {"backend_parameters": ["--served-model-name=other"]}),
    "no-config-file": ([["a100"]], {"backend_parameters": ["--config=flags.yaml"]}),
    "per-host-variable-in-model": ([["a100"]], {"env": {"NCCL_SOCKET_IFNAME": "eth0"}}),
    "sizes-not-planned": ([["a100", "a100"]], {"backend_parameters": ["-pcp=2"]}),
    "hosts-are-joined-by-ray": ([["t4"], ["t4"]], {"gpus": 2, "context": 8192, "backend_parameters": [MP]}),
    "tools-are-declared": ([["a100"]], {"tools": True, "backend_parameters": ["--no-enable-auto-tool-choice"]}),
    "quantisation-needs-capability": ([["t4"]], {"config": config(quantization_config=MXFP4)}),
    "latent-attention-needs-ampere": ([["t4"]], {"config": LATENT}),
    "dual-chunk-attention-needs-ampere": (
        [["v100"]],
        {"config": config(dual_chunk_attention_config={"chunk_size": 1})},
    ),
    "shared-memory-too-small": ([["t4"]], {"config": config(head_dim=512)}),
    "volta-last-vllm": ([["v100"]], {"vllm_version": "0.20.2"}),
    "driver-older-than-images": ([["old-driver"]], {}),
    "driver-branches-differ": ([["v100", "v100"], ["other-driver"]], {"gpus": 4, **CUSTOM}),
    "mixed-cards-without-peer-access": ([["unlike"]], {"backend_parameters": ["-tp=2"]}),
    "context-beyond-model": ([["a100"]], {"source": LLAMA, "context": 200000}),
    "yarn-reaches-not-far-enough": ([["a100"]], {"context": 262144}),
    "tool-parser-unknown": ([["a100"]], {"name": "mine", "config": config(), "source": None, "tools": True}),
    "reasoning-parser-unknown": ([["a100"]], {"reasoning": True}),
    # parameters
    "ray-across-hosts": ([["v100"], ["v100"]], {"gpus": 2}),
    "tensor-parallel-across-hosts": ([["v100"], ["v100"]], {"gpus": 2}),
    "tensor-parallel-inside-host": ([["v100", "v100"]], {"gpus": 2}),
    "sizes-are-written": ([["a100"]], {}),
    "pipeline-across-hosts": ([["t4"], ["t4"]], {"gpus": 2, "context": 8192}),
    "pipeline-inside-host": ([["t4", "t4", "t4"]], {"gpus": 3, "context": 8192}),
    "data-parallel-experts": ([["a100", "a100"]], {"config": ONE_KV_HEAD, "backend_parameters": ["-tp=1"], "gpus": 2}),
    "expert-parallel": ([["a100", "a100"]], {"config": EXPERTS, "backend_parameters": ["-dp=2"]}),
    "context-declared": ([["a100"]], {"context": 4096}),
    "context-of-model": ([["a100"]], {}),
    "context-that-fits": ([["3090"]], {"source": LLAMA}),
    "yarn": ([["a100"]], {"context": 65536}),
    "gpu-memory-utilization": ([["a100"]], {"gpu_memory_utilization": 0.8}),
    "small-card-keeps-room": ([["t4"]], {"config": config()}),
    "utilization-is-written": ([["a100"]], {"vllm_version": "0.20.2"}),
    "volta-neutral-sampling": ([["v100"]], {}),
    "tools-by-family": ([["a100"]], {"tools": True}),
    "reasoning-by-family": ([["a100"]], {"source": {"huggingface_repo_id": "Qwen/Qwen3-8B"}, "reasoning": True}),
    "float32-before-ampere": ([["v100"]], {"config": config(model_type="gemma2")}),
    "float16-before-ampere": ([["t4"]], {"config": config()}),
    "old-pair-without-custom-all-reduce": ([["t4", "t4"]], {"gpus": 2}),
    "volta-image-encoder": ([["v100"]], {"config": config(vision_config=VISION)}),
    "volta-old-engine": ([["v100"]], {"vllm_version": "0.9.2"}),
    # variables
    "context-unscaled": ([["a100"]], {"context": 65536, "context_extension": "unscaled"}),
    "engine-shared-memory": ([["a100", "a100"]], {"gpus": 2}),
    "gpustack-estimates-too-much": (
        [["a100"]],
        {"source": {"huggingface_repo_id": "Qwen/Qwen2.5-32B-Instruct"}, "context": 8192},
    ),
    "no-graph-timeout-without-stages": ([["a100"]], {"env": {"RAY_CGRAPH_get_timeout": "600"}}),
    "graph-timeout-between-stages": ([["t4"], ["t4"]], {"gpus": 2, "context": 8192}),
    "mixed-host-card-order": ([["a100", "l40s"]], {}),
    "mixed-cards-peer-access-off": (
        [["unlike"]],
        {"gpus": 2, "context": 8192, "override": ["mixed-cards-without-peer-access"]},
    ),
    # warnings
    "volta-stock-image": ([["v100"]], {}),
    "ray-not-in-image": ([["t4"], ["t4"]], {"gpus": 2, "context": 8192, "vllm_version": "0.18.1"}),
    "mixed-cards": ([["a100", "l40s"]], {"gpus": 2}),
    "volta-gptq-int4": ([["v100"]], {"source": {"huggingface_repo_id": SMALL + "-GPTQ-Int4"}}),
    "float16-may-overflow": ([["v100"]], {"source": {"huggingface_repo_id": SMALL + "-GPTQ-Int8"}}),
    "volta-experts-slow": ([["v100"]], {"config": EXPERTS}),
    "large-heads-before-ampere": ([["v100"]], {"config": config(head_dim=256)}),
    "volta-untested-layers": ([["v100"]], {"config": config(model_type="jamba")}),
    "volta-engine-0-11": ([["v100"]], {"vllm_version": "0.11.2"}),
    "first-engine-not-modelled": ([["t4"]], {"config": config(), "vllm_version": "0.9.2"}),
    "triton-wrong-answers-0-21": (
        [["v100", "v100"]],
        {"gpus": 2, "vllm_version": "0.21.0", "backend_version": "0.21.0-site-custom"},
    ),
    "memory-not-predicted": ([["a100"]], {"config": config(model_type="qwen3_next")}),
    "vision-tower-estimated": ([["a100"]], {"config": config(vision_config=VISION)}),
    "unknown-quantisation": ([["a100"]], {"config": config(quantization_config={"quant_method": "tomorrow"})}),
    "extra-memory-not-predicted": ([["a100"]], {"backend_parameters": ["--enable-lora"]}),
    "chat-template-needed": (
        [["a100"]],
        {"source": LLAMA, "tools": True},
    ),
    "drivers-differ": ([["v100", "v100"], ["same-branch"]], {"gpus": 4, **CUSTOM}),
    "driver-545-hangs": ([["driver-545"]], {"gpus": 2, **CUSTOM}),
    "volta-eager-needs-kernels": ([["v100"]], {"backend_parameters": ["--enforce-eager"]}),
}


def fleet_of(hosts: list[list[str]], host: Host) -> dict[str, Any]:
    special: dict[str, Callable[[], dict[str, Any]]] = {
        "old-driver": lambda: host("a100", cuda="12.2"),
        "other-driver": lambda: host("v100", "v100", driver="535.161.07"),
        "same-branch": lambda: host("v100", "v100", driver="570.86.15"),
        "driver-545": lambda: host("v100", "v100", driver="545.29.02"),
        "unlike": lambda: host("4080s", "3060", p2p_read=False),
    }
    return {
        f"host-{number}": special[cards[0]]() if cards[0] in special else host(*cards)
        for number, cards in enumerate(hosts)
    }


def outcome(model: dict[str, Any], fleet: dict[str, Any]) -> set[str]:
    """Ids of the rules that show in a plan, or of the one that an error names."""
    try:
        result = plan(model, fleet)
    except PlanError as error:
        named = set(re.findall(r"refused by rule ([a-z0-9-]+):", str(error)))
        if not named:
            raise
        return named
    entries = result["problems"] + result["warnings"] + result["decisions"]
    return {entry["rule"] for entry in entries}


@pytest.mark.parametrize("rule", CASES)
def test_rule_applies_where_it_should(rule: str, host: Host, model: Model) -> None:
    hosts, keys = CASES[rule]
    assert rule in outcome({**model(SMALL), **keys}, fleet_of(hosts, host))


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(all_rules())


@pytest.mark.parametrize("rule", [*REFUSALS, *PARAMETERS, *VARIABLES, *CAUTIONS], ids=lambda rule: rule.id)
def test_rules_say_why_and_where_from(rule: Any) -> None:
    assert rule.id == rule.id.lower().replace(" ", "-").replace("_", "-")
    assert rule.why
    assert "/" in rule.source or "model card" in rule.source


@pytest.mark.parametrize("rule", PARAMETERS, ids=lambda rule: f"{rule.id} {rule.parameter}")
def test_parameters_exist_in_a_version_that_the_rule_holds_for(rule: Any) -> None:
    versions = [v for v in VERSIONS if tuple(map(int, v.split("."))) in rule.versions]
    assert any(rule.parameter in known_flags(version) for version in versions)


def test_only_the_rule_against_pipelines_on_volta_cannot_be_lifted() -> None:
    assert {rule.id for rule in all_rules().values() if not rule.liftable} == {"volta-no-pipeline-parallel"}


@pytest.mark.parametrize("rule", sorted(set(all_rules()) - {"volta-no-pipeline-parallel"}))
def test_a_lifted_rule_applies_no_more(rule: str, host: Host, model: Model) -> None:
    hosts, keys = CASES[rule]
    keys = {**keys, "override": [*keys.get("override", []), rule]}
    assert rule not in outcome({**model(SMALL), **keys}, fleet_of(hosts, host))


def test_documentation_lists_every_rule() -> None:
    text = (Path(__file__).parents[5] / "docs" / "planner.md").read_text()
    missing = [rule for rule in all_rules() if f"`{rule}`" not in text]
    assert missing == []


# ------------------------------------------------------------------------------------------------ context


def test_yarn_is_the_default_way_past_the_native_context(host: Host, model: Model) -> None:
    result = plan(model("Qwen/Qwen2.5-14B-Instruct", context=65536), {"one": host("a100")})
    assert (
        '--hf-overrides={"rope_parameters": {"rope_type": "yarn", "factor": 2.0, '
        '"original_max_position_embeddings": 32768, "rope_theta": 1000000.0}}'
    ) in result["backend_parameters"]
    assert "VLLM_ALLOW_LONG_MAX_MODEL_LEN" not in result["env"]


def test_yarn_is_written_as_older_versions_read_it(host: Host, model: Model) -> None:
    result = plan(model("Qwen/Qwen3-8B", context=65536, vllm_version="0.10.2"), {"one": host("a100")})
    assert (
        '--hf-overrides={"rope_scaling": {"rope_type": "yarn", "factor": 2.0, '
        '"original_max_position_embeddings": 40960}}'
    ) in result["backend_parameters"]


def test_the_users_own_yarn_counts_as_native(host: Host, model: Model) -> None:
    own = '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}'
    asked = model("Qwen/Qwen2.5-7B-Instruct", context=131072, backend_parameters=[f"--hf-overrides={own}"])
    result = plan(asked, {"one": host("a100")})
    assert result["max_model_len"] == 131072
    assert result["backend_parameters"][-1] == f"--hf-overrides={own}"


def test_the_variable_for_long_contexts_in_env_means_unscaled(host: Host, model: Model) -> None:
    asked = model("Qwen/Qwen2.5-7B-Instruct", context=65536, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})
    result = plan(asked, {"one": host("a100")})
    assert "context-unscaled" in {warning["rule"] for warning in result["warnings"]}
    assert not any("hf-overrides" in item for item in result["backend_parameters"])


def test_a_llama_beyond_its_context_needs_a_word_of_the_user(host: Host, model: Model) -> None:
    result = plan(model("meta-llama/Llama-3.1-8B-Instruct", context=200000), {"one": host("a100")})
    assert result["problems"][0]["rule"] == "context-beyond-model"
    assert "declare context 131072 or less" in result["problems"][0]["remedies"][0]


def test_gpustack_is_told_what_the_weights_really_take(host: Host, model: Model) -> None:
    """61.0 GiB x 1.2 + 2 GiB are more than 0.9 x 80 GiB, so its scheduler would leave the model pending."""
    result = plan(model("Qwen/Qwen2.5-32B-Instruct", context=8192), {"one": host("a100")})
    assert int(result["env"]["GPUSTACK_MODEL_VRAM_CLAIM"]) / 2**30 == pytest.approx(61.04, abs=0.01)
    small = plan(model("Qwen/Qwen2.5-14B-Instruct", context=8192), {"one": host("a100")})
    assert "GPUSTACK_MODEL_VRAM_CLAIM" not in small["env"]


# ------------------------------------------------------------------------------------------------ families


@pytest.mark.parametrize(
    ("repository", "tool_parser", "reasoning_parser"),
    [
        ("Qwen/Qwen2.5-14B-Instruct", "hermes", None),
        ("Qwen/Qwen3-8B", "hermes", "qwen3"),
        ("Qwen/QwQ-32B", "hermes", "deepseek_r1"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", None, "deepseek_r1"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json", None),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral", None),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "hermes", None),
    ],
)
def test_parsers_come_from_the_family(
    repository: str, tool_parser: str | None, reasoning_parser: str | None, host: Host, model: Model
) -> None:
    for key, flag, parser in (
        ("tools", "--tool-call-parser", tool_parser),
        ("reasoning", "--reasoning-parser", reasoning_parser),
    ):
        result = plan(model(repository, **{key: True}), {"one": host("a100")})
        assert result["feasible"] is (parser is not None)
        if parser:
            assert f"{flag}={parser}" in result["backend_parameters"]


def test_a_parser_that_the_version_lacks_is_told(host: Host, model: Model) -> None:
    asked = model("Qwen/Qwen3-8B", reasoning=True)
    assert plan({**asked, "vllm_version": "0.9.2"}, {"one": host("a100")})["feasible"] is True
    result = plan({**asked, "vllm_version": "0.8.5"}, {"one": host("a100")})
    assert result["problems"][0]["rule"] == "reasoning-parser-unknown"


def test_the_users_own_parser_is_taken(host: Host, model: Model) -> None:
    asked = {"name": "mine", "config": config(), "tools": True, "backend_parameters": ["--tool-call-parser=pythonic"]}
    result = plan(asked, {"one": host("a100")})
    assert result["backend_parameters"][-2:] == ["--enable-auto-tool-choice", "--tool-call-parser=pythonic"]
