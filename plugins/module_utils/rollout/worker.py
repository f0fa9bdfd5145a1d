# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One worker's turn, as far as the server takes part in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..client import Client
from ..ensure import Writer
from ..lookup import worker_named
from ..model_spec import chats, instances_wanted
from ..worker_spec import KIND
from .memory import Memory, begun, ended, memory_of, resumed, same_target
from .targets import Serving

Row = Mapping[str, Any]


class WorkerTurn:
    """Begin, resume, end: each can be called again and again, and does what is still to do."""

    def __init__(self, client: Client, writer: Writer, name: str) -> None:
        self._client = client
        self._writer = writer
        self.name = name

    def begin(self, min_available: int | None) -> dict[str, Any]:
        """Maintenance on, and out of the routes what can be. Raises Conflict before anything is changed.

        Settled at once, unless replicas on other workers are out of their routes since their turn was interrupted: they
        come back first.
        """
        worker, serving = self._worker(), Serving(self._client, self._writer)
        in_turns = self._in_turns()
        elsewhere = [
            target for target in serving.declared(self._leads) if not any(same_target(target, out) for out in in_turns)
        ]
        back = serving.put_back(serving.outside(elsewhere))
        waiting = serving.not_serving(elsewhere)
        if waiting:
            return {**self._told(serving, [], back), "settled": False, "progress": f"waiting for {', '.join(waiting)}"}
        serving = Serving(self._client, self._writer) if back else serving
        leaving = serving.leaving(self.name, self._leads, min_available)
        interrupted = memory_of(worker.get("maintenance")) is not None
        ran = {row["model_name"] for row in serving.instances if self._has(row) and row["state"] == "running"}
        maintenance = begun(worker.get("maintenance"), ran, leaving.targets)
        changed = self._maintain(worker, maintenance)
        changed = serving.take_out(leaving.targets) or changed or back
        targets = _targets(memory_of(maintenance))
        return {
            **self._told(serving, targets, changed),
            "gaps": list(leaving.gaps),
            "interrupted": interrupted,
            "settled": True,
            "progress": f"{self.name} is out; {_left(targets)}",
        }

    def resume(self) -> dict[str, Any]:
        """Maintenance off if the turn switched it on; settled when the worker's instances run."""
        worker, serving = self._worker(), Serving(self._client, self._writer)
        memory = memory_of(worker.get("maintenance"))
        changed = self._maintain(worker, resumed(worker.get("maintenance")))
        targets = _targets(memory)
        waiting = self._waiting(serving, memory)
        return {
            **self._told(serving, targets, changed),
            "interrupted": memory is not None,
            "settled": not waiting,
            "progress": f"{self.name}: {'waiting for ' + ', '.join(waiting) if waiting else 'all its instances run'}",
        }

    def end(self) -> dict[str, Any]:
        """As before the turn; settled when GPUStack sends requests here again."""
        worker, serving = self._worker(), Serving(self._client, self._writer)
        memory = memory_of(worker.get("maintenance"))
        targets = _targets(memory)
        changed = serving.put_back(targets)
        waiting = serving.not_serving(targets)
        # Forgotten only when all is done, so that a run that is killed here can be ended by the next.
        if not waiting:
            changed = self._maintain(worker, ended(worker.get("maintenance"))) or changed
        return {
            **self._told(serving, targets, changed),
            "interrupted": memory is not None,
            "settled": not waiting,
            "progress": f"{self.name}: waiting for {', '.join(waiting)}" if waiting else f"{self.name} is back",
        }

    def _worker(self) -> dict[str, Any]:
        return worker_named(self._client, self.name)

    def _in_turns(self) -> list[Row]:
        """What is out because of a worker's turn, which brings it back: of another one in the same batch."""
        memories = [memory_of(row.get("maintenance")) for row in self._client.listing(KIND.path)]
        return [target for memory in memories for target in _targets(memory)]

    def _maintain(self, worker: Row, maintenance: dict[str, Any]) -> bool:
        current = worker.get("maintenance") or {}
        if (bool(current.get("enabled")), current.get("message")) == (maintenance["enabled"], maintenance["message"]):
            return False
        self._writer.save(KIND, worker, {"maintenance": maintenance})
        return True

    def _leads(self, instance: Row) -> bool:
        return bool(instance.get("worker_name") == self.name)

    def _has(self, instance: Row) -> bool:
        """Whether the instance uses cards of this worker."""
        servers = instance.get("distributed_servers") or {}
        others = [row.get("worker_name") for row in servers.get("subordinate_workers") or []]
        return self.name in (instance.get("worker_name"), *others)

    def _waiting(self, serving: Serving, memory: Memory | None) -> list[str]:
        """What ran when the turn began and does not now. What did not run then is nothing to wait for."""
        waiting: list[str] = []
        for model in memory.models if memory else ():
            own = [row for row in serving.instances if row["model_name"] == model]
            waiting += [f"{row['name']} ({row['state']})" for row in own if row["state"] != "running"]
            if not own and instances_wanted(serving.models.get(model, {"replicas": 0})) > 0:
                waiting.append(f"an instance of {model}")
        return waiting

    def _told(self, serving: Serving, targets: list[Any], changed: bool) -> dict[str, Any]:
        left = {target["model"] for target in targets}
        led = [row for row in serving.instances if self._leads(row) and row["state"] == "running"]
        return {
            "changed": changed,
            "targets": targets,
            "routes": serving.routes_to({row["model_name"] for row in led}),
            "engines": [
                {
                    "instance": row["name"],
                    "model": row["model_name"],
                    "address": f"{row['worker_ip']}:{row['port']}",
                    "drained": row["model_name"] in left,
                    "chats": chats(serving.models.get(row["model_name"]) or {}),
                }
                for row in led
            ],
        }


def _targets(memory: Memory | None) -> list[Row]:
    return list(memory.targets) if memory else []


def _left(targets: Sequence[Row]) -> str:
    if not targets:
        return "nothing had to leave a route"
    return ", ".join(f"{target['model']} left {target['route']}" for target in targets)
