# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far a model's instances are: one judge, used by the module and by the action plugin that shows its lines. Pure.

`judge` looks at one snapshot; `follow` asks for snapshots until the judge has seen enough. Time, sleep and everything
that asks a server are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

Instance = Mapping[str, Any]

POLL_SECONDS = 3.0
# GPUStack's health check can flap while an engine comes up, so one good look is not enough once something moved.
STABLE_POLLS = 3
# An error that GPUStack clears by itself within one poll is not worth ending a wait of half an hour for.
ERROR_POLLS = 2
# The scheduler looks again every 180 s: the cards of a deleted instance may have been free only a moment too late.
SCHEDULER_PATIENCE_SECONDS = 240.0
# What the scheduler says when its own rules refuse the model; no card that becomes free changes that.
_FINAL_MESSAGES = ("Failed to find candidate:",)
# … except when it could not read the model's config.json from a worker, which it tries again.
_PASSING_MESSAGE = "pretrained config"

# How long an engine that starts again may take to end again, with its log.
LOG_PATIENCE_SECONDS = 120.0
# A restart of the server takes about a minute; engines are not touched by it.
SERVER_PATIENCE_SECONDS = 180.0

# Errors of a module that a server has while it restarts; see `errors`.
AWAY_ERRORS = ("Unreachable", "ServerError")
_AWAY_LINE = "GPUStack does not answer; waiting for it to come back"

_LONGEST_QUOTE = 300

_WITHOUT_WORKER = frozenset({"pending", "analyzing"})


class NoAnswer(Exception):
    """The server did not answer a look; it may be restarting."""


class Outcome(Enum):
    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True)
class Snapshot:
    """A model at one moment.

    `stale` names the instances that are about to be replaced and count as not there; `moved` says that this run has
    changed something, so that one good look is not enough; `busy` says in words what
    is left to do that no instance shows.
    """

    name: str
    replicas: int
    instances: Sequence[Instance]
    stale: Sequence[str] = ()
    moved: bool = False
    busy: str = ""


@dataclass(frozen=True)
class Progress:
    """What the judge remembers between snapshots; times in seconds of any steady clock, keys are instance ids."""

    good_polls_wanted: int = 1
    good_polls: int = 0
    polls: int = 0
    restarts: Mapping[int, int] = field(default_factory=dict)
    error_polls: Mapping[int, int] = field(default_factory=dict)
    error_messages: Mapping[int, str] = field(default_factory=dict)
    unscheduled_since: Mapping[int, float] = field(default_factory=dict)
    inherited: Mapping[int, Any] = field(default_factory=dict)  # `updated_at` of what an earlier run left waiting


@dataclass(frozen=True)
class Verdict:
    """`text` is one line for a person; `instance` the one it is mostly about; `reason` why a wait failed."""

    outcome: Outcome
    text: str
    instance: Instance | None = None
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """The end of a wait: the last verdict, and the tail of the log of the instance that a failure is about."""

    verdict: Verdict
    log: Sequence[str] = ()


def judge(snapshot: Snapshot, progress: Progress, now: float) -> tuple[Progress, Verdict]:
    """Judge a snapshot in the light of the earlier ones."""
    present = [instance for instance in snapshot.instances if instance["name"] not in snapshot.stale]
    if progress.polls == 0 and not snapshot.moved:
        progress = replace(progress, inherited={instance["id"]: instance.get("updated_at") for instance in present})
    progress = _remember(present, progress, now)
    text = _line(snapshot, present)

    for instance in present:
        reason = _failure(instance, progress, now)
        if reason:
            return progress, Verdict(Outcome.FAILED, text, instance, reason)

    if snapshot.moved:
        progress = replace(progress, good_polls_wanted=STABLE_POLLS)
    complete = len(present) == len(snapshot.instances) == snapshot.replicas
    if complete and not snapshot.busy and all(instance["state"] == "running" for instance in present):
        progress = replace(progress, good_polls=progress.good_polls + 1)
        if progress.good_polls >= progress.good_polls_wanted:
            return progress, Verdict(Outcome.DONE, text)
        return progress, Verdict(Outcome.WAITING, text)
    # From here on something moved: see it stand still for a while.
    progress = replace(progress, good_polls=0, good_polls_wanted=STABLE_POLLS)
    return progress, Verdict(Outcome.WAITING, text, _slowest(present))


def follow(
    look: Callable[[], Snapshot],
    read_log: Callable[[Instance], Sequence[str]],
    *,
    timeout_seconds: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    report: Callable[[str], None] = lambda line: None,
) -> Result:
    """Look until all replicas of a model run, one of them failed, or the time is over; see `follow_all`."""
    (result,) = follow_all(
        lambda: [look()], read_log, timeout_seconds=timeout_seconds, clock=clock, sleep=sleep, report=report
    ).values()
    return result


def follow_all(
    look: Callable[[], Sequence[Snapshot]],
    read_log: Callable[[Instance], Sequence[str]],
    *,
    timeout_seconds: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Result]:
    """Look until every model runs with all its replicas or has failed, or the time is over. Results by model name.

    A model that failed stops no other. One that is missing from a look is not waited for any more. `report` gets a
    model's line whenever it differs from the one before; of several models, those that run at the first look say
    nothing. Raises NoAnswer when the server stays away too long.
    """
    models: dict[str, _Followed] = {}
    end = clock() + timeout_seconds
    answered = clock()
    away = False
    while True:
        try:
            snapshots = {snapshot.name: snapshot for snapshot in look()}
        except NoAnswer:
            if clock() - answered > SERVER_PATIENCE_SECONDS:
                raise
            if not away:
                report(_AWAY_LINE)
                away = True
                for model in models.values():
                    if model.verdict.outcome is Outcome.WAITING:
                        model.line = ""
            sleep(POLL_SECONDS)
            continue
        answered, away = clock(), False
        models = {name: models.get(name) or _Followed() for name in snapshots}
        over = f"After {timeout_seconds:g} seconds" if clock() >= end else ""
        for name, model in models.items():
            model.see(snapshots[name], read_log, clock(), over=over, quiet=len(snapshots) > 1, report=report)
        if not any(model.verdict.outcome is Outcome.WAITING for model in models.values()):
            return {name: model.result(read_log) for name, model in models.items()}
        sleep(POLL_SECONDS)


class _Followed:
    """One of the models that are waited for."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.verdict = Verdict(Outcome.WAITING, "")
        self.line = ""
        self._logs: dict[int, Sequence[str]] = {}
        self._died: tuple[Verdict, float] | None = None  # of what, and since when its log is awaited

    def see(
        self,
        snapshot: Snapshot,
        read_log: Callable[[Instance], Sequence[str]],
        now: float,
        *,
        over: str,
        quiet: bool,
        report: Callable[[str], None],
    ) -> None:
        """Judge another look; a model that has failed once stays so. `over` says after what time there is no more."""
        if self.verdict.outcome is Outcome.FAILED:
            return
        first = self.progress.polls == 0
        self.progress, verdict = judge(snapshot, self.progress, now)
        if verdict.text != self.line:
            if not (quiet and first and verdict.outcome is Outcome.DONE):
                report(verdict.text)
            self.line = verdict.text
        # A restarted engine begins a new log: keep the one that holds the cause.
        for instance in snapshot.instances:
            unread = instance["state"] == "error" and instance["id"] not in self._logs
            if unread and instance["name"] not in snapshot.stale:
                self._logs[instance["id"]] = read_log(instance)
        verdict = self._with_log(verdict, now, over)
        if verdict.outcome is Outcome.WAITING and over:
            verdict = replace(
                verdict,
                outcome=Outcome.FAILED,
                instance=verdict.instance or (None if snapshot.busy else next(iter(snapshot.instances), None)),
                reason=f"{over} not all replicas run: {verdict.text}",
            )
        self.verdict = verdict

    def _with_log(self, verdict: Verdict, now: float, over: str) -> Verdict:
        """A failure waits for its log: when an engine was restarted between two looks, its next end tells the same."""
        if self._died is not None:
            verdict, since = self._died
        elif verdict.outcome is Outcome.FAILED:
            since = now
            self._died = (verdict, now)
        else:
            return verdict
        instance = verdict.instance
        known = instance is None or instance["id"] in self._logs or not instance.get("restart_count")
        if known or over or now - since >= LOG_PATIENCE_SECONDS:
            return verdict
        return replace(verdict, outcome=Outcome.WAITING)

    def result(self, read_log: Callable[[Instance], Sequence[str]]) -> Result:
        instance = self.verdict.instance
        if self.verdict.outcome is Outcome.FAILED and instance is not None:
            return Result(self.verdict, self._logs.get(instance["id"]) or read_log(instance))
        return Result(self.verdict)


def until_settled(
    look: Callable[[], dict[str, Any]],
    *,
    timeout_seconds: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    report: Callable[[str, float], None] = lambda line, seconds: None,
    poll_seconds: float = POLL_SECONDS,
) -> dict[str, Any]:
    """Look until an answer says `settled`, or the time is over; the last answer, `changed` if any of them was.

    An answer that failed ends it, unless the server that answered before is away, which may be a restart; and one
    without `settled`, after which there is nothing to wait for. `report` gets `progress` and the seconds since the
    beginning, whenever it differs from the one before.
    """
    begin = clock()
    answered: float | None = None
    changed = False
    last_line = ""
    while True:
        answer = look()
        if answer.get("failed") and answer.get("error") in AWAY_ERRORS and answered is not None:
            if clock() - answered <= SERVER_PATIENCE_SECONDS:
                answer = {"progress": _AWAY_LINE, "settled": False}
        else:
            answered = clock()
        changed = changed or bool(answer.get("changed"))
        line = str(answer.get("progress", ""))
        if line and line != last_line:
            report(line, clock() - begin)
            last_line = line
        if answer.get("failed") or answer.get("settled", True) or clock() - begin >= timeout_seconds:
            return {**answer, "changed": changed, "waited_seconds": round(clock() - begin, 1)}
        sleep(poll_seconds)


def failure_message(result: Result) -> str:
    """What to tell a person about a failed wait."""
    verdict = result.verdict
    if verdict.instance is None:
        remedy = "See GPUStack's server log and the model's page."
    elif verdict.instance["state"] in _WITHOUT_WORKER:
        remedy = "Let the model need less, or free or add cards; model_info and worker_info show what there is."
    else:
        last_line = next((line.strip() for line in reversed(result.log) if line.strip()), "nothing")
        remedy = f"Its log (see `log`) ends with: {last_line[:_LONGEST_QUOTE]}"
    return f"{verdict.reason}. {remedy}"


def describe(instance: Instance) -> str:
    """An instance in a few words: name, state, download, place, restarts."""
    words = [str(instance["name"]), str(instance["state"])]
    download = _download_percent(instance)
    if instance["state"] == "downloading" and download is not None:
        words.append(f"{download:.0f} %")
    if instance.get("worker_name"):
        words.append("on " + ", ".join([str(instance["worker_name"]), *_other_workers(instance)]))
    restarts = instance.get("restart_count") or 0
    if restarts:
        words.append(f"after {restarts} restart{'s' if restarts > 1 else ''}")
    message = _message(instance)
    if message and instance["state"] != "running":
        words.append(f"({message})")
    return " ".join(words)


def _line(snapshot: Snapshot, present: Sequence[Instance]) -> str:
    running = sum(instance["state"] == "running" for instance in present)
    parts = [f"{snapshot.name}: {running} of {snapshot.replicas} running"]
    parts += [describe(instance) for instance in sorted(present, key=lambda instance: str(instance["name"]))]
    waiting = [name for name in snapshot.stale if any(instance["name"] == name for instance in snapshot.instances)]
    if waiting:
        parts.append(f"still with an older configuration: {', '.join(waiting)}")
    if snapshot.busy:
        parts.append(snapshot.busy)
    return "; ".join(parts)


def _remember(present: Sequence[Instance], progress: Progress, now: float) -> Progress:
    """Carry the memory over to the instances that are still there."""
    restarts: dict[int, int] = {}
    error_polls: dict[int, int] = {}
    error_messages: dict[int, str] = {}
    unscheduled: dict[int, float] = {}
    for instance in present:
        key, count = instance["id"], instance.get("restart_count") or 0
        # Whatever happened before the first look is the past; an instance that appears later has none.
        first = count if progress.polls == 0 else 0
        restarts[key] = min(progress.restarts.get(key, first), count)
        if instance["state"] == "error":
            error_polls[key] = progress.error_polls.get(key, 0) + 1
            error_messages[key] = _message(instance)
        elif key in progress.error_messages:
            error_messages[key] = progress.error_messages[key]
        if instance["state"] in _WITHOUT_WORKER and (key in progress.unscheduled_since or _message(instance)):
            unscheduled[key] = progress.unscheduled_since.get(key, now)
    return replace(
        progress,
        polls=progress.polls + 1,
        restarts=restarts,
        error_polls=error_polls,
        error_messages=error_messages,
        unscheduled_since=unscheduled,
    )


def _failure(instance: Instance, progress: Progress, now: float) -> str:
    """Why this instance will not come up by itself; empty while it may."""
    key, message = instance["id"], _message(instance)
    count = instance.get("restart_count") or 0
    if count > progress.restarts[key]:
        message = message or progress.error_messages.get(key) or "no message"
        return f"The engine of {instance['name']} stopped and was restarted ({message})"
    if progress.error_polls.get(key, 0) >= ERROR_POLLS:
        return f"Instance {instance['name']} is in error: {message or 'no message'}"
    since = progress.unscheduled_since.get(key)
    if since is not None and instance["state"] == "pending":
        waited = now - since
        final = message.startswith(_FINAL_MESSAGES) and _PASSING_MESSAGE not in message
        # What was said before this wait may be about a fleet that is another one now.
        said_now = key not in progress.inherited or progress.inherited[key] != instance.get("updated_at")
        if waited >= SCHEDULER_PATIENCE_SECONDS or (waited > 0 and final and said_now):
            return f"GPUStack finds no place for {instance['name']}: {message or 'no message'}"
    return ""


def _message(instance: Instance) -> str:
    """GPUStack's own explanation as one line; of a distributed instance, the first worker's that has one."""
    messages = [instance.get("state_message")]
    messages += [worker.get("state_message") for worker in _subordinates(instance)]
    return next((" ".join(str(message).split()).rstrip(".") for message in messages if message), "")


def _slowest(present: Sequence[Instance]) -> Instance | None:
    return next((instance for instance in present if instance["state"] != "running"), None)


def _subordinates(instance: Instance) -> Sequence[Mapping[str, Any]]:
    servers = instance.get("distributed_servers") or {}
    workers: Sequence[Mapping[str, Any]] = servers.get("subordinate_workers") or []
    return workers


def _other_workers(instance: Instance) -> list[str]:
    return [str(worker["worker_name"]) for worker in _subordinates(instance) if worker.get("worker_name")]


def _download_percent(instance: Instance) -> float | None:
    """Of the worker that is furthest behind."""
    shares = [instance.get("download_progress")]
    shares += [worker.get("download_progress") for worker in _subordinates(instance)]
    known = [float(share) for share in shares if share is not None]
    return min(known) if known else None
