# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""More replicas of a declared model while it is changed: each a model beside its members, `<name>-surge`.

They belong to the declared model by their marker, as its members do. So what a run that was killed has left of them is
taken out of the route and removed by the next run, as any replica that is no longer declared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..client import Client
from ..deployment import server_time
from ..engine_configuration import declared_name, with_marker
from ..ensure import Writer
from ..errors import Conflict, Invalid, NotFound
from ..model_spec import DEFAULT_BACKEND, KIND
from ..realisation import Realisation, cards_of, realise
from ..route_targets import NEW_WEIGHT
from ..routes import Route
from .policy import AUTO, BLUE_GREEN, DRAIN, GAP, SURGE, is_surge, surge_name
from .spare import spare_cards
from .targets import Serving

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Means:
    """How a model is changed: the strategy, why it is that one (empty where it was declared), and the cards for it."""

    strategy: str
    reason: str
    cards: Sequence[Sequence[str]] = ()


class Surge:
    """The additional replicas of one declared model."""

    def __init__(self, client: Client, writer: Writer, name: str) -> None:
        self._client = client
        self._writer = writer
        self.name = name
        self.models = {str(model["name"]): model for model in client.listing(KIND.path)}
        self._instances = list(client.listing("/v2/model-instances"))

    def bring(self, declaration: Row, strategy: str) -> dict[str, Any]:
        """Create what the strategy asks for; their engines start. Raises Conflict where there are no cards for it."""
        realisation = realise(declaration, {row["model_name"]: cards_of(row) for row in self._instances})
        means = self._means(realisation, strategy)
        names = [surge_name(self.name, number) for number, _cards in enumerate(means.cards, start=1)]
        foreign = [each for each in names if each in self.models and declared_name(self.models[each]) != self.name]
        if foreign:
            raise Invalid(
                f"{means.strategy} needs the name {', '.join(foreign)}, which another model has. Rename that one, or "
                "declare another strategy."
            )
        created = [name for name in names if name not in self.models]
        for name, cards in zip(names, means.cards):
            if name in created:
                self._create(name, realisation, cards)
        # In steps, so the first requests are few.
        weight = 1 if means.strategy == BLUE_GREEN else NEW_WEIGHT
        return {
            "changed": bool(created),
            "strategy": means.strategy,
            "reason": means.reason,
            "members": names,
            "targets": [{"route": self.name, "model": name, "weight": weight} for name in names],
        }

    def share(self, percent: int) -> dict[str, Any]:
        """Give the additional replicas that share of the requests; with 100 the members leave the route.

        What somebody else has put into the route stays as it is.
        """
        route = Route(self._client, self._writer, self.name)
        route.look()
        before = route.declared_targets
        new = [target for target in before if target.get("model") in self.present]
        old = [target for target in before if target not in new and self._is_member(target.get("model"))]
        others = [target for target in before if target not in new and target not in old]
        if not new:
            raise NotFound(f"No additional replica is in route {self.name!r}, so there is nothing to give requests to.")
        weighed = [{**target, "weight": max(1, round(percent / len(new)))} for target in new]
        if percent < 100:
            weighed += [{**target, "weight": max(1, round((100 - percent) / len(old)))} for target in old]
        changed = route.set_targets([*weighed, *others]).changed
        return {"changed": changed, "left": [target.get("model") for target in old] if percent == 100 else []}

    def outside(self) -> list[Row]:
        """The declared model's members that run and are not in its route, as targets to let in again."""
        serving = Serving(self._client, self._writer)
        return serving.outside(target for target in serving.declared() if target["route"] == self.name)

    def remove(self) -> dict[str, Any]:
        """Delete them. Whoever calls this has taken them out of the route and let them finish."""
        gone = self.present
        for name in gone:
            with contextlib.suppress(NotFound):
                self._writer.delete(KIND, self.models[name])
        return {"changed": bool(gone), "members": gone}

    @property
    def present(self) -> list[str]:
        """Those that are there."""
        return sorted(
            name
            for name, model in self.models.items()
            if is_surge(name, self.name) and declared_name(model) == self.name
        )

    def _is_member(self, name: str | None) -> bool:
        model = self.models.get(name or "")
        return model is not None and (name == self.name or declared_name(model) == self.name)

    def _means(self, realisation: Realisation, strategy: str) -> Means:
        replicas = sum(int(member.fields.get("replicas", 1)) for member in realisation.members)
        if strategy == AUTO and replicas != 1:
            return Means(DRAIN, "several replicas")
        if strategy not in (AUTO, SURGE, BLUE_GREEN):
            return Means(strategy, "")
        wanted = replicas if strategy == BLUE_GREEN else 1
        names = {member.name for member in realisation.members}
        own = next((cards_of(row) for row in self._instances if row["model_name"] in names), frozenset[str]())
        surging = [row for row in self._instances if row["model_name"] not in self.present]
        cards = spare_cards(list(self._client.listing("/v2/workers")), surging, own, wanted) if own else []
        if len(cards) == wanted:
            return Means(SURGE if strategy == AUTO else strategy, "cards are free" if strategy == AUTO else "", cards)
        if strategy == AUTO:
            return Means(GAP, "one replica, and no free cards for another")
        raise Conflict(
            f"{strategy} of {self.name} needs free cards for {wanted} more replicas, {len(own)} of one kind each, and "
            f"there are enough for {len(cards)}. Nothing of it was changed. Free some, or declare another strategy; "
            "drain needs none."
        )

    def _create(self, name: str, realisation: Realisation, cards: Sequence[str]) -> None:
        first = realisation.members[0]
        beside = self.models.get(first.name, {})
        fields = {
            **{field: beside[field] for field in ("cluster_id", "categories") if beside.get(field)},
            "backend": DEFAULT_BACKEND,
            **first.fields,
            "name": name,
            "replicas": 1,
            "gpu_selector": {"gpu_ids": list(cards), "gpus_per_replica": len(cards)},
        }
        payload = {**fields, "env": with_marker(fields, server_time(self._client), self.name)}
        self.models[name] = self._writer.save(KIND, None, payload, on_create={"enable_model_route": False})
