# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the page shows, worked out of the record of a test; the templates only write it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..words import SIGNS, duration, number, summary
from .charts import Chart, Point, chart

TONES = {"passed": "good", "failed": "bad", "inconclusive": "doubtful", "not run": "idle"}
_GIB_MIB = 1024


@dataclass(frozen=True)
class Bar:
    """A figure as planned, and as it is, as shares of the larger one. ``told``: printed or measured."""

    name: str
    told: str
    predicted: str
    measured: str
    predicted_share: float
    measured_share: float
    deviation: str


def context(record: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of ``page.html.j2``."""
    return {
        "record": record,
        "tone": TONES[record["verdict"]],
        "sign": SIGNS[record["verdict"]],
        "summary": summary(record),
        "tones": TONES,
        "charts": [found for found in (*_over_load(record), *_over_time(record)) if found],
        "bars": list(_bars(record)),
        "cards": list(_cards(record)),
        "duration": duration,
        "number": number,
        "changes": _changes(record),
    }


def _figures(record: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Stage and figures of the stages that brought answers."""
    return [
        (entry["stage"], entry["figures"])
        for entry in record["stages"]
        if entry["figures"] and entry["figures"]["latency_seconds"]
    ]


def _over_load(record: Mapping[str, Any]) -> Iterator[Chart | None]:
    ran = _figures(record)
    alone = [(stage["prompt_tokens"], figures) for stage, figures in ran if stage["concurrency"] == 1]
    longest = _longest_prompts(ran)
    yield _percentiles("Time to first token over context", "tokens of the prompt", alone, "first_token")
    yield _percentiles("Time to first token over concurrency", "requests at once", longest, "first_token")
    yield _percentiles("Time per token over concurrency", "requests at once", longest, "token")
    rates = [
        (float(x), figures["answer_tokens_per_second"]) for x, figures in sorted(longest, key=lambda pair: pair[0])
    ]
    yield chart("Tokens of all answers a second", "requests at once", [("tokens/s", rates)], "{:g}".format)


def _longest_prompts(ran: Sequence[tuple[Any, Any]]) -> list[tuple[int, Any]]:
    """Concurrency and figures of the stages that ask the same at different concurrencies, the largest such group."""
    groups: dict[int, dict[int, Any]] = {}
    for stage, figures in ran:
        groups.setdefault(stage["prompt_tokens"], {})[stage["concurrency"]] = figures
    return sorted(max(groups.values(), key=len, default={}).items())


def _percentiles(title: str, x_label: str, measured: Sequence[tuple[int, Any]], figure: str) -> Chart | None:
    ordered = sorted(measured, key=lambda pair: pair[0])
    lines: list[tuple[str, list[Point]]] = [
        (label, [(float(x), found[f"{figure}_seconds"][key]) for x, found in ordered if found[f"{figure}_seconds"]])
        for label, key in (("half of the requests", "p50"), ("95 % of the requests", "p95"))
    ]
    return chart(title, x_label, lines, duration_tick)


def duration_tick(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if 0 < seconds < 1 else f"{seconds:g} s"


def _over_time(record: Mapping[str, Any]) -> Iterator[Chart | None]:
    samples = record["samples"]
    if not samples:
        return
    began = samples[0]["at"]
    bands = [
        (entry["figures"]["started_at"] - began, entry["figures"]["ended_at"] - began, entry["stage"]["name"])
        for entry in record["stages"]
        if entry["figures"] and entry["figures"]["started_at"]
    ]

    def line(key: str) -> list[Point]:
        return [(sample["at"] - began, sample[key]) for sample in samples if sample[key] is not None]

    def over_time(title: str, lines: Sequence[tuple[str, list[Point]]], form: Any, most: float | None = None) -> Any:
        return chart(title, "time", lines, form, _clock, bands, most)

    yield over_time("KV cache in use", [("KV cache", line("kv_cache_usage"))], "{:.0%}".format, 1.0)
    yield over_time(
        "Requests in the engine", [("at work", line("running")), ("waiting", line("waiting"))], "{:g}".format
    )
    yield over_time("Tokens a second over time", [("answers", _rate(samples, began))], "{:g}".format)
    yield over_time("Processors of this machine", [("busy", line("cpu_busy"))], "{:.0%}".format, 1.0)
    for key, title, unit, divisor in (
        ("temperature_c", "Temperature of the warmest card", "°C", 1),
        ("memory_used_mib", "Memory of the fullest card", "GiB", _GIB_MIB),
    ):
        yield over_time(title, _of_cards(record, began, key, divisor), f"{{:g}} {unit}".format)


def _rate(samples: Sequence[Mapping[str, Any]], began: float) -> list[Point]:
    pairs = zip(samples, samples[1:])
    return [
        (now["at"] - began, (now["answer_tokens"] - before["answer_tokens"]) / (now["at"] - before["at"]))
        for before, now in pairs
        if now["at"] > before["at"]
    ]


def _of_cards(record: Mapping[str, Any], began: float, key: str, divisor: float) -> list[tuple[str, list[Point]]]:
    """The hottest or fullest card of each host: one line a host stays legible on any fleet."""
    lines = []
    for host, samples in record["gpus"].items():
        points = []
        for sample in samples:
            known = [card[key] for card in sample["gpus"].values() if card[key] is not None]
            if known:
                points.append((sample["at"] - began, max(known) / divisor))
        if points:
            lines.append((host, points))
    return lines


def _clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


_MEMORY = (
    ("Weights per card", "weights_gib", "weights_gib", "{:.2f} GiB"),
    ("KV cache per card", "kv_cache_gib", "kv_cache_gib", "{:.2f} GiB"),
    ("Tokens in the KV cache", "kv_cache_tokens", "kv_cache_tokens", "{:,.0f}"),
    ("Requests of full length at once", "concurrency", "max_concurrency", "{:.2f}"),
)


def _bars(record: Mapping[str, Any]) -> Iterator[Bar]:
    for name, planned, printed, form in _MEMORY:
        yield from _bar(name, "printed", record["predicted"].get(planned), record["printed"].get(printed), form)
    used = [
        card["memory_used_mib"] / _GIB_MIB
        for samples in record["gpus"].values()
        for sample in samples
        for card in sample["gpus"].values()
        if card["memory_used_mib"] is not None
    ]
    yield from _bar(
        "Memory of the fullest card",
        "measured",
        record["predicted"].get("budget_gib"),
        max(used, default=None),
        "{:.2f} GiB",
    )


def _bar(name: str, told: str, expected: float | None, found: float | None, form: str) -> Iterator[Bar]:
    most = max(expected or 0, found or 0)
    if most:
        yield Bar(
            name=name,
            told=told,
            predicted=number(expected, form),
            measured=number(found, form),
            predicted_share=(expected or 0) / most,
            measured_share=(found or 0) / most,
            deviation=f"{(expected - found) / found:+.1%}" if expected and found else "",
        )


def _cards(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each card with the most it showed."""
    for host, samples in record["gpus"].items():
        for index in sorted({index for sample in samples for index in sample["gpus"]}, key=int):
            seen = [sample["gpus"][index] for sample in samples if index in sample["gpus"]]
            most = {
                key: max((card[key] for card in seen if card[key] is not None), default=None)
                for key in ("memory_used_mib", "temperature_c")
            }
            memory = most["memory_used_mib"]
            yield {
                "host": host,
                "index": index,
                "memory": number(memory / _GIB_MIB if memory is not None else None, "{:.1f} GiB"),
                "temperature": number(most["temperature_c"], "{:.0f} °C"),
            }


def _changes(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    comparison = record["comparison"] or {"stages": []}
    return {row["name"]: row for row in comparison["stages"]}
