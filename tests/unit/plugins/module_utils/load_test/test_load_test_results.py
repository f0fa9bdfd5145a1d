# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.invocation import Target, configuration
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.results import figures

TARGET = Target("https://gpustack.example.com", "qwen", "/models/qwen", "gpustack_key", 600.0)
STAGE: dict[str, Any] = {"prompt_tokens": 1000, "answer_tokens": 64, "concurrency": 4, "requests": 8, "seconds": None}


def record(started: float, ended: float, answer_tokens: int = 64, error: dict[str, Any] | None = None) -> str:
    metrics = {} if error else {"output_sequence_length": {"value": answer_tokens, "unit": "tokens"}}
    metadata = {"request_start_ns": int(started * 1e9), "request_end_ns": int(ended * 1e9)}
    return json.dumps({"metadata": metadata, "metrics": metrics, "error": error})


def distribution(value: float) -> dict[str, Any]:
    return {"unit": "ms", "avg": value, "p50": value, "p95": 2 * value, "max": 3 * value, "min": 0, "std": 1}


SUMMARY = {
    "time_to_first_token": distribution(240),
    "inter_token_latency": distribution(20),
    "request_latency": distribution(860),
    "credit_to_start_latency": distribution(5),
    "output_token_throughput": {"unit": "tokens/sec", "avg": 73.0},
    "request_throughput": {"unit": "requests/sec", "avg": 2.3},
    "input_sequence_length": {"unit": "tokens", "avg": 1031.0},
    "output_sequence_length": {"unit": "tokens", "avg": 64.0},
}


def test_a_stage_of_requests_becomes_a_configuration_of_aiperf() -> None:
    benchmark = configuration(STAGE, TARGET, "/results/smoke-1")["benchmark"]
    assert benchmark["profiling"] == {"type": "concurrency", "concurrency": 4, "requests": 8}
    assert benchmark["dataset"] == {"type": "synthetic", "entries": 8, "prompts": {"isl": 1000, "osl": 64}}
    assert benchmark["endpoint"]["url"] == "https://gpustack.example.com"
    assert benchmark["endpoint"]["apiKey"] == "gpustack_key"
    assert benchmark["endpoint"]["extra"] == {"ignore_eos": True}
    assert benchmark["tokenizer"] == {"name": "/models/qwen"}
    assert benchmark["artifacts"]["dir"] == "/results/smoke-1"


def test_a_stage_by_time_has_a_duration_and_lets_answers_end() -> None:
    benchmark = configuration({**STAGE, "requests": None, "seconds": 90.0}, TARGET, "/r")["benchmark"]
    assert benchmark["profiling"] == {"type": "concurrency", "concurrency": 4, "duration": 90.0, "gracePeriod": 600}
    assert benchmark["dataset"]["entries"] == 500


def test_figures_are_in_seconds_and_say_when_the_stage_was() -> None:
    found = figures(SUMMARY, [record(100.0, 101.0), record(100.5, 102.5)], 64)
    assert found == {
        "requests": 2,
        "errors": 0,
        "short_answers": 0,
        "error_kinds": [],
        "started_at": 100.0,
        "ended_at": 102.5,
        "first_token_seconds": {"mean": 0.24, "p50": 0.24, "p95": 0.48, "max": 0.72},
        "token_seconds": {"mean": 0.02, "p50": 0.02, "p95": 0.04, "max": 0.06},
        "latency_seconds": {"mean": 0.86, "p50": 0.86, "p95": 1.72, "max": 2.58},
        "lag_seconds": {"mean": 0.005, "p50": 0.005, "p95": 0.01, "max": 0.015},
        "answer_tokens_per_second": 73.0,
        "requests_per_second": 2.3,
        "prompt_tokens_mean": 1031.0,
        "answer_tokens_mean": 64.0,
    }


def test_an_answer_that_ends_early_is_counted() -> None:
    assert figures(SUMMARY, [record(0, 1), record(0, 1, answer_tokens=12)], 64)["short_answers"] == 1


def test_failed_requests_are_counted_by_kind_the_most_frequent_first() -> None:
    gone = {"type": "HTTPError", "code": 503, "message": "no\nworker"}
    late = {"type": "TimeoutError", "message": None}
    found = figures(SUMMARY, [record(0, 1, error=late), record(0, 1, error=gone), record(0, 1, error=gone)], 64)
    assert found["errors"] == 3
    assert found["error_kinds"] == [
        {"message": "HTTPError (503) no worker", "count": 2},
        {"message": "TimeoutError", "count": 1},
    ]


@pytest.mark.parametrize("name", ["first_token_seconds", "token_seconds", "latency_seconds", "lag_seconds"])
def test_where_every_request_failed_nothing_is_known_of_answers(name: str) -> None:
    found = figures(None, [record(0, 1, error={"type": "ClientConnectorError"})], 64)
    assert (found["requests"], found["errors"], found[name]) == (1, 1, None)
    assert found["answer_tokens_per_second"] is None
