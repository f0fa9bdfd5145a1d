# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from unittest import mock

import pytest
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.modules import engine_requests


class Engine(BaseHTTPRequestHandler):
    """Answers with the next of `running`, the last one for ever."""

    running: list[int]

    def do_GET(self) -> None:
        number = self.running.pop(0) if len(self.running) > 1 else self.running[0]
        page = f'vllm:num_requests_running{{engine="0"}} {number}.0\nvllm:request_success_total{{engine="0"}} 7.0\n'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def run(*addresses: str, wait: int = 0) -> dict:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    with mock.patch.object(engine_requests, "time", clock):
        return run_module(engine_requests.main, {"addresses": list(addresses), "wait_timeout": wait})


def test_tells_how_many_are_in_flight(address: str) -> None:
    Engine.running = [3]
    answer = run(address)
    assert (answer["settled"], answer["in_flight"], answer["finished"]) == (False, 3, 7)
    assert answer["progress"] == "3 requests in flight"
    assert answer["changed"] is False


def test_waits_until_twice_there_is_none(address: str) -> None:
    Engine.running = [2, 1, 0, 1, 0]
    answer = run(address, wait=60)
    assert (answer["settled"], answer["in_flight"], answer["progress"]) == (True, 0, "no request in flight")
    assert Engine.running == [0]


def test_limit_ends_the_waiting(address: str) -> None:
    Engine.running = [1]
    answer = run(address, wait=5)
    assert (answer["settled"], answer["in_flight"], answer["waited_seconds"]) == (False, 1, 5.0)


def test_engine_that_is_not_there_has_no_requests() -> None:
    answer = run("127.0.0.1:9")
    assert (answer["settled"], answer["silent"]) == (True, ["127.0.0.1:9"])


def test_nobody_to_ask_is_nothing_to_wait_for() -> None:
    assert run(wait=60)["waited_seconds"] == 0.0
