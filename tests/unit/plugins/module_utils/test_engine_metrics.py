# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_metrics import in_flight, requests_of

PAGE = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 3.0
vllm:num_requests_running{engine="1",model_name="qwen"} 1.0
vllm:num_requests_waiting{engine="0",model_name="qwen"} 2.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="qwen"} 40.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="qwen"} 2.0
vllm:request_success_created{engine="0",finished_reason="stop",model_name="qwen"} 1.7e+09
process_open_fds 12.0
"""


def test_requests_are_summed_over_cores_and_reasons() -> None:
    assert requests_of(PAGE) == {"running": 4, "waiting": 2, "finished": 42}


def test_page_of_something_else_tells_nothing() -> None:
    assert requests_of("python_info 1.0\n") is None
    assert requests_of("<html>") is None


def test_in_flight_is_what_runs_and_waits_anywhere() -> None:
    assert in_flight([]) == 0
    assert in_flight([{"running": 1, "waiting": 2, "finished": 9}, {"running": 3, "waiting": 0, "finished": 9}]) == 6
