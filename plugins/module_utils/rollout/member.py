# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One model's turn: out of its routes, another configuration, back. A model here is one of GPUStack's, a member.

What left its routes needs no memory of its own: which routes a member belongs to is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..client import Client
from ..deployment import server_time
from ..engine_configuration import ENGINE_FIELDS, declared_name, time_of, with_marker, without_marker
from ..ensure import Change, Writer, compare
from ..errors import NotFound
from ..model_spec import KIND, chats, without_scheduled_replicas
from ..realisation import cards_of, realise
from .targets import Serving

Row = Mapping[str, Any]


class MemberTurn:
    """Begin, write, end: each can be called again and again, and does what is still to do."""

    def __init__(self, client: Client, writer: Writer, name: str) -> None:
        self._client = client
        self._writer = writer
        self.name = name
        self._serving = Serving(client, writer)
        if name not in self._serving.models:
            raise NotFound(f"There is no model {name!r} to take its turn. Declare it, and run site.yml.")
        self.model: dict[str, Any] = self._serving.models[name]

    @property
    def instances(self) -> list[dict[str, Any]]:
        return [row for row in self._serving.instances if row["model_name"] == self.name]

    def begin(self, min_available: int | None) -> dict[str, Any]:
        """Out of the routes where others serve. Raises Conflict before anything is changed."""
        serving = self._serving
        leaving = serving.leaving(self.name, lambda row: bool(row["model_name"] == self.name), min_available)
        changed = serving.take_out(leaving.targets)
        own = [target for target in serving.outside(serving.declared()) if target["model"] == self.name]
        targets = [*leaving.targets, *own]
        return {
            "changed": changed,
            "targets": targets,
            "gaps": list(leaving.gaps),
            "engines": self.engines(bool(targets)),
            "settled": True,
            "progress": f"{self.name} left {', '.join(target['route'] for target in leaving.targets) or 'no route'}",
        }

    def write(self, declaration: Row) -> dict[str, Any]:
        """The declared configuration of this member; its engines are not touched yet."""
        present = {row["model_name"]: cards_of(row) for row in self._serving.instances}
        members = {member.name: member for member in realise(declaration, present).members}
        if self.name not in members:
            raise NotFound(f"{self.name!r} is none of the members of {declaration['name']!r}: {', '.join(members)}.")
        return self._save(members[self.name].fields)

    def restore(self, configuration: Row) -> dict[str, Any]:
        """The configuration that `configuration` kept."""
        return self._save(configuration)

    @property
    def configuration(self) -> dict[str, Any]:
        """What the engine is started with, to be restored; it holds the secrets of its environment."""
        kept = {name: self.model.get(name) for name in ENGINE_FIELDS}
        return {**kept, "env": without_marker(self.model.get("env"))}

    def end(self, targets: list[Any]) -> dict[str, Any]:
        """Back into the routes; settled when GPUStack sends requests there again."""
        changed = self._serving.put_back(targets)
        waiting = self._serving.not_serving(targets)
        return {
            "changed": changed,
            "targets": targets,
            "engines": self.engines(False),
            "settled": not waiting,
            "progress": f"waiting for {', '.join(waiting)}" if waiting else f"{self.name} serves again",
        }

    def steady(self, settle_seconds: int) -> dict[str, Any]:
        """Settled when every instance has run unchanged for that long; `broken` is one that does not run."""
        now = server_time(self._client)
        broken = next((row for row in self.instances if row["state"] != "running"), None)
        since = min((int((now - time_of(row["updated_at"])).total_seconds()) for row in self.instances), default=0)
        progress = f"{self.name} runs; watching it for {settle_seconds} s"
        if broken is not None:
            restarts, why = broken.get("restart_count") or 0, broken.get("state_message")
            progress = (
                f"{broken['name']} ran and is {broken['state']} now, after {restarts} restarts: "
                f"{why or 'GPUStack gives no reason'}"
            )
        return {
            "changed": False,
            "engines": self.engines(False),
            "broken": broken,
            "settled": broken is None and bool(self.instances) and since >= settle_seconds,
            "progress": progress,
        }

    def engines(self, drained: bool) -> list[dict[str, Any]]:
        """Where the running engines of the model listen, and which worker leads them."""
        return [
            {
                "instance": row["name"],
                "worker": row["worker_name"],
                "address": f"{row['worker_ip']}:{row['port']}",
                "drained": drained,
                "chats": chats(self.model),
            }
            for row in self.instances
            if row["state"] == "running"
        ]

    def _save(self, wanted: Row) -> dict[str, Any]:
        visible = {**self.model, "env": without_marker(self.model.get("env"))}
        change: Change = compare(without_scheduled_replicas(wanted, visible), visible, KIND.rules)
        fields = dict(change.payload)
        if not fields.keys().isdisjoint(ENGINE_FIELDS):
            owner = declared_name(self.model) or self.name
            fields["env"] = with_marker(
                {**visible, **fields}, server_time(self._client), "" if owner == self.name else owner
            )
        if fields:
            self.model = self._writer.save(KIND, self.model, fields)
        return {"changed": change.changed, "change": change, "settled": True, "progress": f"{self.name} is written"}
