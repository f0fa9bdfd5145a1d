# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_arguments


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["--tensor-parallel-size=4", "--enforce-eager"], ["--tensor-parallel-size=4", "--enforce-eager"]),
        (["--tool-call-parser hermes"], ["--tool-call-parser", "hermes"]),
        ([" --max-model-len = 65536 "], ["--max-model-len=65536"]),
        (['--hf-overrides={"a": {"b": 1}}'], ['--hf-overrides={"a": {"b": 1}}']),
        (["--chat-template '/a b'"], ["--chat-template", "/a b"]),
        ([], []),
    ],
)
def test_items_are_split_as_gpustack_does(items, words):
    assert engine_arguments.split_items(items) == words


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["vllm", "serve", "/m", "--port", "40000"], {"--port": 40000}),
        (["--tensor-parallel-size=2", "--tensor-parallel-size", "4"], {"--tensor-parallel-size": 4}),
        (["-tp", "4", "-pp=1"], {"--tensor-parallel-size": 4, "--pipeline-parallel-size": 1}),
        (["--max_model_len=64k"], {"--max-model-len": 64000}),
        (["--max-model-len=64K"], {"--max-model-len": 65536}),
        (["--max-model-len", "-1"], {"--max-model-len": -1}),
        (["--max-model-len=auto"], {"--max-model-len": "auto"}),
        (["--gpu-memory-utilization=.9"], {"--gpu-memory-utilization": 0.9}),
        (["--enforce-eager", "--dtype=float16"], {"--enforce-eager": True, "--dtype": "float16"}),
        (["--no-enable-prefix-caching"], {"--enable-prefix-caching": False}),
        (["--enable-prefix-caching", "--no-enable-prefix-caching"], {"--enable-prefix-caching": False}),
        (['--hf-overrides={"a":1, "b":[2]}'], {"--hf-overrides": {"a": 1, "b": [2]}}),
        (["--hf-overrides=not json"], {"--hf-overrides": "not json"}),
        (["--served-model-name", "a", "b", "--port", "1"], {"--served-model-name": "a b", "--port": 1}),
        (["--of-tomorrow", "x", "--switch-of-tomorrow"], {"--of-tomorrow": "x", "--switch-of-tomorrow": True}),
        (["--host"], {"--host": True}),
        ([], {}),
    ],
)
def test_command_lines_are_read_as_vllm_does(words, values):
    assert engine_arguments.read(words, "0.17.1") == values
