# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.report import line, noted, parse, text

NOON = 1767268800.0  # 2026-01-01 12:00:00 UTC


def test_steps_are_kept_with_the_time_since_the_one_before() -> None:
    report, first = noted({}, "host", "gpu-worker-a", "out of service", {"gaps": []}, NOON)
    report, second = noted(report, "host", "gpu-worker-a", "drained", {"requests_cut": 0}, NOON + 2.34)
    assert (first, second) == (None, 2.3)
    assert report["hosts"]["gpu-worker-a"] == {
        "gaps": [],
        "requests_cut": 0,
        "seconds": {},
        "steps": [
            {"step": "out of service", "seconds": None, "at": "2026-01-01T12:00:00.000Z"},
            {"step": "drained", "seconds": 2.3, "at": "2026-01-01T12:00:02.340Z"},
        ],
    }


def test_run_begins_a_new_report() -> None:
    old, _seconds = noted({}, "model", "qwen", "proved", {}, NOON)
    new, seconds = noted(old, "run", "rolling update", "begun", {"batches": ["a"]}, NOON)
    assert seconds is None
    assert new == {
        "title": "rolling update",
        "began": "2026-01-01T12:00:00.000Z",
        "batches": ["a"],
        "hosts": {},
        "models": {},
    }


def test_report_is_read_back_as_written_and_anything_else_is_none() -> None:
    assert parse(text({"hosts": {"ä": {}}})) == {"hosts": {"ä": {}}}
    assert parse("") == parse("[]") == parse("{") == {}


def test_line_says_what_is_worth_saying() -> None:
    details = {"requests_cut": 0, "gaps": [], "engines": ["x", "y"], "failure": ""}
    assert line("gpu-worker-a", "drained", 2.3, details) == (
        "[gpu-worker-a] drained after 2.3 s (requests cut 0; engines x, y)"
    )
    assert line("gpu-worker-a", "drained", None, {}) == "[gpu-worker-a] drained"


def test_what_a_turn_took_is_measured_from_its_own_beginning() -> None:
    report: dict = {}
    story = [
        ("out of service", 0, {"begins": True}),
        ("drained", 4, {"measures": "drain"}),
        ("runs", 64, {"measures": "ready"}),
        ("serves again", 67, {"measures": "back"}),
    ]
    for began in (NOON, NOON + 86_400):
        for step, after, told in story:
            report, seconds = noted(report, "model", "qwen", step, {}, began + after, **told)
            assert seconds is None or seconds <= 60
        assert report["models"]["qwen"]["seconds"] == {
            "drain": 4.0,
            "ready": 60.0,
            "back": 3.0,
            "total": 67.0,
            "overhead": 7.0,
        }
