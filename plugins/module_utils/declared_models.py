# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All declared models on one server: one listing of each kind, one write for each change, read back in one listing.

What is to be done is decided in `reconciliation`; this asks the server and does it. An error of one model is kept and
stops no other.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .client import Client
from .deployment import INSTANCE, server_time
from .engine_configuration import declared_name
from .ensure import Writer, check_kept
from .errors import GPUStackError, Invalid, NotFound, Unreachable
from .evaluation import Disagreement, Question, evaluate, refusal
from .logs import read_log
from .lookup import cluster_named, default_cluster, find_route
from .masking import mask_change, secrets_of
from .model_spec import KIND, check_release
from .patience import with_patience
from .presentation import declared_part, show_instance
from .realisation import Realisation, check_names, realise
from .reconciliation import (
    Motion,
    Present,
    Rollout,
    Write,
    Writes,
    check_ownership,
    instances_of,
    motion_of,
    replicas_of,
    stale_instances,
    unfinished,
    writes_of,
)
from .releases import access_policy, made_with_model
from .route_targets import Names
from .routes import KIND as ROUTE
from .routes import TARGET, Route
from .waiting import Instance, Progress, Result, Snapshot, follow_all, judge


@dataclass(frozen=True)
class Policy:
    """How the declared models are applied; see the options of the module `models`."""

    prune: bool = False
    prune_foreign: bool = False
    recreate: bool = True
    defer_running: bool = False
    drain_seconds: float = 0.0
    evaluation: str = "ignore"


@dataclass
class Outcome:
    """What has happened to one declared model."""

    changed: bool = False
    recreated: list[str] = field(default_factory=list)
    rollouts: tuple[Rollout, ...] = ()
    error: GPUStackError | None = None
    held_back: bool = False


class DeclaredModels:
    """The declared models of one server. `step()` does what can be done now, `wait()` until nothing is left."""

    def __init__(
        self,
        client: Client,
        writer: Writer,
        declarations: Sequence[Mapping[str, Any]],
        policy: Policy,
        sleep: Callable[[float], None],
    ) -> None:
        self._client = client
        self._writer = writer
        self._policy = policy
        self._sleep = sleep
        self._declarations = {str(declaration["name"]): declaration for declaration in declarations}
        self._declared = list(declarations)
        self._models: dict[str, dict[str, Any]] = {}
        self._made_for: dict[str | None, list[str]] = {}  # names of models by what they were declared as
        self._instances: dict[int, list[dict[str, Any]]] = {}
        self._targets: dict[str, list[dict[str, Any]]] = {}
        self._clusters: dict[str | None, int | None] = {}
        self._differences: list[tuple[str, Any, Any]] = []  # title, before and after, in the order they came about
        self._first = True
        self._outdated = False
        self.realisations: dict[str, Realisation] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.pruned: list[str] = []
        self.disagreements: list[Disagreement] = []
        self.unanswered = ""  # why the dry run told nothing
        self.secrets: set[str] = set().union(*(secrets_of(declaration) for declaration in declarations))

    @property
    def changed(self) -> bool:
        return bool(self.pruned) or any(outcome.changed for outcome in self.outcomes.values())

    @property
    def failed(self) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if outcome.error is not None]

    def step(self) -> list[Snapshot]:
        """Look at everything, write what differs, and move what can be moved now.

        Raises Invalid before the first write when a declaration can't be applied, or GPUStack's dry run disagrees.
        """
        self._read()
        planned = self._plan()
        if self._first:
            self._evaluate(planned)
        sent = self._write(planned)
        if self._first and self._policy.prune:
            self._prune()
        self._first = False
        self._read_again()
        self._check_kept(sent)
        self._move()
        self._read_again()
        return [self._snapshot(name) for name in self.realisations if self.outcomes[name].error is None]

    def wait(
        self,
        *,
        timeout_seconds: float,
        log_lines: int,
        clock: Callable[[], float],
    ) -> dict[str, Result]:
        """Step after step until all models run as declared or have failed. Results by declared name."""
        # The first step also tells a wrong address, which no patience cures.
        first = [self.step()]
        return with_patience(
            lambda look: follow_all(
                look,
                lambda instance: self.read_log(instance, log_lines),
                timeout_seconds=timeout_seconds,
                clock=clock,
                sleep=self._sleep,
            ),
            lambda: first.pop() if first else self.step(),
        )

    def answer(self) -> dict[str, Any]:
        """What the module returns of it; `models_answer` puts several together."""
        shown = [self._show(name) for name in self.realisations]
        shown += [
            _show_failure(name, self.outcomes[name].error) for name in self.failed if name not in self.realisations
        ]
        return {
            "changed": self.changed,
            "models": shown,
            "pruned": self.pruned,
            "rollouts": [
                {
                    "model": name,
                    "member": rollout.write.member.name,
                    "instances": list(rollout.instances),
                    "differs": sorted(rollout.write.change.payload),
                }
                for name in self.realisations
                for rollout in self.outcomes[name].rollouts
            ],
            "disagreements": [
                {"member": each.name, "planned": each.planned, "gpustack": each.gpustack} for each in self.disagreements
            ],
            "diff": [
                {"before_header": title, "after_header": title, "before": before or "", "after": after or ""}
                for title, before, after in self._differences
            ],
        }

    def _show(self, name: str) -> dict[str, Any]:
        outcome, realisation, present = self.outcomes[name], self.realisations[name], self.present(name)
        older = stale_instances(realisation, present)
        snapshot = self._snapshot(name)
        entry = {
            "name": name,
            "changed": outcome.changed,
            "members": [member.name for member in realisation.members],
            "replicas": snapshot.replicas,
            "instances": [
                {**show_instance(instance, older), "model": instance["model_name"]} for instance in snapshot.instances
            ],
            "stale_instances": older,
            "recreated_instances": outcome.recreated,
            "unfinished": snapshot.busy,
            "progress": judge(snapshot, Progress(), 0)[1].text,
            "failed": False,
        }
        return entry if outcome.error is None else {**entry, **_show_failure(name, outcome.error)}

    def present(self, name: str) -> Present:
        """What the server has of a declared model."""
        called = [member.name for member in self.realisations[name].members if member.name in self._models]
        names = dict.fromkeys([*called, *self._made_for.get(name, ())])
        return Present({key: self._models[key] for key in names}, self._instances, self._targets.get(name, ()))

    def read_log(self, instance: Instance, lines: int) -> Sequence[str]:
        return read_log(self._client, instance, lines, self.secrets)

    # Looking

    def _read(self) -> None:
        self._models = {str(model["name"]): model for model in self._client.listing(KIND.path)}
        self._made_for = defaultdict(list)
        for name, model in self._models.items():
            self._made_for[declared_name(model)].append(name)
        self._instances = defaultdict(list)
        for instance in sorted(self._client.listing(INSTANCE.path), key=lambda instance: str(instance["name"])):
            self._instances[instance["model_id"]].append(instance)
        self._targets = defaultdict(list)
        for target in self._client.listing(TARGET.path):
            self._targets[str(target["route_name"])].append(target)
        self.secrets = self.secrets.union(*map(secrets_of, self._models.values()))
        self._outdated = False

    def _read_again(self) -> None:
        """After writes; in check mode what they would have led to is noted instead."""
        if self._outdated and not self._writer.check_mode:
            self._read()

    def _plan(self) -> dict[str, Writes]:
        """What is to be written; everything that is wrong with the declarations is told at once."""
        problems: list[str] = []
        realised: list[Realisation] = []
        planned: dict[str, Writes] = {}
        for declaration in self._declared:
            try:
                realisation = realise(declaration)
                check_release(realisation.members[0].fields, self._client.server_version)
                self.realisations[realisation.name] = realisation
                realised.append(realisation)
            except Invalid as error:
                problems.append(str(error))
        try:
            check_names(realised if not problems else [])
        except Invalid as error:
            problems.append(str(error))
        now = server_time(self._client)
        for name in [] if problems else self.realisations:
            self.outcomes.setdefault(name, Outcome())
            if self.outcomes[name].error is not None:
                continue
            try:
                present = self.present(name)
                self.realisations[name] = realise(self._declarations[name], present.cards())
                check_ownership(self.realisations[name], present)
                self._check_place(self.realisations[name], present)
                planned[name] = writes_of(
                    self.realisations[name], present, now, defer_running=self._policy.defer_running
                )
            except Invalid as error:
                problems.append(str(error))
                self.outcomes[name].error = error
        if problems and self._first:
            raise Invalid(" ".join(dict.fromkeys(problems)) + " Nothing was changed.")
        return planned

    def _check_place(self, realisation: Realisation, present: Present) -> None:
        """The cluster of what is new must be known, and what is there must be in the declared one."""
        new = any(member.name not in present.models for member in realisation.members)
        if not new and realisation.cluster is None:
            return
        try:
            wanted = self._cluster(realisation.cluster)
        except NotFound:
            if self._writer.check_mode:
                self._clusters[realisation.cluster] = None  # an earlier task would have made it
                return
            raise
        elsewhere = [name for name, model in present.models.items() if model.get("cluster_id") != wanted]
        if realisation.cluster is not None and elsewhere:
            raise Invalid(
                f"Model {', '.join(elsewhere)} is in another cluster than {realisation.cluster!r}, and GPUStack can't "
                "move a model. Remove it there first (state: absent), or declare the cluster it is in."
            )

    def _cluster(self, name: str | None) -> int | None:
        if name not in self._clusters:
            found = default_cluster(self._client) if name is None else cluster_named(self._client, name)
            self._clusters[name] = int(found["id"])
        return self._clusters[name]

    def _evaluate(self, planned: Mapping[str, Writes]) -> None:
        if self._policy.evaluation == "ignore":
            return
        leaving = self._policy.prune and bool(self._to_prune())
        questions = [
            self._question(name, write, leaving)
            for name, writes in planned.items()
            for write in (*writes.writes, *(rollout.write for rollout in writes.rollouts))
            if write.renews_engine
        ]
        questions = [question for question in questions if question.cluster_id is not None]
        if not questions:
            return
        nonce = f"dry run of {server_time(self._client).isoformat()}"
        try:
            self.disagreements = evaluate(self._client, questions, nonce, self._sleep)
        except GPUStackError as error:
            if self._policy.evaluation == "fail":
                raise
            self.unanswered = str(error)
        if self.disagreements and self._policy.evaluation == "fail":
            raise Invalid(refusal(self.disagreements))

    def _question(self, name: str, write: Write, leaving: bool) -> Question:
        cluster_id = (write.current or {}).get("cluster_id") or self._clusters.get(self.realisations[name].cluster)
        planned = self._declarations[name].get("planned") or "to run with what is declared"
        own = bool(instances_of(self.realisations[name], self.present(name)))
        fields = {**(KIND.sendable(write.current) if write.current else {}), **write.fields}
        return Question(write.member.name, fields, cluster_id, planned, occupied=own or leaving)

    # Writing

    def _write(self, planned: Mapping[str, Writes]) -> list[tuple[str, Write]]:
        """Send every write; those that arrived are returned with their declared model."""
        sent: list[tuple[str, Write]] = []
        routes = self._routes() if self._needs_routes(planned) else {}
        for name, writes in planned.items():
            outcome = self.outcomes[name]
            outcome.rollouts = writes.rollouts
            outcome.held_back = writes.held_back
            with self._keeping_error(outcome):
                for write in writes.writes:
                    self._save(name, write, routes)
                    sent.append((name, write))
                self._set_access(self.realisations[name], routes, outcome)
        return sent

    def _save(self, name: str, write: Write, routes: Mapping[str, Any]) -> None:
        realisation, outcome = self.realisations[name], self.outcomes[name]
        fields, on_create = dict(write.fields), dict[str, Any]()
        if write.current is None:
            cluster_id = self._clusters.get(realisation.cluster)
            fields.update({} if cluster_id is None else {"cluster_id": cluster_id})
            on_create["enable_model_route"] = write.member.is_first and name not in routes
            if realisation.access_policy is not None:
                on_create["access_policy"] = realisation.access_policy
        self._outdated = True  # even when it fails: the server may have taken it
        number = self._writer.send(KIND, write.current, fields, on_create)
        outcome.changed = True
        before, after = mask_change(write.change.before, write.change.after)
        self._differences.append((f"model {write.member.name}", before, after))
        if self._writer.check_mode:
            self._models[write.member.name] = {"id": number, **(write.current or {}), **fields}

    def _check_kept(self, sent: Iterable[tuple[str, Write]]) -> None:
        for name, write in [] if self._writer.check_mode else sent:
            with self._keeping_error(self.outcomes[name]):
                stored = self._models.get(write.member.name)
                if stored is None:
                    raise NotFound(f"GPUStack took model {write.member.name!r} and does not have it. Run again.")
                check_kept(KIND, write.fields, stored)

    def _needs_routes(self, planned: Mapping[str, Writes]) -> bool:
        """Routes are only looked at where one may be in the way of a new model, or access to one is declared."""
        new = any(w.current is None and w.member.is_first for writes in planned.values() for w in writes.writes)
        return new or any(self.realisations[name].access_policy is not None for name in planned)

    def _routes(self) -> dict[str, dict[str, Any]]:
        return {str(route["name"]): route for route in self._client.listing(ROUTE.path)}

    def _set_access(self, realisation: Realisation, routes: Mapping[str, Any], outcome: Outcome) -> None:
        """Who may call a model is decided by its route; a new model has told it when it was created."""
        row, wanted = routes.get(realisation.name), realisation.access_policy
        if row is None or wanted is None or access_policy(row["access_policy"]) == wanted:
            return
        route = Route(self._client, self._writer, realisation.name)
        route.see(row, (), Names())
        self._outdated = True
        change = route.set_access(wanted, None)
        outcome.changed = True
        self._differences.append((f"route {realisation.name}", change.before, change.after))

    # Models that are no longer declared

    def _to_prune(self) -> list[str]:
        members = {member.name for realisation in self.realisations.values() for member in realisation.members}
        found = []
        for name, model in self._models.items():
            owner = declared_name(model)
            foreign = owner is None and self._policy.prune_foreign and name not in members
            if foreign or (owner is not None and owner not in self.realisations):
                found.append(name)
        return sorted(found)

    def _prune(self) -> None:
        gone = self._to_prune()
        for name in gone:
            model = self._models[name]
            outcome = self.outcomes.setdefault(name, Outcome())
            with self._keeping_error(outcome), contextlib.suppress(NotFound):
                self._writer.delete(KIND, model)
            if outcome.error is None:
                self.pruned.append(name)
                self._outdated = True
                self._differences.append((f"model {name}", declared_part(model), {}))
        if self.pruned and not self._writer.check_mode:
            self._delete_routes({declared_name(self._models[name]) or name for name in self.pruned})

    def _delete_routes(self, names: Iterable[str]) -> None:
        """GPUStack deletes a route that was made with a model, unless a target was ever taken out of it."""
        self._read()
        routes = self._routes()
        for name in sorted(names):
            route = routes.get(name)
            if route is not None and not made_with_model(route) and not self._targets.get(name):
                with contextlib.suppress(NotFound):
                    self._writer.delete(ROUTE, route)

    # Moving

    def _move(self) -> None:
        """Drain all that is to be drained at once, then do the rest."""
        motions = {
            name: motion_of(
                realisation,
                self.present(name),
                recreate=self._policy.recreate,
                defer_running=self._policy.defer_running,
            )
            for name, realisation in self.realisations.items()
            if self.outcomes[name].error is None
        }
        if self._writer.check_mode:
            for name, motion in motions.items():
                self._foresee(name, motion.admit)
            return
        motions = {name: motion for name, motion in motions.items() if motion.anything}
        self._outdated = bool(motions)
        leaving = [(name, target) for name, motion in motions.items() for target in motion.out]
        for name, target in leaving:
            with self._keeping_error(self.outcomes[name]), contextlib.suppress(NotFound):
                self._writer.delete(TARGET, target)
        if leaving:
            self._sleep(self._policy.drain_seconds)
        for name, motion in motions.items():
            outcome = self.outcomes[name]
            if outcome.error is None:
                with self._keeping_error(outcome):
                    self._carry_out(name, motion, outcome)

    def _carry_out(self, name: str, motion: Motion, outcome: Outcome) -> None:
        outcome.changed = True
        if motion.admit:
            self._admit(name, motion.admit)
            self._note_admitted(name, motion.admit)
        if motion.delete_model is not None:
            with contextlib.suppress(NotFound):
                self._writer.delete(KIND, motion.delete_model)
            title = f"model {motion.delete_model['name']}"
            self._differences.append((title, declared_part(motion.delete_model), {}))
        if motion.delete_instance is not None:
            with contextlib.suppress(NotFound):
                self._writer.delete(INSTANCE, motion.delete_instance)
            outcome.recreated.append(str(motion.delete_instance["name"]))

    def _note_admitted(self, name: str, members: Sequence[str]) -> None:
        self._differences.append((f"route {name}", {}, {"added": list(members)}))

    def _foresee(self, name: str, admit: Sequence[str]) -> None:
        """In check mode, all that a run would let in, replace or remove in the end."""
        if admit:
            self.outcomes[name].changed = True
            self._note_admitted(name, admit)
        present, outcome, realisation = self.present(name), self.outcomes[name], self.realisations[name]
        members = {member.name for member in realisation.members}
        for model in present.models.values():
            if model["name"] not in members:
                outcome.changed = True
                self._differences.append((f"model {model['name']}", declared_part(model), {}))
        if self._policy.recreate and not self._policy.defer_running:
            outcome.recreated = stale_instances(realisation, present)
            outcome.changed = outcome.changed or bool(outcome.recreated)

    def _admit(self, name: str, members: Iterable[str]) -> None:
        """Let members into the route, beside whatever is in it already; a route that is missing is made."""
        route = Route(self._client, self._writer, name, self._sleep)
        targets = self._targets.get(name) or []
        row = {"id": targets[0]["route_id"], "name": name} if targets else find_route(self._client, name)
        route.see(row, targets, self._names())
        wanted = [*route.declared_targets, *({"model": member} for member in members)]
        if row is None:
            route.set_fields({}, wanted)
        else:
            route.set_targets(wanted)

    def _names(self) -> Names:
        return Names(
            models={model["id"]: name for name, model in self._models.items()},
            ready=frozenset(model["id"] for model in self._models.values() if model.get("ready_replicas")),
        )

    def _snapshot(self, name: str) -> Snapshot:
        realisation, present, outcome = self.realisations[name], self.present(name), self.outcomes[name]
        older = stale_instances(realisation, present)
        if self._policy.defer_running or not self._policy.recreate:
            older = []
        busy = unfinished(realisation, present) or ("more is to be written" if outcome.held_back else "")
        replicas, instances = replicas_of(realisation, present), instances_of(realisation, present)
        return Snapshot(name, replicas, instances, older, moved=outcome.changed, busy=busy)

    @contextlib.contextmanager
    def _keeping_error(self, outcome: Outcome) -> Iterator[None]:
        """An error is kept with the model it is of; a server that is away concerns all of them."""
        try:
            yield
        except Unreachable:
            raise
        except GPUStackError as error:
            outcome.error = error


def _show_failure(name: str, error: GPUStackError | None) -> dict[str, Any]:
    status = None if error is None else error.status
    return {
        "name": name,
        "changed": False,
        "recreated_instances": [],
        "failed": True,
        "msg": str(error),
        "error": type(error).__name__,
        "status": status,
    }
