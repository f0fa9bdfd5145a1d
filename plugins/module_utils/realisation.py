# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A declared model → the models that GPUStack shall have for it, its members. Pure.

GPUStack spreads requests over the instances of a model, and cannot take one of them out: whoever deletes an instance
loses its requests. What it can do without losing any is take a target out of a model route. So a model with several
replicas and `rollout: drain` becomes as many models of one replica behind one route. The first has the declared name,
and so the route that GPUStack makes with a model; the others are `<name>-r2`, `<name>-r3` … without a route of their
own. More or fewer replicas, or the other `rollout`, therefore leave the first where it is, engine and route and all.

With `rollout: recreate`, and with one replica, there is one member that has all replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Invalid
from .model_spec import schedule_rules, wanted_model

DRAIN, RECREATE = "drain", "recreate"
ROLLOUTS = (DRAIN, RECREATE)

# GPUs by the names GPUStack gives them: `gpu-worker-a:cuda:0`.
Cards = frozenset[str]


@dataclass(frozen=True)
class Member:
    """A model of GPUStack. `fields` are those that are declared; `of` is the declared model it is a member of."""

    name: str
    of: str
    fields: dict[str, Any]

    @property
    def is_first(self) -> bool:
        """Whether it has the declared name, and the route comes with it."""
        return self.name == self.of


@dataclass(frozen=True)
class Realisation:
    """What a declared model is on the server. `access_policy` is the route's, `cluster` a name; None: not declared."""

    name: str
    rollout: str
    members: tuple[Member, ...]
    cluster: str | None
    access_policy: str | None


def member_name(name: str, number: int) -> str:
    """The name of the member of that number, counted from 1."""
    return name if number == 1 else f"{name}-r{number}"


def member_names(name: str, replicas: int, rollout: str) -> list[str]:
    """The names of all members of a declared model."""
    count = replicas if rollout == DRAIN and replicas > 1 else 1
    return [member_name(name, number) for number in range(1, count + 1)]


def realise(declaration: Mapping[str, Any], present: Mapping[str, Cards] | None = None) -> Realisation:
    """The members of a declared model.

    `declaration` has the options of the module `model` and beside them `rollout` (`drain` if not set) and
    `gpu_selectors`: one `gpu_selector` for each replica. `present` says which cards a member that already exists is on,
    by its name: it keeps those of the replicas' cards, so that nothing moves that need not.

    Raises Invalid when options do not make sense, alone or together.
    """
    name, rollout = declaration["name"], declaration.get("rollout") or DRAIN
    selectors = [_given(selector) for selector in declaration.get("gpu_selectors") or []]
    fields = wanted_model(declaration)
    access_policy = fields.pop("access_policy", None)
    replicas = fields.get("replicas", 1)
    if selectors and "gpu_selector" in fields:
        raise Invalid(f"Model {name!r} has gpu_selector and gpu_selectors, which say the same. Drop one of them.")
    if not all(selector.get("gpu_ids") for selector in selectors):
        raise Invalid(f"Model {name!r} has gpu_selectors without gpu_ids. Name the cards of each replica.")
    if selectors and len(selectors) != replicas:
        raise Invalid(
            f"Model {name!r} has {replicas} replicas and {len(selectors)} gpu_selectors. Give one for each replica."
        )
    names = member_names(name, replicas, rollout)
    if len(names) > 1:
        if fields.get("gpu_selector"):
            raise Invalid(
                f"Model {name!r} has {replicas} replicas, each a model of its own, and one gpu_selector for all. Give "
                "each replica its cards in gpu_selectors, or declare rollout: recreate."
            )
        if schedule_rules(fields):
            raise Invalid(
                f"Model {name!r} has a scaling_schedule and {replicas} replicas, each a model of its own. Declare "
                "rollout: recreate, so that GPUStack can change their number."
            )
        placed = _assigned(names, selectors, present or {})
        members = [
            Member(each, name, {**fields, "name": each, "replicas": 1, **placed.get(each, {})}) for each in names
        ]
    else:
        together = {"gpu_selector": _together(selectors)} if selectors else {}
        members = [Member(name, name, {**fields, **together})]
    return Realisation(name, rollout, tuple(members), declaration.get("cluster"), access_policy)


def check_names(realisations: Iterable[Realisation]) -> None:
    """Raise Invalid when two declared models would become models of one name."""
    owners: dict[str, Realisation] = {}
    for realisation in realisations:
        for member in realisation.members:
            other = owners.setdefault(member.name, realisation)
            if other is realisation:
                continue
            if other.name == realisation.name:
                raise Invalid(f"Model {realisation.name!r} is declared twice. Rename or drop one.")
            several, plain = sorted((other, realisation), key=lambda one: member.name == one.name)
            raise Invalid(
                f"Model {plain.name!r} is declared, and a replica of {several.name!r} is called so as well, since "
                f"with rollout: drain each replica is a model of its own. Rename one of them, or declare "
                f"rollout: recreate for {several.name!r}."
            )


def cards_of(instance: Mapping[str, Any]) -> Cards:
    """The cards that an instance is on; of a distributed one those of all its workers."""
    servers = instance.get("distributed_servers") or {}
    kind = instance.get("gpu_type") or "cuda"
    return frozenset(
        f"{worker['worker_name']}:{kind}:{index}"
        for worker in (instance, *(servers.get("subordinate_workers") or []))
        for index in worker.get("gpu_indexes") or []
    )


def cards_in(selector: Mapping[str, Any] | None) -> Cards:
    """The cards that a `gpu_selector` names."""
    return frozenset((selector or {}).get("gpu_ids") or [])


def _given(selector: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in selector.items() if value is not None}


def _together(selectors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cards of all replicas, as one model with several replicas has them."""
    together: dict[str, Any] = {"gpu_ids": [card for selector in selectors for card in selector["gpu_ids"]]}
    if "gpus_per_replica" in selectors[0]:
        together["gpus_per_replica"] = selectors[0]["gpus_per_replica"]
    return together


def _assigned(
    names: Sequence[str], selectors: Sequence[dict[str, Any]], present: Mapping[str, Cards]
) -> dict[str, dict[str, Any]]:
    """Each member's `gpu_selector`: the one whose cards it has already, else the first that is left."""
    left = list(selectors)
    chosen: dict[str, dict[str, Any]] = {}
    for name in names:
        kept = next((selector for selector in left if cards_in(selector) == present.get(name)), None)
        if kept is not None:
            chosen[name] = {"gpu_selector": kept}
            left.remove(kept)
    for name in names:
        if name not in chosen and left:
            chosen[name] = {"gpu_selector": left.pop(0)}
    return chosen
