# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a load test, made with the collection's own filters from what its modules return."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.load_test_record import load_test_record
from ansible_collections.gpuops.gpustack.plugins.filter.load_test_report import load_test_report
from ansible_collections.gpuops.gpustack.plugins.filter.load_test_stages import load_test_stages
from ansible_collections.gpuops.gpustack.plugins.filter.load_test_subject import FilterModule, load_test_subject

STARTUP = """\
INFO 11-30 Using max model len 32768
INFO 11-30 Model loading took 6.95 GiB memory and 41.2 seconds
INFO 11-30 GPU KV cache size: 458,160 tokens
INFO 11-30 Maximum concurrency for 32,768 tokens per request: 13.98x
"""
CRASH = """\
(EngineCore) ERROR ray.exceptions.RayChannelTimeoutError: System error: Timed out waiting for object available to read.
(RayWorkerWrapper) ERROR AttributeError: '_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'.
(EngineCore) ERROR ray.exceptions.ActorUnavailableError: The actor is temporarily unavailable
"""
PROFILES = {"smoke": [{"prompt_tokens": 512, "answer_tokens": 64, "concurrency": 1, "requests": 4}] * 2}
LIMITS = {"errors_percent": 0, "restarts": 0, "kv_tokens_deviation_percent": 3}


def model(**changes: Any) -> dict[str, Any]:
    instance = {"name": "qwen-a", "state": "running", "worker_name": "gpu-worker-a", "log": STARTUP.splitlines()}
    return {
        "name": "qwen",
        "configuration": "3f0c9a1b2d4e 2026-03-01T09:30:00Z",
        "local_path": "/models/qwen",
        "stale_instances": [],
        "instances": [instance],
        **changes,
    }


def sent(speed: float = 80.0, **changes: Any) -> dict[str, Any]:
    """What the module load_stage returned."""
    spread = {"mean": 8 / speed, "p50": 8 / speed, "p95": 16 / speed, "max": 20 / speed}
    figures = {
        "requests": 4,
        "errors": 0,
        "short_answers": 0,
        "error_kinds": [],
        "started_at": 100.0,
        "ended_at": 104.5,
        "lag_seconds": None,
        "answer_tokens_per_second": speed,
        **dict.fromkeys(("first_token_seconds", "token_seconds", "latency_seconds"), spread),
        **changes,
    }
    return {"figures": figures, "generator": {"timed_out": False, "seconds": 19.0, "cpu_seconds": 8.0, "rc": 0}}


def judged(results: list[dict[str, Any]], stops: Any = (), last: Any = None, **limits: Any) -> dict[str, Any]:
    subject = load_test_subject([model()], "qwen", {"max_model_len": 32768, "predicted": {"kv_cache_tokens": 457584}})
    stages = load_test_stages(PROFILES, "smoke", subject["capacity"])
    watch = {"samples": [], "stops": list(stops), "failed_looks": 0}
    gpus = {"gpu-worker-a": {"samples": [{"at": 1.0, "gpus": {}}]}}
    return load_test_record(subject, stages, results, watch, gpus, {**LIMITS, **limits}, "2026-12-01T08:00:00Z", last)


CRASHED = {"at": 102.0, "instance": "qwen-a", "how": "it went from running to error", "log": CRASH.splitlines()}


def test_a_declared_model_is_measured_by_its_plan_and_what_its_engine_printed() -> None:
    plan = {"max_model_len": 32768, "predicted": {"concurrency": 13.96, "kv_cache_tokens": 457584}}
    subject = load_test_subject([model()], "qwen", plan)
    assert subject["fingerprint"] == "3f0c9a1b2d4e"
    assert subject["capacity"] == {"max_model_len": 32768, "concurrency": 13.96}
    assert (subject["worker"], subject["local_path"]) == ("gpu-worker-a", "/models/qwen")
    assert subject["printed"]["kv_cache_tokens"] == 458160


def test_a_model_that_nobody_declared_is_measured_by_what_its_engine_printed() -> None:
    subject = load_test_subject([model(configuration=None)], "qwen")
    assert subject["capacity"] == {"max_model_len": 32768, "concurrency": 13.98}
    assert (len(subject["fingerprint"]), subject["predicted"]) == (12, {})


@pytest.mark.parametrize("configuration", ["0123456789ab 2026-03-01T09:00:00Z", None])
def test_a_test_is_found_again_under_the_fingerprint_it_was_kept(configuration: str | None) -> None:
    tested = model(configuration=configuration)
    fingerprint = FilterModule().filters()["load_test_fingerprint"](tested)
    assert len(fingerprint) == 12
    assert load_test_subject([tested], "qwen")["fingerprint"] == fingerprint


def test_two_replicas_hold_twice_as_much() -> None:
    first = model()["instances"][0]
    subject = load_test_subject([model(instances=[first, {**first, "name": "qwen-b"}])], "qwen")
    assert subject["capacity"]["concurrency"] == pytest.approx(2 * 13.98)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "GPUStack has no model qwen"),
        ([model(instances=[])], "qwen does not run (it has no instance)"),
        ([model(instances=[{"name": "qwen-a", "state": "error"}])], "qwen does not run (qwen-a is error)"),
        ([model(stale_instances=["qwen-a"])], "qwen-a still runs an older configuration of qwen"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_any_load(models: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(AnsibleFilterError) as refusal:
        load_test_subject(models, "qwen")
    assert message in str(refusal.value)


def test_a_test_that_is_passed() -> None:
    record = judged([sent(), sent()])
    assert (record["verdict"], record["reasons"], record["comparison"]) == ("passed", [], None)
    assert [entry["stage"]["name"] for entry in record["stages"]] == ["smoke-1", "smoke-2"]
    assert record["gpus"] == {"gpu-worker-a": [{"at": 1.0, "gpus": {}}]}
    assert load_test_report(record).splitlines()[0] == (
        "✓ Load test of qwen: passed with 8 requests, up to 1 at once and prompts of up to 512 tokens"
    )


def test_a_crash_is_told_with_the_first_error_before_what_follows() -> None:
    record = judged([sent(errors=1)], [CRASHED])
    assert record["verdict"] == "failed"
    crashes = [crash["id"] for crash in record["stops"][0]["crashes"]]
    assert crashes == ["ray-channel-timeout", "ray-channel-torn-down", "ray-actor-unavailable"]
    report = load_test_report(record)
    assert report.startswith(
        "✕ Load test of qwen: failed\n  The engine of qwen-a stopped: it went from running to error."
    )
    assert "ray-channel-timeout" in report


def test_stages_after_one_that_broke_are_not_run_and_say_so() -> None:
    record = judged([sent(errors=1)], [CRASHED])
    assert [entry["verdict"] for entry in record["stages"]] == ["failed", "not run"]
    assert {reason["stage"] for reason in record["reasons"]} == {None, "smoke-1"}
    assert "not run" in load_test_report(record)


def test_a_test_that_was_broken_off_for_no_other_reason_proves_nothing() -> None:
    record = judged([sent(errors=1)], errors_percent=100)
    assert (record["verdict"], record["reasons"][0]["message"]) == ("inconclusive", "Not run: smoke-2.")


def test_beside_the_last_test_passed_each_figure_tells_its_change() -> None:
    last = judged([sent(100.0), sent(100.0)])
    comparison = judged([sent(80.0), sent(100.0)], last=last)["comparison"]
    assert (comparison["time"], comparison["fingerprint"]) == ("2026-12-01T08:00:00Z", "3f0c9a1b2d4e")
    # Both stages ask the same, so both stand beside the last of that question.
    changes = [(row["first_token_p95_seconds"], row["answer_tokens_per_second"]) for row in comparison["stages"]]
    assert changes == [(pytest.approx(0.25), pytest.approx(-0.2)), (pytest.approx(0.0), pytest.approx(0.0))]


def test_junit_has_a_case_for_each_stage_and_for_what_holds_of_the_whole() -> None:
    suite = ElementTree.fromstring(load_test_report(judged([sent(), sent()]), "junit").encode())
    assert suite.attrib == {
        "name": "load test of qwen",
        "timestamp": "2026-12-01T08:00:00Z",
        "tests": "4",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }
    names = [case.get("name") for case in suite]
    assert names == ["smoke-1", "smoke-2", "engines keep running", "memory as planned"]
    assert suite[0].get("time") == "4.500"


def test_junit_tells_failures_from_what_is_inconclusive() -> None:
    broken = {"msg": "AIPerf sent nothing in stage smoke-1 <exit code 2>"}
    suite = ElementTree.fromstring(load_test_report(judged([broken], [CRASHED]), "junit").encode())
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == ["1", "1", "1"]
    assert [case[0].tag if len(case) else "passed" for case in suite] == ["error", "skipped", "failure", "passed"]
    assert "<exit code 2>" in (suite[0][0].get("message") or "")


def test_wrong_input_is_told_in_a_sentence() -> None:
    with pytest.raises(AnsibleFilterError, match="no limit ttft"):
        judged([sent()], ttft=3)
    with pytest.raises(AnsibleFilterError, match="no load test profile long"):
        load_test_stages(PROFILES, "smoke,long", {"max_model_len": 100, "concurrency": 1})
    with pytest.raises(AnsibleFilterError, match="no form 'pdf'; there are: text, html, junit"):
        load_test_report(judged([sent()]), "pdf")


def over_time() -> list[dict[str, Any]]:
    """What was seen while a test ran, two seconds apart."""
    return [
        {
            "at": 90.0 + 2 * number,
            "running_instances": 1,
            "engines_answering": 1,
            "running": 1.0,
            "waiting": 0.0,
            "kv_cache_usage": 0.25,
            "cpu_busy": 0.5,
            "answer_tokens": 20.0 * number,
            "answered": 1.0 * number,
            "latency_seconds": 1.0 * number,
            "preemptions": 0.0,
        }
        for number in range(12)
    ]


def page(results: list[dict[str, Any]], **changes: Any) -> str:
    return load_test_report({**judged(results, **changes), "samples": over_time()}, "html")


def test_the_page_says_the_outcome_first_and_needs_no_network() -> None:
    html = page([sent(), sent()])
    assert "<title>Load test of qwen: passed</title>" in html
    assert html.index("Passed with 8 requests") < html.index("<h2>Stages</h2>")
    assert "default-src 'none'" in html
    for reference in ("http://", "https://", "src=", "<script", "<link", "url("):
        assert reference not in html


def test_the_page_shows_curves_over_time_and_memory_as_planned_and_as_printed() -> None:
    html = page([sent(), sent()])
    for title in ("KV cache in use", "Requests in the engine", "Tokens a second over time", "Tokens in the KV cache"):
        assert title in html
    assert "457,584" in html
    assert "458,160" in html
    assert html.count("<svg") >= 4


def test_the_page_shows_the_memory_of_the_fullest_card_as_planned_and_as_measured() -> None:
    record = judged([sent(), sent()])
    record["predicted"]["budget_gib"] = 28.56
    card = {"temperature_c": 50, "utilization_percent": None}
    record["gpus"] = {
        "gpu-worker-a": [{"at": 1.0, "gpus": {"0": {**card, "memory_used_mib": 20480.0}}}],
        "gpu-worker-b": [{"at": 1.0, "gpus": {"0": {**card, "memory_used_mib": 30720.0}}}],
    }
    html = load_test_report(record, "html")
    assert "28.56 GiB" in html
    assert "<b>measured</b>" in html
    assert html.count("30.00 GiB") == 1


def test_the_page_of_a_crash_shows_its_log_with_cause_and_consequence() -> None:
    memory = {
        **CRASHED,
        "log": [
            "EngineDeadError: see above",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.69 GiB.",
        ],
    }
    html = page([sent(errors=1)], stops=[CRASHED, memory])
    assert html.index("<b>Cause:</b>") < html.rindex("<b>Consequence:</b>")
    assert "RayChannelTimeoutError: System error" in html
    assert "not run" in html


def test_texts_from_logs_and_errors_are_escaped_on_the_page() -> None:
    evil = {**CRASHED, "log": ["<script>alert(1)</script> EngineDeadError"]}
    html = page([sent(errors=1, error_kinds=[{"message": "<img src=x>", "count": 1}])], stops=[evil])
    assert "<script>" not in html
    assert "<img" not in html


def test_a_limit_that_is_none_is_refused_before_any_load() -> None:
    capacity = {"max_model_len": 32768, "concurrency": 13.98}
    with pytest.raises(AnsibleFilterError, match="There is no limit error_percent"):
        load_test_stages(PROFILES, "smoke", capacity, {"error_percent": 0})
    steps = [{**PROFILES["smoke"][0], "limits": {"restart": 1}}]
    with pytest.raises(AnsibleFilterError, match="There is no limit restart;"):
        load_test_stages({"own": steps}, "own", capacity, LIMITS)


def test_junit_has_a_case_for_what_is_of_no_stage_and_only_characters_that_xml_knows() -> None:
    broken = {"msg": "AIPerf \x1b[31msent\x1b[0m \x00nothing"}
    suite = ElementTree.fromstring(load_test_report(judged([broken]), "junit").encode())
    assert "AIPerf sent nothing" in (suite[0][0].get("message") or "")
    nothing = {**judged([sent()] * 2), "verdict": "inconclusive"}
    nothing["reasons"] = [
        {"verdict": "inconclusive", "code": "generator", "message": "Not run: smoke-2.", "stage": None}
    ]
    suite = ElementTree.fromstring(load_test_report(nothing, "junit").encode())
    assert (suite.get("errors"), suite[-1].get("name"), suite[-1][0].get("message")) == (
        "1",
        "test",
        "Not run: smoke-2.",
    )
