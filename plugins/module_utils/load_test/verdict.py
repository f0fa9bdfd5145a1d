# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a load test is passed: a gate with limits.

``failed`` is said of the engine, never of the machine that made the load. Where the load did not reach the engine,
nothing was proven; where that machine was slow, a limit that was exceeded may be its doing: both are ``inconclusive``.
A slow client takes nothing from limits that hold nevertheless, and an engine that stopped has failed in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
# Of a stage alone, after one that broke the test off.
NOT_RUN = "not run"

# The limits that there are; None is none.
LIMITS = (
    "errors_percent",
    "restarts",
    "first_token_p95_seconds",
    "token_p95_seconds",
    "answer_tokens_per_second",
    "kv_tokens_deviation_percent",
)

# The load does not reach the engine when less than this share of what should be there is, while no request waits there.
REACHED_SHARE = 0.8
EMPTY_QUEUE = 0.5
# The client is slow when requests that are due leave later than this (seconds, or share of an answer's time), or when
# its processors have no time left and this share of an answer's time passes outside of the engine.
LAG_SECONDS, LAG_SHARE = 0.5, 0.1
BUSY_SHARE, OUTSIDE_SHARE = 0.9, 0.25
# With fewer looks than this nothing is said of what the engine had.
FEWEST_SAMPLES = 3
# How long after a stage a stop may be seen and still belong to it.
STOP_SECONDS = 15


class LimitError(ValueError):
    """A limit that is none; the message says what was found, what was wanted and what to do."""


@dataclass(frozen=True)
class Reason:
    """Why it is not passed. ``code`` is the limit, or ``client`` or ``generator``."""

    verdict: str
    code: str
    message: str
    stage: str | None = None


def judge(
    stages: Sequence[Mapping[str, Any]],
    watch: Mapping[str, Any],
    limits: Mapping[str, Any],
    predicted_tokens: float | None,
    printed_tokens: float | None,
) -> dict[str, Any]:
    """``{"verdict", "reasons": [{"verdict", "code", "message", "stage"}], "stages": [{"verdict", "seen"}]}``.

    ``stages`` are ``{"stage", "limits", "figures", "generator", "error"}``: what was asked, limits of its own, and what
    ``load_stage`` returned: ``figures`` is None where it could send nothing, ``error`` then says why; both are None
    where the test was broken off before. ``watch`` is what ``load_watch`` returned; each of its stops has ``crashes``.
    Raises LimitError.
    """
    general = checked(limits)
    reasons = list(_stops(watch["stops"], general))
    rows = []
    for entry in stages:
        seen = _seen(entry, watch)
        found = list(_stage(entry, seen, {**general, **checked(entry["limits"])}))
        reasons += found
        rows.append({"seen": seen, "verdict": _worst(found) if _was_run(entry) else NOT_RUN})
    reasons += _memory(general, predicted_tokens, printed_tokens)
    missing = [entry["stage"]["name"] for entry in stages if not _was_run(entry)]
    if (missing or not stages) and not reasons:
        reasons.append(Reason(INCONCLUSIVE, "generator", f"Not run: {', '.join(missing) or 'there is no stage'}."))
    return {
        "verdict": _worst(reasons),
        "reasons": [vars(reason) for reason in sorted(reasons, key=lambda reason: reason.verdict != FAILED)],
        "stages": rows,
    }


def checked(limits: Mapping[str, Any]) -> dict[str, float | None]:
    """The limits as numbers; an empty one is none. Raises LimitError."""
    found: dict[str, float | None] = {}
    for name, value in limits.items():
        if name not in LIMITS:
            raise LimitError(f"There is no limit {name}; there are: {', '.join(LIMITS)}.")
        try:
            found[name] = None if value in (None, "") else float(value)
        except (TypeError, ValueError):
            raise LimitError(f"The limit {name} is {value!r}; wanted is a number, or null for none.") from None
    return found


def _was_run(entry: Mapping[str, Any]) -> bool:
    return entry["figures"] is not None or entry["error"] is not None


def _worst(reasons: Sequence[Reason]) -> str:
    verdicts = {reason.verdict for reason in reasons}
    return next((verdict for verdict in (FAILED, INCONCLUSIVE) if verdict in verdicts), PASSED)


def _stops(stops: Sequence[Mapping[str, Any]], limits: Mapping[str, float | None]) -> Iterator[Reason]:
    allowed = limits.get("restarts")
    if allowed is None or len(stops) <= allowed:
        return
    for stop in stops:
        message = f"The engine of {stop['instance']} stopped: {stop['how']}."
        for crash in stop["crashes"][:1]:
            message += f" Its log shows {crash['id']}: {crash['means']} {crash['remedy']}"
        followers = [crash["id"] for crash in stop["crashes"][1:]]
        if followers:
            message += f" What follows from it in the log: {', '.join(followers)}."
        yield Reason(FAILED, "restarts", message)


def _seen(entry: Mapping[str, Any], watch: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen of the engines during a stage; None where it was too short, or nothing could be seen."""
    figures = entry["figures"] or {}
    start, end = figures.get("started_at"), figures.get("ended_at")
    seen: dict[str, Any] = dict.fromkeys(
        ("in_engine", "waiting", "kv_cache_usage", "cpu_busy", "engine_latency_seconds", "preemptions")
    )
    seen["stops"] = 0
    if start is None or end is None:
        return seen
    seen["stops"] = sum(start <= stop["at"] <= end + STOP_SECONDS for stop in watch["stops"])
    samples = [sample for sample in watch["samples"] if start <= sample["at"] <= end and sample["engines_answering"]]
    if len(samples) < FEWEST_SAMPLES:
        return seen
    seen["in_engine"] = _most([sample["running"] + sample["waiting"] for sample in samples])
    seen["waiting"] = _most([sample["waiting"] for sample in samples])
    seen["kv_cache_usage"] = max((sample["kv_cache_usage"] or 0.0 for sample in samples), default=None)
    busy = [sample["cpu_busy"] for sample in samples if sample["cpu_busy"] is not None]
    seen["cpu_busy"] = _most(busy) if busy else None
    before = next((sample for sample in reversed(watch["samples"]) if sample["at"] < start), samples[0])
    after = next((sample for sample in watch["samples"] if sample["at"] > end), samples[-1])
    answered = after["answered"] - before["answered"]
    if answered:
        seen["engine_latency_seconds"] = (after["latency_seconds"] - before["latency_seconds"]) / answered
    seen["preemptions"] = after["preemptions"] - before["preemptions"]
    return seen


def _most(values: Sequence[float]) -> float:
    """What three quarters of the values do not exceed: begin and end of a stage are in the rest."""
    return sorted(values)[(len(values) * 3) // 4]


def _stage(entry: Mapping[str, Any], seen: Mapping[str, Any], limits: Mapping[str, float | None]) -> Iterator[Reason]:
    stage = entry["stage"]
    name = stage["name"]
    if entry["figures"] is None:
        if entry["error"] is not None:
            yield Reason(INCONCLUSIVE, "generator", f"{name}: {entry['error']}", name)
        return
    figures = entry["figures"]
    if not figures["requests"]:
        yield Reason(INCONCLUSIVE, "generator", f"{name}: no request was sent", name)
        return
    hollow = None if seen["stops"] else load_missed(stage, figures, seen)
    if hollow:
        yield Reason(INCONCLUSIVE, "client", f"{name}: {hollow}", name)
        return
    exceeded = list(_exceeded(entry, limits))
    slow = None if seen["stops"] or not exceeded else client_slow(figures, seen)
    if slow:
        yield Reason(INCONCLUSIVE, "client", f"{name}: {slow} {exceeded[0].message.partition(': ')[2]}", name)
        return
    yield from exceeded


def _exceeded(entry: Mapping[str, Any], limits: Mapping[str, float | None]) -> Iterator[Reason]:
    name, figures = entry["stage"]["name"], entry["figures"]
    if entry["generator"]["timed_out"]:
        yield Reason(FAILED, "errors_percent", f"{name}: not over after {entry['generator']['seconds']:.0f} s.", name)
    yield from _errors(name, figures, limits.get("errors_percent"))
    for limit, figure, what in (
        ("first_token_p95_seconds", "first_token_seconds", "the first token came"),
        ("token_p95_seconds", "token_seconds", "each further token came"),
    ):
        most, found = limits.get(limit), (figures[figure] or {}).get("p95")
        if most is not None and found is not None and found > most:
            text = f"{name}: {what} after {_seconds(found)} in 95 % of the answers; the limit is {_seconds(most)}."
            yield Reason(FAILED, limit, text, name)
    least, rate = limits.get("answer_tokens_per_second"), figures["answer_tokens_per_second"]
    if least is not None and rate is not None and rate < least:
        text = f"{name}: {rate:.1f} tokens of answers a second; wanted are at least {least:g}."
        yield Reason(FAILED, "answer_tokens_per_second", text, name)


def load_missed(stage: Mapping[str, Any], figures: Mapping[str, Any], seen: Mapping[str, Any]) -> str | None:
    """How the load did not reach the engine; None when it did, as far as can be told."""
    asked = min(stage["concurrency"], figures["requests"])
    reached, waiting = seen["in_engine"], seen["waiting"]
    if asked == 1 or reached is None or reached >= REACHED_SHARE * asked or waiting >= EMPTY_QUEUE:
        return None
    return (
        f"{asked} requests at once were asked for, and the engine had {reached:.0f} with none waiting, so the load did "
        f"not reach it.{_processors(seen)} Look at the machine that makes the load, its limits on connections, and the "
        "gateway in between."
    )


def client_slow(figures: Mapping[str, Any], seen: Mapping[str, Any]) -> str | None:
    """How the machine that made the load was slow; None when it was not, as far as can be told."""
    lag, latency, inside = figures["lag_seconds"], figures["latency_seconds"], seen["engine_latency_seconds"]
    if lag and latency and lag["mean"] > max(LAG_SECONDS, LAG_SHARE * latency["mean"]):
        return (
            f"the load generator was late: requests that were due left {_seconds(lag['mean'])} later."
            f"{_processors(seen)} Run it on a machine with more to spare, before anything is said of this:"
        )
    busy = seen["cpu_busy"]
    if busy is not None and busy >= BUSY_SHARE and latency and inside is not None:
        outside = (latency["mean"] - inside) / latency["mean"]
        if outside > OUTSIDE_SHARE:
            return (
                f"{outside:.0%} of an answer's time passed outside of the engine.{_processors(seen)} Run the load "
                "generator on a machine with more to spare, before anything is said of this:"
            )
    return None


def _processors(seen: Mapping[str, Any]) -> str:
    return "" if seen["cpu_busy"] is None else f" Its processors were {seen['cpu_busy']:.0%} busy."


def _errors(name: str, figures: Mapping[str, Any], most: float | None) -> Iterator[Reason]:
    """Answers that end early are errors too: an engine that dies ends them as if they were complete."""
    failed = figures["errors"] + figures["short_answers"]
    requests = figures["requests"]
    if most is None or not requests or 100 * failed / requests <= most:
        return
    message = (
        f"{name}: {failed} of {requests} requests failed ({100 * failed / requests:.0f} %, the limit is {most:g} %)"
    )
    if figures["short_answers"]:
        message += f", {figures['short_answers']} of them with an answer that was cut short"
    kinds = "; ".join(f"{kind['count']} × {kind['message']}" for kind in figures["error_kinds"])
    yield Reason(FAILED, "errors_percent", f"{message}{': ' + kinds if kinds else ''}.", name)


def _memory(limits: Mapping[str, float | None], predicted: float | None, printed: float | None) -> list[Reason]:
    most = limits.get("kv_tokens_deviation_percent")
    if most is None or not predicted or not printed:
        return []
    deviation = 100 * (predicted - printed) / printed
    if abs(deviation) <= most:
        return []
    text = (
        f"The KV cache holds {printed:,.0f} tokens by the engine's log and {predicted:,.0f} by the plan "
        f"({deviation:+.1f} %, the limit is {most:g} %): the plan is made for something else than what runs."
    )
    return [Reason(FAILED, "kv_tokens_deviation_percent", text)]


def _seconds(value: float) -> str:
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"
