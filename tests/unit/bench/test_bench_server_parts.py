# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pieces of the engine's HTTP API that need no server: metrics, tokens, tool calls, the crash's log."""

from __future__ import annotations

import json

from bench_engine import failure, tokens, tools
from bench_engine.metrics import Metrics

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "verbose": {"type": "boolean"},
            },
            "required": ["city", "days", "unit"],
        },
    },
}


def test_metrics_have_vllms_names():
    metrics = Metrics("qwen")
    metrics.count("generation_tokens", 5)
    metrics.finish("stop")
    metrics.observe("time_to_first_token_seconds", 0.3)

    lines = metrics.text({"num_requests_running": 2}).splitlines()

    labels = 'engine="0",model_name="qwen"'
    assert f"vllm:num_requests_running{{{labels}}} 2.0" in lines
    assert f"vllm:generation_tokens_total{{{labels}}} 5.0" in lines
    assert f'vllm:request_success_total{{{labels},finished_reason="stop"}} 1.0' in lines
    assert f'vllm:time_to_first_token_seconds_bucket{{{labels},le="0.25"}} 0.0' in lines
    assert f'vllm:time_to_first_token_seconds_bucket{{{labels},le="0.5"}} 1.0' in lines
    assert f"vllm:time_to_first_token_seconds_count{{{labels}}} 1.0" in lines


def test_tokens_are_counted_like_prose_and_by_the_character_in_chinese():
    assert tokens.count("The quick brown fox, twice.") == 7
    assert tokens.count("你好世界") == 4
    assert tokens.count_chat([{"role": "user", "content": [{"type": "text", "text": "hello"}]}], []) == 26 + 5 + 1


def test_a_tool_call_fills_what_the_schema_requires():
    function = tools.chosen({"messages": [{"role": "user"}], "tools": [WEATHER]})

    call = tools.call(function)

    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "example", "days": 1, "unit": "celsius"}


def test_the_answer_is_text_after_a_tools_result_and_when_none_is_wanted():
    after = {"messages": [{"role": "tool", "content": "sunny"}], "tools": [WEATHER]}
    unwanted = {"messages": [{"role": "user"}], "tools": [WEATHER], "tool_choice": "none"}

    assert tools.chosen(after) is None
    assert tools.chosen(unwanted) is None


def test_the_crash_logs_its_cause_before_its_noise(capsys):
    failure.channel_breaks(4)

    text = capsys.readouterr().err
    order = [text.index(error) for error in (failure.TIMEOUT, failure.ATTRIBUTE, failure.UNAVAILABLE)]
    assert order == sorted(order)
    assert "'_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'" in text
    assert "RpcError: RPC error: Socket closed rpc_code: 14." in text


def test_an_engine_without_room_for_a_prompt_says_so_before_it_is_dead(capsys):
    failure.out_of_memory(int(31.74 * (1 << 30)))

    text = capsys.readouterr().err
    assert "torch.OutOfMemoryError: CUDA out of memory." in text
    assert "GPU 0 has a total capacity of 31.74 GiB of which 1.02 GiB is free." in text
    assert text.index("OutOfMemoryError") < text.index("EngineDeadError")
