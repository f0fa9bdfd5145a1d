# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One model route on one server: see it, make it as declared, take a target out of it, remove it.

Requests go through a route to the models behind it. Taking a target out stops new requests to it at once, and those it
has are finished: this, and not the deletion of an instance, is what drains a model.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .client import Client
from .ensure import Change, Equality, Kind, Writer, compare
from .errors import NotApplied, NotFound
from .lookup import find_route, find_user
from .releases import access_policy
from .route_targets import Declared, Names, TargetPlan, declared, key_of, plan

KIND = Kind(
    label="model route",
    path="/v2/model-routes",
    rules={"categories": Equality.UNORDERED},
    sent=("name", "description", "categories", "generic_proxy"),
)
TARGET = Kind(label="model route target", path="/v2/model-route-targets")

# A new target whose model runs is active after a moment; what it replaces stays until then.
ACTIVATION_SECONDS = 30


class Route:
    """A route of a name. `route` and `targets` are the server's, or in check mode what it would have.

    `look()` first, or `see()` with what a listing of everything has told.
    """

    def __init__(self, client: Client, writer: Writer, name: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._writer = writer
        self._sleep = sleep
        self.name = name
        self.route: dict[str, Any] | None = None
        self.targets: list[dict[str, Any]] = []
        self.names = Names()
        self._created = False
        self._would_be: list[dict[str, Any]] | None = None

    def look(self, wanted: Iterable[Declared] = ()) -> None:
        """Ask the server for the route, its targets, and the names of all models; of providers where one is in play."""
        route = find_route(self._client, self.name)
        targets = [] if route is None else self._list_targets(route["id"])
        self.see(route, targets, names_of(self._client, [*targets, *wanted]))

    def see(self, route: Mapping[str, Any] | None, targets: Iterable[Mapping[str, Any]], names: Names) -> None:
        """Take over what is known already; `targets` are those of this route."""
        self.route = None if route is None else dict(route)
        self.targets = [dict(target) for target in targets]
        self.names = names

    @property
    def declared_targets(self) -> list[dict[str, Any]]:
        """The targets as `set_targets` takes them, for instance to put them back later."""
        if self._would_be is not None:
            return self._would_be
        return sorted((declared(target, self.names) for target in self.targets), key=key_of)

    def set_fields(self, wanted: Mapping[str, Any], targets: Sequence[Declared] | None = None) -> Change:
        """Make description, categories and the like as wanted; a new route gets its targets at once."""
        change = compare({"name": self.name, **wanted}, self.route, KIND.rules)
        if not change.changed:
            return change
        self._created = self.route is None
        planned = self._plan(targets or []) if self._created else None
        on_create = None if planned is None else {"targets": planned.items}
        self.route = self._writer.save(KIND, self.route, change.payload, on_create=on_create)
        if planned is None or not planned.after:
            return change
        self._settle(planned)
        return Change(change.before, {**change.after, "targets": planned.after}, change.payload)

    def set_targets(self, wanted: Sequence[Declared]) -> Change:
        """Make the targets as wanted, which is the whole list; the route must exist.

        New targets are added first, and those that go are taken out when the new ones are active.
        Raises NotFound when there is no route, or no such model or provider.
        """
        if self.route is None:
            raise NotFound(f"There is no model route {self.name!r}. Create it with gpuops.gpustack.model_route.")
        planned = self._plan(wanted)
        if not planned.changed:
            return Change({}, {}, {})
        if planned.items:
            # add-targets of GPUStack 2.1.1 answers 500 whenever one that is there changes, though it does it.
            self._writer.put(f"{KIND.path}/{self.route.get('id')}", {"name": self.name, "targets": planned.items})
            if planned.removed:
                self._await_new()
        for target in planned.removed:
            self._delete_target(target)
        self._settle(planned)
        return Change({"targets": planned.before}, {"targets": planned.after}, {"targets": planned.items})

    def remove_target(self, model: str) -> bool:
        """Take a model out of the route; False when it was not in it."""
        gone = [target for target in self.targets if declared(target, self.names).get("model") == model]
        for target in gone:
            self._delete_target(target)
        self.targets = [target for target in self.targets if target not in gone]
        return bool(gone)

    def _delete_target(self, target: Mapping[str, Any]) -> None:
        with contextlib.suppress(NotFound):  # gone meanwhile is as good
            self._writer.delete(TARGET, target)

    def users(self) -> list[str]:
        """The names of the users the route is open to one by one."""
        if self.route is None or self.route.get("id") is None:
            return []
        return sorted(
            str(user["username"]) for user in self._client.get(f"{KIND.path}/{self.route['id']}/access")["items"]
        )

    def set_access(self, policy: str | None, users: Sequence[str] | None) -> Change:
        """Make who may call the route as wanted; None leaves that half as it is. `users` is the whole list."""
        route = self.route or {}
        current = {"access_policy": access_policy(route.get("access_policy")), "users": self.users()}
        given = {"access_policy": policy, "users": None if users is None else sorted(users)}
        wanted = {name: value for name, value in given.items() if value is not None}
        change = compare(wanted, current, {"users": Equality.UNORDERED})
        if change.changed:
            target = {**current, **change.payload}
            body = {"access_policy": target["access_policy"], "users": self._user_ids(target["users"])}
            self._writer.post(f"{KIND.path}/{route.get('id')}/access", body)
            self.route = {**route, "access_policy": target["access_policy"]}
            if not self._writer.check_mode:
                self._read_back_access(wanted)
        return Change({}, change.after, change.payload) if self._created else change

    def remove(self) -> bool:
        """Delete the route with its targets; the models behind it stay."""
        if self.route is None:
            return False
        self._writer.delete(KIND, self.route)
        return True

    def _plan(self, wanted: Sequence[Declared]) -> TargetPlan:
        version, lenient = self._client.server_version, self._writer.check_mode
        return plan(wanted, self.targets, self.names, version, lenient=lenient)

    def _settle(self, planned: TargetPlan) -> None:
        """Read the targets back, and take away fallbacks: GPUStack 2.1 ignores that in the list."""
        if self._writer.check_mode:
            self._would_be = planned.after
            return
        route_id = (self.route or {})["id"]
        self.targets = self._list_targets(route_id)
        wanted = {key_of(target): target for target in planned.after}
        for target in self.targets:
            codes = wanted.get(key_of(declared(target, self.names)), {}).get("fallback_status_codes")
            if sorted(target.get("fallback_status_codes") or []) != (codes or []):
                body = {"fallback_status_codes": codes}
                self._writer.post(f"{TARGET.path}/{target['id']}/set-fallback", body)
                target["fallback_status_codes"] = codes
        if self.declared_targets != planned.after:
            raise NotApplied(
                f"GPUStack accepted the targets of route {self.name!r} but has {self.declared_targets}; wanted is "
                f"{planned.after}. Somebody else may have written meanwhile: run again."
            )
        self.route = self._client.get(f"{KIND.path}/{route_id}")

    def _await_new(self) -> None:
        """Wait until the targets of running models are active, in vain for a while at most."""
        if self._writer.check_mode:
            return
        known = {target["id"] for target in self.targets}
        for _second in range(ACTIVATION_SECONDS):
            new = [t for t in self._list_targets((self.route or {})["id"]) if t["id"] not in known]
            if all(t.get("state") == "active" for t in new if t.get("model_id") in self.names.ready):
                return
            self._sleep(1)

    def _list_targets(self, route_id: int) -> list[dict[str, Any]]:
        return list(self._client.listing(TARGET.path, route_id=route_id))

    def _user_ids(self, names: Iterable[str]) -> list[dict[str, Any]]:
        found = []
        for name in names:
            user = find_user(self._client, name)
            if user is not None:
                found.append({"id": user["id"]})
            elif not self._writer.check_mode:
                raise NotFound(f"There is no user {name!r} to open route {self.name!r} to. Create the user first.")
        return found

    def _read_back_access(self, wanted: Mapping[str, Any]) -> None:
        self.route = self._client.get(f"{KIND.path}/{(self.route or {})['id']}")
        stored = {"access_policy": access_policy(self.route.get("access_policy")), "users": self.users()}
        if any(stored[name] != value for name, value in wanted.items()):
            raise NotApplied(
                f"GPUStack accepted who may use route {self.name!r} but kept {stored}; wanted is {dict(wanted)}. "
                "Somebody else may have written meanwhile: run again."
            )


def names_of(client: Client, targets: Iterable[Mapping[str, Any]]) -> Names:
    """The names of all models, and of the providers if any target, declared or present, leads to one."""
    models = list(client.listing("/v2/models"))
    providers: list[dict[str, Any]] = []
    if any(target.get("provider_id") is not None or target.get("provider") for target in targets):
        providers = list(client.listing("/v2/model-providers"))
    return Names(
        models={model["id"]: model["name"] for model in models},
        providers={provider["id"]: provider["name"] for provider in providers},
        ready=frozenset(model["id"] for model in models if model.get("ready_replicas")),
    )
