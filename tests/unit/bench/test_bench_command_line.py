# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's command line: vLLM's spellings, and argparse's words for what it does not know."""

from __future__ import annotations

import pytest
from bench_engine import command_line


def parse(*arguments):
    return command_line.parse(["serve", "/models/m", *arguments])


def test_what_gpustack_starts_is_understood():
    options = parse(
        "--distributed-executor-backend",
        "ray",
        "--tensor-parallel-size=4",
        "--pipeline-parallel-size=1",
        "--max-model-len=65536",
        "--generation-config=vllm",
        "--enable-auto-tool-choice",
        "--tool-call-parser=hermes",
        "--host",
        "172.30.0.11",
        "--port",
        "40034",
        "--served-model-name",
        "qwen",
    )

    assert (options.tensor_parallel_size, options.max_model_len, options.port) == (4, 65536, 40034)
    assert options.model == "/models/m"
    assert options.served_model_name == ["qwen"]
    assert options.enable_auto_tool_choice is True


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--tensor_parallel_size", "2"], "tensor_parallel_size", 2),
        (["-tp=2"], "tensor_parallel_size", 2),
        (["-pp", "2"], "pipeline_parallel_size", 2),
        (["--max-model-len", "64K"], "max_model_len", 65536),
        (["--max-model-len=64k"], "max_model_len", 64000),
        (["--max-model-len=auto"], "max_model_len", -1),
        (["--no-enable-prefix-caching"], "enable_prefix_caching", False),
        (["-O2"], "optimization_level", 2),
        (['--hf-overrides={"a":{"b":1}}'], "hf_overrides", {"a": {"b": 1}}),
        (["--hf-overrides.a.b", "1", "--hf-overrides.c=x"], "hf_overrides", {"a": {"b": 1}, "c": "x"}),
        (["--tensor-parallel-size=2", "--tensor-parallel-size=4"], "tensor_parallel_size", 4),
    ],
)
def test_every_spelling_of_vllm_counts(arguments, name, value):
    assert getattr(parse(*arguments), name) == value


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("--rope-scaling={}", "vllm: error: unrecognized arguments: --rope-scaling={}"),
        ("--max-model-len=many", "vllm serve: error: argument --max-model-len: Invalid integer: many"),
        ("--dtype=fp16", "argument --dtype: invalid choice: 'fp16'"),
        ("--tensor-parallel-size=two", "invalid int value: 'two'"),
    ],
)
def test_what_vllm_does_not_know_ends_with_code_2(argument, words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(argument)

    assert ended.value.code == 2
    assert words in capsys.readouterr().err
