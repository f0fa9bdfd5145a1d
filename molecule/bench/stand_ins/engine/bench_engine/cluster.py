# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that ``ray start`` forms: one head, nodes that join it and bring their cards, an engine that uses them.

Messages are lines of JSON over TCP on Ray's own port. A node is a member as long as its connection lasts; the engine
hears of every change, and the nodes hear from the engine how much memory it takes on their cards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

CURRENT_CLUSTER = Path("/tmp/ray/ray_current_cluster")


async def receive(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """Every message until the other side closes."""
    while line := await reader.readline():
        yield json.loads(line)


def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Sends one message; a closed connection shows up where it is read."""
    writer.write(json.dumps(message).encode() + b"\n")


class Head:
    """The head's side: who is a member, who listens; ``on_claim`` hears how much memory an engine takes of a card."""

    def __init__(self, own: dict[str, Any], on_claim: Callable[[int], None]) -> None:
        self._on_claim = on_claim
        self.nodes: dict[asyncio.StreamWriter | None, dict[str, Any]] = {None: own}
        self._engines: set[asyncio.StreamWriter] = set()

    async def serve(self, host: str, port: int) -> asyncio.Server:
        """Listens for nodes and engines."""
        return await asyncio.start_server(self._connection, host, port)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for message in receive(reader):
                if "join" in message:
                    self.nodes[writer] = message["join"]
                    self._tell_engines()
                elif "watch" in message:
                    self._engines.add(writer)
                    self._tell_engines()
                elif "claim_mib" in message:
                    self._on_claim(message["claim_mib"])
                    for node in self.nodes:
                        if node is not None:
                            send(node, message)
        except ConnectionError:
            pass
        finally:
            self._engines.discard(writer)
            if self.nodes.pop(writer, None) is not None:
                self._tell_engines()
            writer.close()

    def _tell_engines(self) -> None:
        for engine in self._engines:
            send(engine, {"nodes": list(self.nodes.values())})
