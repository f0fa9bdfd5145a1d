# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a load test in words, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 120
SIGNS = {"passed": "✓", "failed": "✕", "inconclusive": "?", "not run": " "}


def text(record: Mapping[str, Any]) -> str:
    """A block whose first line says the outcome."""
    lines = [f"{SIGNS[record['verdict']]} Load test of {record['model']}: {record['verdict']}{summary(record)}"]
    for reason in record["reasons"]:
        lines += textwrap.wrap(reason["message"], WIDTH, initial_indent="  ", subsequent_indent="    ")
    lines += ["", *_table(record)]
    comparison = record["comparison"]
    if comparison and comparison["stages"]:
        lines += ["", f"  beside the test passed on {comparison['time']}"]
        lines += [f"    {row['name']:<16}{_changes(row)}" for row in comparison["stages"]]
    return "\n".join(lines)


def summary(record: Mapping[str, Any]) -> str:
    """What was proven, where something was."""
    ran = [entry for entry in record["stages"] if entry["figures"]]
    if record["verdict"] != "passed":
        return ""
    most = max(entry["stage"]["concurrency"] for entry in ran)
    longest = max(entry["stage"]["prompt_tokens"] for entry in ran)
    requests = sum(entry["figures"]["requests"] for entry in ran)
    return f" with {requests} requests, up to {most} at once and prompts of up to {longest:,} tokens"


def _table(record: Mapping[str, Any]) -> Iterator[str]:
    head = ("stage", "at once", "prompt", "answer", "failed", "first token", "per token", "tokens/s", "KV cache")
    form = "  {:<16}{:>8}{:>9}{:>8}{:>10}{:>13}{:>11}{:>10}{:>10}"
    yield form.format(*head)
    for entry in record["stages"]:
        stage = entry["stage"]
        cells = [stage["name"], str(stage["concurrency"]), f"{stage['prompt_tokens']:,}", str(stage["answer_tokens"])]
        if not entry["figures"]:
            yield form.format(*cells, "not run", "", "", "", "").rstrip()
            continue
        figures, usage = entry["figures"], entry["seen"]["kv_cache_usage"]
        cells += [
            f"{figures['errors'] + figures['short_answers']}/{figures['requests']}",
            duration((figures["first_token_seconds"] or {}).get("p95")),
            duration((figures["token_seconds"] or {}).get("p95")),
            number(figures["answer_tokens_per_second"], "{:.1f}"),
            number(usage, "{:.0%}"),
        ]
        yield f"{form.format(*cells)}  {SIGNS[entry['verdict']]}"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


_NAMES = (
    ("first_token_p95_seconds", "first token"),
    ("token_p95_seconds", "per token"),
    ("answer_tokens_per_second", "tokens/s"),
)


def _changes(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {number(row[key], '{:+.0%}')}" for key, name in _NAMES)
