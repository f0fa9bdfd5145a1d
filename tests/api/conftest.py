# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules against real servers of every release that is tested, through a proxy that sees every request."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "unit"), str(TESTS / "support")]

from api_server import PASSWORD, ApiServer, images
from fault_proxy import FaultProxy
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.module_utils import client, evaluation

RELEASES = ("v2.1.1", "v2.3.0")
Call = Callable[..., dict[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-servers", action="store_true", help="use servers that run, and leave them running")


class Servers(dict[str, ApiServer]):
    """The servers by release; whoever takes one gets it when it answers."""

    def __getitem__(self, release: str) -> ApiServer:
        server = super().__getitem__(release)
        server.wait()
        return server


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """All releases, started at once: while the tests run against the first, the next one comes up."""
    keep = request.config.getoption("--keep-servers")
    built = images()
    started = Servers({release: ApiServer(release, built[release]) for release in RELEASES})
    try:
        for server in started.values():
            if not (keep and server.is_running):
                server.start()
        yield started
    finally:
        for server in started.values():
            if not keep:
                server.remove()


@pytest.fixture(scope="session", params=RELEASES)
def server(request: pytest.FixtureRequest, servers: Servers) -> ApiServer:
    return servers[request.param]


@pytest.fixture(scope="session")
def shared_proxy(server: ApiServer) -> Iterator[FaultProxy]:
    with FaultProxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def proxy(shared_proxy: FaultProxy) -> FaultProxy:
    shared_proxy.reset()
    return shared_proxy


@pytest.fixture
def call(proxy: FaultProxy) -> Call:
    """A module's answer in diff mode; `proxy.passed` holds only what this call sent."""

    def run(name: str, /, *, check: bool = False, **options: Any) -> dict[str, Any]:
        module = importlib.import_module(f"ansible_collections.gpuops.gpustack.plugins.modules.{name}")
        proxy.passed.clear()
        connection = {"server_url": proxy.url, "username": "admin", "password": PASSWORD}
        with (
            mock.patch.object(client, "RETRY_DELAYS_SECONDS", (0.1, 0.1, 0.1)),
            mock.patch.object(evaluation, "PAUSE_SECONDS", 0.1),
        ):
            return run_module(module.main, {**connection, **options}, check_mode=check, diff=True)

    return run


@pytest.fixture
def cluster(server: ApiServer) -> dict[str, Any]:
    """A cluster for models and workers, the same for all tests of a server."""
    found = [item for item in server.items("/v2/clusters") if item["name"] == "racks"]
    if not found:
        found = [server.request("POST", "/v2/clusters", {"name": "racks", "provider": "Docker"})]
        server.request("POST", f"/v2/clusters/{found[0]['id']}/set-default", {})
    return found[0]


@pytest.fixture
def worker(server: ApiServer, cluster: dict[str, Any]) -> Iterator[dict[str, Any]]:
    registered = server.register_worker("gpu-worker-a", cluster["id"])
    yield registered
    if "gpu-worker-a" in server.names("/v2/workers"):
        server.request("DELETE", f"/v2/workers/{registered['id']}")
