# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A declared model and what the server has of it → what is to be done next. Pure.

Nothing is remembered between two steps: each looks at what there is and goes on from there, so a run that was
interrupted anywhere is completed by the next. First what differs is written (`writes_of`), then instances and route
follow (`motion_of`), at most one instance of a declared model at a time:

* a member that runs, and is not in the route, gets in;
* a member that is no longer wanted goes, once another one serves;
* an instance of an older configuration is replaced, once all newer ones serve.

Where other members serve, a member is taken out of the route before its instance goes, and so loses no request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .engine_configuration import (
    ENGINE_FIELDS,
    declared_name,
    marker_of,
    stale,
    with_marker,
    without_marker,
)
from .ensure import Change, compare
from .errors import Invalid
from .model_spec import DEFAULT_BACKEND, KIND, SOURCES, instances_wanted, without_scheduled_replicas
from .realisation import Cards, Member, Realisation, cards_in, cards_of

Object = Mapping[str, Any]

ACTIVE = "active"  # the state of a route's target that gets requests


@dataclass(frozen=True)
class Present:
    """What the server has of one declared model.

    `models` by name: those that are called as its members are, and those that were made for it. `instances` by the
    model's number; `targets` of the route that is called like the declared model.
    """

    models: Mapping[str, Object] = field(default_factory=dict)
    instances: Mapping[int, Sequence[Object]] = field(default_factory=dict)
    targets: Sequence[Object] = ()

    def instances_of(self, name: str) -> Sequence[Object]:
        model = self.models.get(name)
        return () if model is None else self.instances.get(model["id"], ())

    def runs(self, name: str) -> bool:
        return any(instance["state"] == "running" for instance in self.instances_of(name))

    def target_of(self, name: str) -> Object | None:
        if name not in self.models:
            return None
        number = self.models[name]["id"]
        return next((target for target in self.targets if target.get("model_id") == number), None)

    def serves(self, name: str) -> bool:
        """Whether requests reach a running engine of this model: a new target takes a moment to become active."""
        target = self.target_of(name)
        return self.runs(name) and target is not None and target.get("state", ACTIVE) == ACTIVE

    def stale(self, name: str) -> list[str]:
        """The instances of an older configuration than the model has, oldest first."""
        return stale(self.instances_of(name), marker_of(self.models.get(name, {})))

    def cards(self) -> dict[str, Cards]:
        """The cards each model is on, or is to be on where it does not run yet."""
        return {
            name: frozenset().union(*map(cards_of, self.instances_of(name))) or cards_in(model.get("gpu_selector"))
            for name, model in self.models.items()
        }


@dataclass(frozen=True)
class Write:
    """A model to create (`current` is None) or to update with `fields`; `change` is what a person is shown of it.

    `renews_engine`: what engines are started with changes, so that running ones become old.
    """

    member: Member
    current: Object | None
    change: Change
    fields: dict[str, Any]
    renews_engine: bool


@dataclass(frozen=True)
class Rollout:
    """A running member that is left as it is, for somebody who takes it out of the route first.

    `write` is what it lacks; its change is empty where only the instances are of an older configuration.
    """

    write: Write
    instances: tuple[str, ...]


@dataclass(frozen=True)
class Writes:
    """What is to be written now. `held_back`: something else has to be gone before the rest can be written."""

    writes: tuple[Write, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    held_back: bool = False


@dataclass(frozen=True)
class Motion:
    """What is to be moved now. `out` leave the route first, and have time to finish what they have."""

    admit: tuple[str, ...] = ()
    out: tuple[Object, ...] = ()
    delete_instance: Object | None = None
    delete_model: Object | None = None

    @property
    def anything(self) -> bool:
        return bool(self.admit or self.delete_instance or self.delete_model)


def check_ownership(realisation: Realisation, present: Present) -> None:
    """Raise Invalid when a model of a member's name, or the route of the declared one, was made for something else."""
    numbers = {model.get("id") for model in present.models.values()}
    foreign = present.targets and not any(target.get("model_id") in numbers for target in present.targets)
    if foreign and realisation.name not in present.models:
        raise Invalid(
            f"There is no model {realisation.name!r}, but a model route of that name that leads to something else. "
            "Delete or rename the route, or rename the declared model."
        )
    for member in realisation.members:
        current = present.models.get(member.name)
        owner = None if current is None else declared_name(current)
        if current is None or owner == member.of or (owner is None and member.is_first):
            continue
        made_for = f"was made for the declared model {owner!r}" if owner else "was not made by this collection"
        raise Invalid(
            f"Model {member.of!r} needs the name {member.name!r}, and GPUStack has a model of that name that "
            f"{made_for}. Delete that one (prune deletes what is no longer declared), or rename one of them."
        )


def writes_of(realisation: Realisation, present: Present, now: datetime, *, defer_running: bool) -> Writes:
    """What differs between the members and the server.

    With `defer_running` a running member whose engine would change is not written, but returned as a rollout.
    Raises Invalid for a new model that does not say where its weights are.
    """
    first = realisation.members[0]
    if len(realisation.members) > 1 and _plain_replicas(first.name, present) > 1:
        # Only when the first has but one instance it is known which cards the others can have.
        change = compare({"replicas": 1}, present.models[first.name], KIND.rules)
        writes = (Write(first, present.models[first.name], change, change.payload, False),) if change.changed else ()
        return Writes(writes, held_back=True)
    # A model that is to have all replicas gets them when the members that were replicas have left their cards.
    held_back = first.fields.get("replicas", 1) > 1 and bool(_surplus(realisation, present))
    skipped = ("replicas", "gpu_selector") if held_back else ()
    found: list[Write] = []
    rollouts: list[Rollout] = []
    for member in realisation.members:
        current = present.models.get(member.name)
        if current is None:
            found.append(_creation(member, now))
            continue
        wanted = {name: value for name, value in member.fields.items() if name not in skipped}
        write = _update(member, wanted, current, present.instances_of(member.name), now)
        older = present.stale(member.name)
        if defer_running and present.runs(member.name) and (older or write.renews_engine):
            names = tuple(str(instance["name"]) for instance in present.instances_of(member.name))
            rollouts.append(Rollout(write, names))
        elif write.change.changed:
            found.append(write)
    return Writes(tuple(found), tuple(rollouts), held_back)


def motion_of(realisation: Realisation, present: Present, *, recreate: bool, defer_running: bool) -> Motion:
    """What is to be moved; with `recreate` an instance of an older configuration is replaced.

    With `defer_running` only one that does not run: a running one is somebody else's to replace.
    """
    names = [member.name for member in realisation.members if member.name in present.models]
    older = {name: present.stale(name) for name in names}
    # What somebody else is to replace serves until then.
    admit = tuple(_outside(names, present, older if recreate and not defer_running else {}))
    if admit:
        return Motion(admit=admit)
    surplus = _surplus(realisation, present)
    for name in surplus:
        if (
            not replicas_of(realisation, present)
            or not present.serves(name)
            or any(present.serves(other) for other in names)
        ):
            target = present.target_of(name)
            return Motion(out=() if target is None else (target,), delete_model=present.models[name])
    if recreate and not surplus:
        return _replacement(realisation, present, names, older, defer_running)
    return Motion()


def replicas_of(realisation: Realisation, present: Present) -> int:
    """How many instances the members together are to have at present."""
    return sum(instances_wanted(present.models.get(member.name, {})) for member in realisation.members)


def stale_instances(realisation: Realisation, present: Present) -> list[str]:
    """The instances of all members that run an older configuration."""
    return [name for member in realisation.members for name in present.stale(member.name)]


def instances_of(realisation: Realisation, present: Present) -> list[Object]:
    """The instances of all members."""
    return [instance for member in realisation.members for instance in present.instances_of(member.name)]


def unfinished(realisation: Realisation, present: Present) -> str:
    """What is left to do that no instance shows, in words; empty when there is nothing."""
    names = [member.name for member in realisation.members]
    outside = [name for name in names if present.runs(name) and not present.serves(name)]
    surplus = _surplus(realisation, present)
    return "; ".join(
        [f"{name} gets no requests yet" for name in outside] + [f"{name} is to be removed" for name in surplus]
    )


def _outside(names: Sequence[str], present: Present, older: Mapping[str, Sequence[str]]) -> list[str]:
    """The members that run and are not in the route, without those that are about to be replaced."""
    return [name for name in names if present.runs(name) and present.target_of(name) is None and not older.get(name)]


def _creation(member: Member, now: datetime) -> Write:
    if "source" not in member.fields:
        raise Invalid(
            f"There is no model {member.of!r} yet, and nothing says where its weights are. "
            f"Set one of {', '.join(SOURCES)}."
        )
    wanted = {"backend": DEFAULT_BACKEND, **member.fields}
    change = compare(wanted, None, KIND.rules)
    env = with_marker(wanted, now, "" if member.is_first else member.of)
    return Write(member, None, change, {**change.payload, "env": env}, renews_engine=True)


def _update(
    member: Member, wanted: Mapping[str, Any], current: Object, instances: Sequence[Object], now: datetime
) -> Write:
    visible = {**current, "env": without_marker(current.get("env"))}
    change = compare(without_scheduled_replicas(wanted, current), visible, KIND.rules)
    renews_engine = _renews_engine(change, instances)
    fields = dict(change.payload)
    marker = marker_of(current)
    if renews_engine:
        fields["env"] = with_marker({**visible, **fields}, now, "" if member.is_first else member.of)
    elif marker is not None and not fields.keys().isdisjoint(ENGINE_FIELDS):
        # The engines are none the older for it, but the fingerprint is another.
        fields["env"] = with_marker({**visible, **fields}, marker.written_at, marker.member_of)
    return Write(member, current, change, fields, renews_engine)


def _renews_engine(change: Change, instances: Sequence[Object]) -> bool:
    """Whether running engines have to be replaced for this; not for being told to stay on the cards they are on."""
    differing = change.payload.keys() & set(ENGINE_FIELDS)
    if differing == {"gpu_selector"}:
        allowed = cards_in(change.payload["gpu_selector"])
        return bool(allowed) and not all(cards_of(instance) <= allowed for instance in instances)
    return bool(differing)


def _replacement(
    realisation: Realisation,
    present: Present,
    names: Sequence[str],
    older: Mapping[str, Sequence[str]],
    defer_running: bool,
) -> Motion:
    """One after the other, those that do not run first; the next goes only when every newer one serves.

    So a configuration that does not come up stops at the first replica.
    """
    instances = {str(i["name"]): (name, i) for name in names for i in present.instances_of(name)}
    candidates = [instance for name in names for instance in older[name]]
    if defer_running:
        candidates = [name for name in candidates if instances[name][1]["state"] != "running"]
    newer = instances.keys() - {instance for name in names for instance in older[name]}
    refreshed = {instances[name][0] for name in newer}
    if not candidates or len(instances) < replicas_of(realisation, present):
        return Motion()
    if not all(instances[name][1]["state"] == "running" for name in newer) or not all(map(present.serves, refreshed)):
        return Motion()
    model, instance = instances[min(candidates, key=lambda name: instances[name][1]["state"] == "running")]
    target = present.target_of(model)
    others = any(present.serves(name) for name in names if name != model)
    out = (target,) if target is not None and others and instance["state"] == "running" else ()
    return Motion(out=out, delete_instance=instance)


def _surplus(realisation: Realisation, present: Present) -> list[str]:
    """The models that were made for the declared model and are none of its members, the last first."""
    members = {member.name for member in realisation.members}
    made = [name for name, model in present.models.items() if declared_name(model) == realisation.name]
    return sorted((name for name in made if name not in members), key=lambda name: (len(name), name), reverse=True)


def _plain_replicas(name: str, present: Present) -> int:
    """How many replicas one model has, or still has. With roles it has several instances and is one replica."""
    model = present.models.get(name, {})
    declared = int(model.get("replicas") or 0)
    return declared if model.get("roles") else max(declared, len(present.instances_of(name)))
