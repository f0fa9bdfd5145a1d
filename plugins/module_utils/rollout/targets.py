# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What serves which route at one moment; taking targets out of routes and putting them back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..client import Client
from ..engine_configuration import declared_name
from ..ensure import Writer
from ..errors import Conflict
from ..route_targets import NEW_WEIGHT
from ..routes import TARGET, Route
from .leaving import Leave, leave
from .policy import is_surge

Row = Mapping[str, Any]


class Serving:
    """The server's routes, targets, instances and models, read once."""

    def __init__(self, client: Client, writer: Writer) -> None:
        self._client = client
        self._writer = writer
        self.routes = sorted(client.listing("/v2/model-routes"), key=lambda route: str(route["name"]))
        self.targets = list(client.listing(TARGET.path))
        self.instances = sorted(client.listing("/v2/model-instances"), key=lambda row: str(row["name"]))
        self.models = {model["name"]: model for model in client.listing("/v2/models")}

    def leaving(self, name: str, goes: Callable[[Row], bool], min_available: int | None) -> Leave:
        """What happens to the routes when the instances that `goes` leave for the turn of `name`.

        Raises Conflict when a route would be left with fewer targets than it must keep.
        """
        leaving = leave(goes, self.routes, self.targets, self.instances, self.models.values(), min_available)
        if leaving.refusals:
            raise Conflict(
                f"{name} cannot be taken out now: {'; '.join(leaving.refusals)}. Wait until the others run again, or "
                "allow it with a smaller min_available."
            )
        return leaving

    def declared(self, but: Callable[[Row], bool] = lambda _row: False) -> list[dict[str, Any]]:
        """What runs of declared models, `but` on certain instances, as targets of the routes that these have.

        An additional replica is none of them: what an interrupted turn has not proven is removed, not used.
        """
        names = {str(route["name"]) for route in self.routes}
        running = {row["model_name"] for row in self.instances if row["state"] == "running" and not but(row)}
        owners = {name: declared_name(model) for name, model in self.models.items() if name in running}
        return [
            {"route": route, "model": name, "weight": NEW_WEIGHT}
            for name, route in sorted(owners.items())
            if route in names and not is_surge(name, route)
        ]

    def outside(self, targets: Iterable[Row]) -> list[Row]:
        """Of the targets, those that are not in their route: a turn that began has not ended."""
        return [target for target in targets if target["route"] not in self.routes_to([target["model"]])]

    def routes_to(self, models: Collection[str]) -> list[str]:
        """The names of the routes that lead to one of the models."""
        ids = {self.models[name]["id"] for name in models if name in self.models}
        leading = {target["route_id"] for target in self.targets if target.get("model_id") in ids}
        return [str(route["name"]) for route in self.routes if route["id"] in leading]

    def take_out(self, targets: Iterable[Row]) -> bool:
        """New requests stop at once, and those that run finish."""
        changed = False
        for route, gone in _by_route(targets).items():
            found = self._route(route)
            for target in gone:
                changed = found.remove_target(target["model"]) or changed
        return changed

    def put_back(self, targets: Iterable[Row]) -> bool:
        """Add the targets that are missing, where route and model still are."""
        changed = False
        for route, back in _by_route(targets).items():
            found = self._route(route)
            present = {target.get("model") for target in found.declared_targets}
            missing = [t for t in back if self._exists(t) and t["model"] not in present]
            if missing:
                added = [{name: value for name, value in target.items() if name != "route"} for target in missing]
                changed = found.set_targets([*found.declared_targets, *added]).changed or changed
        return changed

    def not_serving(self, targets: Iterable[Row]) -> list[str]:
        """Of the targets, those that GPUStack does not send requests to yet."""
        if self._writer.check_mode:
            return []
        routes = {route["id"]: route["name"] for route in self.routes}
        models = {model["id"]: name for name, model in self.models.items()}
        active = {
            (routes.get(row["route_id"]), models.get(row.get("model_id")))
            for row in self._client.listing(TARGET.path)
            if row.get("state") == "active"
        }
        return [
            f"{target['model']} in {target['route']}"
            for target in targets
            if self._exists(target) and (target["route"], target["model"]) not in active
        ]

    def _route(self, name: str) -> Route:
        route = Route(self._client, self._writer, name)
        route.look()
        return route

    def _exists(self, target: Row) -> bool:
        return target["model"] in self.models and any(route["name"] == target["route"] for route in self.routes)


def _by_route(targets: Iterable[Row]) -> dict[str, Sequence[Row]]:
    found: dict[str, list[Row]] = {}
    for target in targets:
        found.setdefault(str(target["route"]), []).append(target)
    return dict(found)
