# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.prometheus import engine_figures

PAGE = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 3.0
vllm:num_requests_waiting{engine="0",model_name="qwen"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="qwen"} 0.25
vllm:generation_tokens_total{engine="0",model_name="qwen"} 1.2345e+04
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="qwen"} 81.5
vllm:e2e_request_latency_seconds_count{engine="0",model_name="qwen"} 7.0
vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf",model_name="qwen"} 7.0
process_resident_memory_bytes 1.9e+09
"""


def test_a_page_of_vllm_gives_what_a_load_test_looks_at() -> None:
    assert engine_figures(PAGE) == {
        "running": 3.0,
        "waiting": 2.0,
        "kv_cache_usage": 0.25,
        "answer_tokens": 12345.0,
        "latency_seconds": 81.5,
        "answered": 7.0,
    }


def test_of_several_engines_requests_add_up_and_the_fullest_cache_counts() -> None:
    second = 'vllm:num_requests_running{engine="1"} 4.0\nvllm:kv_cache_usage_perc{engine="1"} 0.5\n'
    figures = engine_figures(PAGE + second)
    assert (figures["running"], figures["kv_cache_usage"]) == (7.0, 0.5)


def test_the_older_name_of_the_cache_is_known() -> None:
    assert engine_figures('vllm:gpu_cache_usage_perc{model_name="qwen"} 0.75\n') == {"kv_cache_usage": 0.75}


def test_anything_else_gives_nothing() -> None:
    assert engine_figures("<html>Bad gateway</html>") == {}
