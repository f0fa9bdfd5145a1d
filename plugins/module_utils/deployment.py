# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One model on one server: see it, make it as declared, replace instances that run something older, remove it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from .client import Client
from .engine_configuration import ENGINE_FIELDS, marker_of, stale, with_marker, without_marker
from .ensure import Change, Kind, Writer, compare
from .errors import Invalid, NotFound, ServerError
from .logs import read_log
from .lookup import cluster_named, default_cluster, find_model, find_route
from .masking import secrets_of
from .model_spec import DEFAULT_BACKEND, KIND, SOURCES, check_release, instances_wanted, without_scheduled_replicas
from .patience import with_patience
from .releases import access_policy, made_with_model
from .waiting import Instance, Result, Snapshot, follow

INSTANCE = Kind(label="model instance", path="/v2/model-instances")


class Deployment:
    """A model of a name. `model` is what the server has, or in check mode would have; None when there is none."""

    def __init__(self, client: Client, writer: Writer, name: str) -> None:
        self._client = client
        self._writer = writer
        self.name = name
        self.model: dict[str, Any] | None = find_model(client, name)
        self.instances: list[dict[str, Any]] = []
        self.stale: list[str] = []
        self.recreated: list[str] = []
        self._changed = False
        self._secrets = secrets_of(self.model or {})

    def apply(self, wanted: Mapping[str, Any], cluster: str | None) -> Change:
        """Make the model as wanted; only what is in `wanted` counts.

        Raises Invalid when the wanted can't be reached by a change, or a new model lacks what it needs.
        """
        current = self.model
        check_release(wanted, self._client.server_version)
        wanted = without_scheduled_replicas({**wanted, **self._place(cluster)}, current or {})
        self._secrets |= secrets_of(wanted)
        if current is None:
            return self._create(wanted)

        visible = {**current, "env": without_marker(current.get("env"))}
        route = find_route(self._client, self.name) if "access_policy" in wanted else None
        if route is not None:
            visible["access_policy"] = access_policy(route["access_policy"])
        change = compare(wanted, visible, KIND.rules)

        if "access_policy" in change.payload and route is None:
            raise Invalid(f"Model {self.name!r} has no route of its name, so access_policy can't be set. Leave it out.")

        fields = {name: value for name, value in change.payload.items() if name != "access_policy"}
        if not fields.keys().isdisjoint(ENGINE_FIELDS):
            marker = marker_of(current)
            member_of = "" if marker is None else marker.member_of
            fields["env"] = with_marker({**visible, **fields}, self._server_time(), member_of)
        if fields:
            self.model = self._writer.save(KIND, current, fields)
        if route is not None and "access_policy" in change.payload:
            self._open_to(route, change.payload["access_policy"])
        self._changed = change.changed
        return change

    def look(self, recreate: bool) -> Snapshot:
        """See how the instances are; with `recreate` replace one that runs an older configuration, if that may be now.

        One after the other, those that do not run first: the next goes only when every newer one runs, so a
        configuration that does not come up stops at the first replica.
        """
        model = self.model or {}
        self.instances = self._list_instances()
        self.stale = stale(self.instances, marker_of(model))
        replicas = instances_wanted(model)
        if recreate and self._writer.check_mode:
            self.recreated = list(self.stale)
        elif recreate and self.stale:
            running = {instance["name"] for instance in self.instances if instance["state"] == "running"}
            newer = {instance["name"] for instance in self.instances} - set(self.stale)
            first = min(self.stale, key=lambda name: name in running)
            if len(self.instances) >= replicas and newer <= running and first not in self.recreated:
                self._recreate(first)
        return Snapshot(self.name, replicas, self.instances, self.stale if recreate else (), moved=self.changed)

    def wait(
        self,
        *,
        recreate: bool,
        timeout_seconds: float,
        log_lines: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> Result:
        """Look again and again until all replicas run with the present configuration, or will not."""
        result = with_patience(
            lambda look: follow(
                look,
                lambda instance: self.read_log(instance, log_lines),
                timeout_seconds=timeout_seconds,
                clock=clock,
                sleep=sleep,
            ),
            lambda: self.look(recreate),
        )
        if self.changed and self.model is not None:
            # GPUStack fills fields in while a model comes up.
            self.model = self._client.get(f"{KIND.path}/{self.model['id']}")
        return result

    def remove(self) -> bool:
        """Delete the model; GPUStack deletes its instances, and its route once the model is gone from it."""
        if self.model is None:
            return False
        self.instances = self._list_instances()
        self._writer.delete(KIND, self.model)
        return True

    def remains(self) -> list[str]:
        """What of a removed model is still there: instances, and the route that was made with it."""
        names = [instance["name"] for instance in self._list_instances()]
        route = find_route(self._client, self.name)
        if route is not None and made_with_model(route):
            names.append(f"route {self.name}")
        return names

    def read_log(self, instance: Instance, lines: int) -> Sequence[str]:
        return read_log(self._client, instance, lines, self._secrets)

    @property
    def changed(self) -> bool:
        return self._changed or bool(self.recreated)

    @property
    def secrets(self) -> set[str]:
        return self._secrets

    def _create(self, wanted: dict[str, Any]) -> Change:
        if "source" not in wanted:
            raise Invalid(
                f"There is no model {self.name!r} yet, and nothing says where its weights are. "
                f"Set one of {', '.join(SOURCES)}."
            )
        wanted.setdefault("backend", DEFAULT_BACKEND)
        change = compare(wanted, None, KIND.rules)
        payload = {**change.payload, "env": with_marker(wanted, self._server_time())}
        self.model = self._writer.save(KIND, None, payload, on_create={"enable_model_route": True})
        self._changed = True
        return change

    def _place(self, cluster: str | None) -> dict[str, Any]:
        """The cluster's id: of a new model always, of an existing one to be compared where it is declared."""
        if self.model is None:
            try:
                found = default_cluster(self._client) if cluster is None else cluster_named(self._client, cluster)
            except NotFound:
                if self._writer.check_mode:
                    return {}  # the cluster may be one that an earlier task would have made
                raise
            return {"cluster_id": found["id"]}
        if cluster is not None and cluster_named(self._client, cluster)["id"] != self.model.get("cluster_id"):
            raise Invalid(
                f"Model {self.name!r} is in another cluster than {cluster!r}, and GPUStack can't move a model. "
                "Remove it there first (state: absent), or declare the cluster it is in."
            )
        return {}

    def _open_to(self, route: Mapping[str, Any], policy: str) -> None:
        """Who may call the model is decided by its route; the users it was opened to one by one stay."""
        path = f"/v2/model-routes/{route['id']}/access"
        users = [{"id": user["id"]} for user in self._client.get(path)["items"]]
        self._writer.post(path, {"access_policy": policy, "users": users})

    def _recreate(self, name: str) -> None:
        instance = next(instance for instance in self.instances if instance["name"] == name)
        with contextlib.suppress(NotFound):  # gone meanwhile is as good
            self._writer.delete(INSTANCE, instance)
        self.recreated.append(name)

    def _list_instances(self) -> list[dict[str, Any]]:
        model_id = (self.model or {}).get("id")
        if model_id is None:
            return []
        found = self._client.listing(INSTANCE.path, model_id=model_id)
        return sorted(found, key=lambda instance: str(instance["name"]))

    def _server_time(self) -> datetime:
        return server_time(self._client)


def server_time(client: Client) -> datetime:
    """The server's own time, by which it dates what it makes."""
    if client.server_time is None:
        raise ServerError(
            "GPUStack's answers have no Date header, by which instances of an older configuration are told. "
            "Let the proxy before GPUStack pass it on."
        )
    return client.server_time
