# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The user's own backend_parameters: read as GPUStack splits them and as vLLM parses them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.parameters import parse_parameters
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.vllm_flags import VERSIONS, known_flags


def parsed(*items: str, version: str = "0.17.1") -> dict[str, Any]:
    return {name: parameter.value for name, parameter in parse_parameters(items, version).items()}


def emitted(*items: str) -> list[str]:
    return [item for parameter in parse_parameters(items, "0.17.1").values() for item in parameter.items]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["--max-num-seqs=64"], {"--max-num-seqs": 64}),
        (["--max-num-seqs = 64"], {"--max-num-seqs": 64}),
        (["--max_num_seqs 64"], {"--max-num-seqs": 64}),
        (["--max-num-seqs", "64"], {"--max-num-seqs": 64}),
        (["-tp=2"], {"--tensor-parallel-size": 2}),
        (["-tp 2"], {"--tensor-parallel-size": 2}),
        (["--tensor-par=2"], {"--tensor-parallel-size": 2}),
        (["--max-model-len=32K"], {"--max-model-len": 32768}),
        (["--max-model-len=32k"], {"--max-model-len": 32000}),
        (["--max-model-len=25.6k"], {"--max-model-len": 25600}),
        (["--max-model-len=auto"], {"--max-model-len": -1}),
        (["--max-model-len -1"], {"--max-model-len": -1}),
        (["--gpu-memory-utilization=.85"], {"--gpu-memory-utilization": 0.85}),
        (["--enforce-eager"], {"--enforce-eager": True}),
        (["--no-enable-prefix-caching"], {"--enable-prefix-caching": False}),
        (["-q awq"], {"--quantization": "awq"}),
        (["-O3"], {"--optimization-level": 3}),
        (["--compilation-config.mode=3"], {"--compilation-config.mode": "3"}),
        (['--hf-overrides={"a": 1}'], {"--hf-overrides": '{"a": 1}'}),
        (["--cudagraph-capture-sizes 1 2 4"], {"--cudagraph-capture-sizes": "1 2 4"}),
        (["--dtype half --enforce-eager"], {"--dtype": "half", "--enforce-eager": True}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_spelling_that_vllm_takes_is_understood(items: list[str], expected: dict[str, Any]) -> None:
    assert parsed(*items) == expected


def test_optimisation_level_belongs_to_the_compilation_config_of_older_versions() -> None:
    assert parsed("-O3", version="0.10.2") == {"--compilation-config": "3"}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["--tensor-paralel-size=4"], r"does not know \(did you mean --tensor-parallel-size\?\)"),
        (["--max-model-length=4"], r"did you mean --max-model-len\?"),
        (["--max-num-seqs=many"], "--max-num-seqs is 'many' .* wanted a whole number"),
        (["--max-model-len=25.5K"], "wanted a whole number or one like 64k"),
        (["--gpu-memory-utilization=high"], "wanted a number"),
        (["--dtype=half", "--dtype=float16"], "has --dtype twice"),
        (["-tp=2", "--tensor-parallel-size=4"], "has --tensor-parallel-size twice"),
        (["--enforce-eager=true"], "takes no value: write --enforce-eager alone"),
        (["--enable-prefix-caching=false"], "takes no value: write --no-enable-prefix-caching"),
        (["--disable-log-stats=false"], "takes no value: drop it"),
        (["--dtype=half --enforce-eager"], "two flags in"),
        (["--dtype half --max-num-seqs=4"], "an item with '=' as one word"),
        (["--hf-overrides={not json}"], "is not valid JSON"),
        (["--max-num-seqs"], "without a value"),
        (["dtype=half"], "belongs to no flag"),
        (["--tokenizer 'unclosed"], "unclosed quote"),
        (["--dtype.x=1"], "has no keys below it"),
        (["--pipe=2", "--no-such"], "--no-such, which vLLM 0.17.1 does not know"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_vllm_or_gpustack_would_get_wrong_is_an_error(items: list[str], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse_parameters(items, "0.17.1")


def test_an_ambiguous_abbreviation_is_unknown() -> None:
    with pytest.raises(PlanError, match="--max-num, which"):
        parse_parameters(["--max-num=4"], "0.17.1")


def test_items_come_out_in_the_form_that_both_read_right() -> None:
    assert emitted("--max_num_seqs 64", "-q awq", "--enforce-eager", "--no-enable-prefix-caching") == [
        "--max-num-seqs=64",
        "--quantization=awq",
        "--enforce-eager",
        "--no-enable-prefix-caching",
    ]
    assert emitted("--cudagraph-capture-sizes 1 2 4") == ["--cudagraph-capture-sizes", "1", "2", "4"]
    assert emitted('--hf-overrides={"a": "b c"}') == ['--hf-overrides={"a": "b c"}']


def test_flags_are_those_of_the_version() -> None:
    assert "--attention-backend" in known_flags("0.17.1")
    assert "--swap-space" in known_flags("0.17.1")
    assert "--enable-reasoning" in known_flags("0.8.5")
    assert "--enable-reasoning" not in known_flags("0.17.1")
    assert "--no-enforce-eager" not in known_flags("0.8.5")
    assert "--no-enforce-eager" in known_flags("0.17.1")
    assert known_flags("0.17.1-v100-custom").keys() == known_flags("0.17.1").keys()


def test_a_version_between_two_known_ones_gets_the_flags_of_both() -> None:
    between = known_flags("0.17.0").keys()
    assert between == known_flags("0.16.0").keys() | known_flags("0.17.1").keys()
    assert known_flags("99.0").keys() == known_flags(VERSIONS[-1]).keys()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_flags_that_a_plan_needs_exist_in_every_version(version: str) -> None:
    needed = {
        "--tensor-parallel-size", "--pipeline-parallel-size", "--max-model-len", "--dtype", "--generation-config",
        "--enable-auto-tool-choice", "--tool-call-parser", "--distributed-executor-backend",
        "--disable-custom-all-reduce", "-tp", "-pp",
    }  # fmt: skip
    assert needed <= known_flags(version).keys()
