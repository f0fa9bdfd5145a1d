# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for torch.distributed with NCCL: the ranks really meet over TCP, and rank 0 adds up.

BENCH_ALL_REDUCE=wrong adds too much, as a broken link between two cards would.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from .tensor import Tensor

RETRY_SECONDS = 0.2
_streams: list[Any] = []
_here = {"rank": 0, "ranks": 1}


def init_process_group(backend: str, init_method: str, rank: int, world_size: int, timeout: object) -> None:
    """Waits until all ranks have met at rank 0."""
    address = urlsplit(init_method)
    place = (str(address.hostname), int(address.port or 0))
    _here.update(rank=rank, ranks=world_size)
    if rank == 0:
        with socket.create_server(place, backlog=world_size) as server:
            streams = [server.accept()[0].makefile("rw") for _ in range(world_size - 1)]
        _streams.extend(sorted(streams, key=lambda stream: int(stream.readline())))
    else:
        _streams.append(_connect(place).makefile("rw"))
        _send(_streams[0], rank)


def _connect(place: tuple[str, int]) -> socket.socket:
    while True:
        try:
            connection = socket.create_connection(place, timeout=1)
        except OSError:
            time.sleep(RETRY_SECONDS)
        else:
            connection.settimeout(None)
            return connection


def _send(stream: Any, value: object) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()


def _gather(value: object) -> list[Any]:
    """The values of all ranks, on all ranks."""
    if _here["rank"] != 0:
        _send(_streams[0], value)
        return json.loads(_streams[0].readline())
    values = [value, *(json.loads(stream.readline()) for stream in _streams)]
    for stream in _streams:
        _send(stream, values)
    return values


def all_reduce(tensor: Tensor) -> None:
    """The sum over all ranks."""
    total = sum(_gather(tensor.value))
    wrong = os.environ.get("BENCH_ALL_REDUCE") == "wrong" and tensor.places > 1
    tensor.value = total + 1 if wrong else total


def all_gather_object(target: list[Any], value: object) -> None:
    """Every rank's value, in the order of ranks."""
    target[:] = _gather(value)


def destroy_process_group() -> None:
    """Ends the connections."""
    for stream in _streams:
        stream.close()
