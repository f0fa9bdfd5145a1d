# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.verdict import LimitError, judge

LIMITS = {"errors_percent": 0, "restarts": 0, "kv_tokens_deviation_percent": 3}


def spread(value: float) -> dict[str, float]:
    return {"mean": value, "p50": value, "p95": value, "max": value}


def stage(concurrency: int = 4, limits: dict[str, Any] | None = None, **figures: Any) -> dict[str, Any]:
    """A stage from second 100 to 120 in which all went well, with changes."""
    return {
        "stage": {"name": "concurrent-1", "concurrency": concurrency},
        "limits": limits or {},
        "generator": {"timed_out": False, "seconds": 25.0},
        "error": None,
        "figures": {
            "requests": 16,
            "errors": 0,
            "short_answers": 0,
            "error_kinds": [],
            "started_at": 100.0,
            "ended_at": 120.0,
            "first_token_seconds": spread(1.5),
            "token_seconds": spread(0.04),
            "latency_seconds": spread(4.0),
            "lag_seconds": spread(0.01),
            "answer_tokens_per_second": 80.0,
            **figures,
        },
    }


def watch(
    running: float = 4,
    waiting: float = 0,
    busy: float | None = 0.3,
    inside: float = 3.8,
    stops: Any = (),
    step: int = 2,
) -> dict[str, Any]:
    """Looks every ``step`` seconds; the engine answers one request a second, each in ``inside`` seconds."""
    samples = [
        {
            "at": float(at),
            "running_instances": 1,
            "engines_answering": 1,
            "running": running if 100 <= at <= 120 else 0.0,
            "waiting": waiting,
            "kv_cache_usage": 0.6,
            "cpu_busy": busy,
            "answered": float(at - 90),
            "latency_seconds": inside * (at - 90),
            "preemptions": 0.0,
        }
        for at in range(90, 131, step)
    ]
    return {"samples": samples, "stops": list(stops)}


def stop(at: float = 110.0, *crashes: dict[str, Any]) -> dict[str, Any]:
    return {"at": at, "instance": "qwen-a", "how": "it went from running to error", "crashes": list(crashes)}


def reasons(stages: list[dict[str, Any]], seen: dict[str, Any], **limits: Any) -> list[tuple[str, str, str]]:
    judged = judge(stages, seen, {**LIMITS, **limits}, None, None)
    return [(reason["verdict"], reason["code"], reason["message"]) for reason in judged["reasons"]]


def test_a_stage_in_which_all_went_well_is_passed() -> None:
    judged = judge([stage()], watch(), LIMITS, 457584, 458160)
    assert (judged["verdict"], judged["reasons"]) == ("passed", [])
    assert judged["stages"] == [
        {
            "verdict": "passed",
            "seen": {
                "in_engine": 4,
                "waiting": 0,
                "kv_cache_usage": 0.6,
                "cpu_busy": 0.3,
                "engine_latency_seconds": pytest.approx(3.8),
                "preemptions": 0.0,
                "stops": 0,
            },
        }
    ]


def test_an_engine_that_stops_fails_and_the_signature_is_named() -> None:
    crashes = (
        {"id": "ray-channel-timeout", "means": "A stage waited.", "remedy": "Use no stages."},
        {"id": "engine-core-dead", "means": "It is gone.", "remedy": "Look above."},
    )
    ((verdict, code, message),) = reasons([stage()], watch(stops=[stop(110.0, *crashes)]))
    assert (verdict, code) == ("failed", "restarts")
    assert message == (
        "The engine of qwen-a stopped: it went from running to error. Its log shows ray-channel-timeout: A stage "
        "waited. Use no stages. What follows from it in the log: engine-core-dead."
    )


def test_as_many_restarts_as_allowed_are_no_failure() -> None:
    assert reasons([stage()], watch(stops=[stop()]), restarts=1) == []


def test_failed_requests_fail_with_their_number_and_kind() -> None:
    failed = stage(errors=3, short_answers=1, error_kinds=[{"message": "HTTP (503) no worker", "count": 3}])
    ((verdict, code, message),) = reasons([failed], watch())
    assert (verdict, code) == ("failed", "errors_percent")
    assert message == (
        "concurrent-1: 4 of 16 requests failed (25 %, the limit is 0 %), 1 of them with an answer that was cut short: "
        "3 × HTTP (503) no worker."
    )


def test_a_share_of_errors_may_be_allowed() -> None:
    assert reasons([stage(errors=1)], watch(), errors_percent=10) == []


@pytest.mark.parametrize(
    ("limit", "value", "text"),
    [
        ("first_token_p95_seconds", 1, "the first token came after 1.5 s in 95 % of the answers; the limit is 1.0 s"),
        ("token_p95_seconds", 0.03, "each further token came after 40 ms in 95 % of the answers; the limit is 30 ms"),
        ("answer_tokens_per_second", 100, "80.0 tokens of answers a second; wanted are at least 100"),
    ],
)
def test_each_limit_on_speed_fails_by_its_name(limit: str, value: float, text: str) -> None:
    ((verdict, code, message),) = reasons([stage()], watch(), **{limit: value})
    assert (verdict, code) == ("failed", limit)
    assert text in message


def test_limits_of_a_stage_come_before_the_general_ones() -> None:
    assert reasons([stage(limits={"first_token_p95_seconds": 2})], watch(), first_token_p95_seconds=1) == []


def test_limits_may_be_texts_and_an_empty_one_is_none() -> None:
    assert reasons([stage()], watch(), first_token_p95_seconds="", token_p95_seconds="0.05") == []


@pytest.mark.parametrize(("name", "value", "text"), [("ttft", 1, "no limit ttft"), ("restarts", "few", "is 'few'")])
def test_a_limit_that_is_none_is_refused(name: str, value: Any, text: str) -> None:
    with pytest.raises(LimitError, match=text):
        judge([stage()], watch(), {name: value}, None, None)


def test_less_in_the_engine_than_asked_while_nothing_waits_is_the_clients_doing() -> None:
    judged = judge([stage(concurrency=16)], watch(running=4), {**LIMITS, "first_token_p95_seconds": 1}, None, None)
    assert judged["verdict"] == "inconclusive"
    assert (
        "16 requests at once were asked for, and the engine had 4 with none waiting" in judged["reasons"][0]["message"]
    )


def test_less_at_work_than_asked_is_the_engines_doing_when_the_rest_waits_there() -> None:
    assert reasons([stage(concurrency=16)], watch(running=4, waiting=12)) == []


def test_limits_that_a_late_generator_exceeds_are_inconclusive() -> None:
    ((verdict, code, message),) = reasons([stage(lag_seconds=spread(2.0))], watch(busy=0.97), token_p95_seconds=0.001)
    assert (verdict, code) == ("inconclusive", "client")
    assert message == (
        "concurrent-1: the load generator was late: requests that were due left 2.0 s later. Its processors were 97% "
        "busy. Run it on a machine with more to spare, before anything is said of this: each further token came after "
        "40 ms in 95 % of the answers; the limit is 1 ms."
    )


def test_one_request_that_left_late_excuses_nothing() -> None:
    lag = {"mean": 0.05, "p50": 0.01, "p95": 2.0, "max": 2.0}
    assert [
        verdict for verdict, _code, _text in reasons([stage(lag_seconds=lag)], watch(), token_p95_seconds=0.001)
    ] == ["failed"]


def test_time_outside_of_the_engine_excuses_a_busy_client_only() -> None:
    slow = stage(latency_seconds=spread(8.0))
    verdicts = [
        [verdict for verdict, _code, _message in reasons([slow], watch(busy=busy), first_token_p95_seconds=1)]
        for busy in (0.99, 0.5)
    ]
    assert verdicts == [["inconclusive"], ["failed"]]


def test_limits_that_hold_on_a_slow_client_hold() -> None:
    slow = stage(latency_seconds=spread(8.0), lag_seconds=spread(2.0))
    assert reasons([slow], watch(busy=1.0), first_token_p95_seconds=2) == []


def test_an_engine_that_stops_has_failed_however_busy_the_client_was() -> None:
    judged = judge([stage(concurrency=16, errors=16)], watch(running=2, busy=1.0, stops=[stop()]), LIMITS, None, None)
    assert judged["verdict"] == "failed"
    assert {reason["code"] for reason in judged["reasons"]} == {"restarts", "errors_percent"}


def test_a_stage_too_short_to_be_seen_is_judged_by_its_answers() -> None:
    brief = stage(ended_at=101.0)
    assert reasons([brief], watch()) == []
    assert judge([brief], watch(), LIMITS, None, None)["stages"][0]["seen"]["in_engine"] is None


def test_a_plan_for_something_else_fails_by_its_tokens() -> None:
    judged = judge([stage()], watch(), LIMITS, 457584, 229080)
    assert judged["verdict"] == "failed"
    assert "229,080 tokens by the engine's log and 457,584 by the plan (+99.7 %" in judged["reasons"][0]["message"]


def test_a_generator_that_could_not_begin_makes_it_inconclusive() -> None:
    entry = {"stage": {"name": "smoke-1"}, "limits": {}, "figures": None, "error": "AIPerf sent nothing."}
    judged = judge([entry], watch(), LIMITS, None, None)
    assert (judged["verdict"], judged["stages"][0]["verdict"]) == ("inconclusive", "inconclusive")


def test_a_test_without_stages_proves_nothing() -> None:
    assert judge([], watch(), LIMITS, None, None)["verdict"] == "inconclusive"


def test_stage_without_a_request_proves_nothing() -> None:
    found = reasons([stage(requests=0)], watch())
    assert found == [("inconclusive", "generator", "concurrent-1: no request was sent")]
