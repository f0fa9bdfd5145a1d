# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proxy before a real GPUStack server: remembers every request that passes, and does harm to some when told to.

What a test proves about the wire is proved here, outside of the collection's own code.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

UPSTREAM_TIMEOUT_SECONDS = 60
NOT_PASSED_ON = {"connection", "content-length", "transfer-encoding", "host", "date", "server"}


@dataclass(frozen=True)
class Passed:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int | None  # None: it never reached the server

    @property
    def is_write(self) -> bool:
        """A log-in changes nothing, and a token is only looked at."""
        return self.method != "GET" and self.path != "/auth/login"


@dataclass
class Fault:
    """What happens to a request that `matches`, `times` times.

    `kind`: `cut` (connection closed before the server has it), `lost` (closed after), `slow` (answered too late), or
    the status to answer with instead of the server.
    """

    kind: str | int
    method: str = "POST"
    path: str = ""
    times: int = 1
    seconds: float = 3.0
    headers: dict[str, str] = field(default_factory=dict)

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and method == self.method and path.startswith(self.path) and path != "/auth/login"


class FaultProxy:
    """Use as a context manager; `url` is where it listens."""

    def __init__(self, upstream: str, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(upstream)
        self.upstream = (str(parts.hostname), int(parts.port or 80))
        self.passed: list[Passed] = []
        self.faults: list[Fault] = []
        self.page_size: int | None = None
        self.on_request: Callable[[str, str], None] = lambda method, path: None
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> FaultProxy:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def reset(self) -> None:
        """Forget what passed, and do no more harm."""
        self.passed.clear()
        self.faults.clear()
        self.page_size = None
        self.on_request = lambda method, path: None

    def writes(self) -> list[tuple[str, str]]:
        return [(request.method, request.path) for request in self.passed if request.is_write]

    def take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.matches(method, path):
                fault.times -= 1
                return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    owner: FaultProxy
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def _handle(self) -> None:
        proxy = self.owner
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if proxy.page_size is not None and "perPage" in query:
            query["perPage"] = str(proxy.page_size)
        proxy.on_request(self.command, parts.path)
        fault = proxy.take_fault(self.command, parts.path)
        status: int | None = None
        try:
            if fault is not None and fault.kind == "cut":
                self.close_connection = True
                return
            if fault is not None and isinstance(fault.kind, int):
                self._answer(fault.kind, fault.headers, b'{"code": 0, "reason": "Fault", "message": "injected fault"}')
                return
            status, headers, answer = self._forward(parts.path, query, content)
            if fault is not None and fault.kind == "lost":
                self.close_connection = True
                return
            if fault is not None and fault.kind == "slow":
                time.sleep(fault.seconds)
            self._answer(status, headers, answer)
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # the server is away, and so is the answer
        finally:
            body = json.loads(content) if content and self.headers.get("Content-Type") == "application/json" else None
            proxy.passed.append(Passed(self.command, parts.path, query, body, status))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _handle

    def _forward(self, path: str, query: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self.owner.upstream, timeout=UPSTREAM_TIMEOUT_SECONDS)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        target = f"{path}?{urlencode(query)}" if query else path
        connection.request(self.command, target, body=content or None, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        # The date stays: by it the collection tells instances of an older configuration.
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in NOT_PASSED_ON - {"date"}}
        return answer.status, kept, body

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Keep the test's output clean."""
