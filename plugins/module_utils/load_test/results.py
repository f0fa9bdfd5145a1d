# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What AIPerf (0.13) reports of a stage → its figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

MOST_KINDS_OF_ERRORS = 5
_LONGEST_MESSAGE = 300

# Our name, AIPerf's, and what its unit is divided by.
_DISTRIBUTIONS = (
    ("first_token_seconds", "time_to_first_token", 1000),
    ("token_seconds", "inter_token_latency", 1000),
    ("latency_seconds", "request_latency", 1000),
    # From the moment a request was due until it was sent: the generator's own delay.
    ("lag_seconds", "credit_to_start_latency", 1000),
)
_POINTS = {"mean": "avg", "p50": "p50", "p95": "p95", "max": "max"}
_TOTALS = (
    ("answer_tokens_per_second", "output_token_throughput"),
    ("requests_per_second", "request_throughput"),
    ("prompt_tokens_mean", "input_sequence_length"),
    ("answer_tokens_mean", "output_sequence_length"),
)


def figures(summary: Mapping[str, Any] | None, records: Iterable[str], answer_tokens: int) -> dict[str, Any]:
    """The figures of a stage.

    ``summary`` is AIPerf's report, None where every request failed; ``records`` are the lines of its records. The
    result has ``requests`` (all), ``errors`` (failed ones), ``short_answers`` (of fewer than ``answer_tokens`` tokens:
    an engine that dies ends its streams as if they were complete), ``error_kinds`` (``[{"message", "count"}]``),
    ``started_at`` and ``ended_at`` (Unix time), and of the answers ``first_token_seconds``, ``token_seconds``,
    ``latency_seconds``, ``lag_seconds`` (each ``{"mean", "p50", "p95", "max"}``), ``answer_tokens_per_second``,
    ``requests_per_second``, ``prompt_tokens_mean`` and ``answer_tokens_mean``; what is unknown is None.
    """
    requests = short = 0
    started_ns: list[int] = []
    ended_ns: list[int] = []
    errors: Counter[str] = Counter()
    for line in records:
        record = json.loads(line)
        metadata = record["metadata"]
        requests += 1
        started_ns.append(metadata["request_start_ns"])
        ended_ns.append(metadata["request_end_ns"])
        if record.get("error"):
            errors[_message(record["error"])] += 1
        elif _value(record, "output_sequence_length") < answer_tokens:
            short += 1
    found: dict[str, Any] = {
        "requests": requests,
        "errors": sum(errors.values()),
        "short_answers": short,
        "error_kinds": [
            {"message": message, "count": count} for message, count in errors.most_common(MOST_KINDS_OF_ERRORS)
        ],
        "started_at": min(started_ns) / 1e9 if started_ns else None,
        "ended_at": max(ended_ns) / 1e9 if ended_ns else None,
    }
    told = summary or {}
    for ours, theirs, divisor in _DISTRIBUTIONS:
        values = told.get(theirs)
        found[ours] = (
            {point: values[name] / divisor for point, name in _POINTS.items()} if values and "p95" in values else None
        )
    for ours, theirs in _TOTALS:
        found[ours] = (told.get(theirs) or {}).get("avg")
    return found


def _value(record: Mapping[str, Any], name: str) -> float:
    return float((record["metrics"].get(name) or {}).get("value") or 0)


def _message(error: Mapping[str, Any]) -> str:
    code = error.get("code")
    text = " ".join(str(error.get("message") or "").split())
    words = [str(error.get("type") or "Error"), f"({code})" if code else "", text]
    return " ".join(word for word in words if word)[:_LONGEST_MESSAGE]
