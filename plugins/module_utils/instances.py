# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The instances of one model on one server: see them, delete one, wait until all replicas run again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from .client import Client
from .deployment import INSTANCE
from .ensure import Writer
from .errors import NotFound
from .logs import read_log
from .lookup import model_named
from .masking import secrets_of
from .model_spec import instances_wanted
from .patience import with_patience
from .waiting import Result, Snapshot, follow


class Instances:
    """Those of `model`; `instances` is what the last look has seen, by name."""

    def __init__(self, client: Client, writer: Writer, model: Mapping[str, Any]) -> None:
        self._client = client
        self._writer = writer
        self.model = model
        self.secrets = secrets_of(model)
        self.instances: list[dict[str, Any]] = []
        self._deleted: list[str] = []

    @classmethod
    def of_model(cls, client: Client, writer: Writer, name: str) -> Instances:
        """Raises NotFound when there is no such model."""
        return cls(client, writer, model_named(client, name))

    def look(self) -> Snapshot:
        found = self._client.listing(INSTANCE.path, model_id=self.model["id"])
        self.instances = sorted(found, key=lambda instance: str(instance["name"]))
        return Snapshot(
            str(self.model["name"]),
            instances_wanted(self.model),
            self.instances,
            stale=self._deleted,
            moved=bool(self._deleted),
        )

    def delete(self, name: str) -> None:
        """Delete one that the last look has seen; GPUStack makes another one."""
        for instance in self.instances:
            if instance["name"] == name:
                with contextlib.suppress(NotFound):  # gone meanwhile is as good
                    self._writer.delete(INSTANCE, instance)
                self._deleted.append(name)

    def read_log(self, name: str, lines: int) -> list[str]:
        """The last lines of an instance's log, which goes when the instance goes."""
        instance = next((instance for instance in self.instances if instance["name"] == name), None)
        return [] if instance is None else read_log(self._client, instance, lines, self.secrets)

    def wait(
        self,
        timeout_seconds: float,
        log_lines: int,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> Result:
        """Look until all replicas run, and the deleted ones are gone."""
        return with_patience(
            lambda look: follow(
                look,
                lambda instance: read_log(self._client, instance, log_lines, self.secrets),
                timeout_seconds=timeout_seconds,
                clock=clock,
                sleep=sleep,
            ),
            self.look,
        )
