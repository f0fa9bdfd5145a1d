# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What goes wrong between a module and its server: the next run always ends in the declared state, nothing is twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from fault_proxy import Fault, FaultProxy

Options = dict[str, Any]
Call = Callable[..., dict[str, Any]]


def declared(tmp_path: Path) -> list[tuple[str, Options, str, str]]:
    """Module, options, and where one object of that name must be afterwards."""
    return [
        ("cluster", {"name": "hit", "description": "d"}, "/v2/clusters", "name"),
        ("user", {"name": "hit", "user_password": "Looking_Glass1"}, "/v2/users", "username"),
        ("model", {"name": "hit", "local_path": "/m", "replicas": 0, "wait": False}, "/v2/models", "name"),
        ("model_route", {"name": "hit-route", "targets": [{"model": "hit"}]}, "/v2/model-routes", "name"),
        ("api_key", {"name": "hit", "path": str(tmp_path / "key")}, "/v2/api-keys", "name"),
    ]


@pytest.fixture
def clean(server: ApiServer, cluster: dict[str, Any]) -> None:
    for path, field in (
        ("/v2/model-routes", "name"),
        ("/v2/models", "name"),
        ("/v2/users", "username"),
        ("/v2/api-keys", "name"),
        ("/v2/clusters", "name"),
    ):
        for item in server.items(path):
            if item[field].startswith("hit"):
                server.request("DELETE", f"{path}/{item['id']}")


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut"),
        Fault("lost"),
        Fault(500),
        Fault("slow", seconds=2.5),
        Fault(500, method="GET", path="/v2/"),
    ],
    ids=["cut-before", "cut-after", "500", "time-out", "500-on-reading"],
)
def test_second_run_ends_in_the_declared_state(
    fault: Fault, server: ApiServer, proxy: FaultProxy, call: Call, tmp_path: Path
) -> None:
    for module, options, path, field in declared(tmp_path):
        if fault.method == "GET" and module == "api_key":
            continue  # it reads nothing after it has made a key
        proxy.reset()
        # Whatever else a first run needs to read is read before the fault.
        proxy.faults = [Fault(fault.kind, fault.method, fault.path, seconds=fault.seconds)]
        if fault.method == "GET":
            proxy.faults[0].times = 0
            proxy.on_request = lambda method, at: _arm(proxy) if method == "POST" and at.startswith("/v2/") else None
        first = call(module, **options, timeout=2)
        assert first.get("failed") is True, (module, first)
        assert first["msg"].startswith("GPUStack at ")
        proxy.reset()
        second = call(module, **options)
        assert second.get("failed") is None, (module, second)
        assert call(module, **options)["changed"] is False
        assert server.names(path, field).count(options["name"]) == 1


def _arm(proxy: FaultProxy) -> None:
    """Let every read fail from now on."""
    proxy.faults[0].times = 10**6


CHANGED = [
    ("cluster", {"name": "hit", "description": "d"}, {"description": "e"}),
    ("user", {"name": "hit", "user_password": "Looking_Glass1"}, {"full_name": "Hit"}),
    ("model", {"name": "hit", "local_path": "/m", "replicas": 0, "wait": False}, {"description": "e"}),
    ("model_route", {"name": "hit-route", "targets": [{"model": "hit"}]}, {"targets": [{"model": "hit", "weight": 7}]}),
    ("backend_version", {"name": "1-hit-custom", "image_name": "x"}, {"image_name": "y"}),
    ("worker", {"name": "gpu-worker-a"}, {"labels": {"rack": "12"}, "maintenance": True}),
]


@pytest.mark.usefixtures("clean", "worker")
@pytest.mark.parametrize(
    "fault", [Fault("cut", "PUT"), Fault("lost", "PUT"), Fault(500, "PUT")], ids=["cut-before", "cut-after", "500"]
)
def test_run_after_a_change_that_broke_off_ends_in_the_declared_state(
    fault: Fault, proxy: FaultProxy, call: Call
) -> None:
    for module, options, change in CHANGED:
        call(module, **options)
        # Of what belongs to a route the server takes some by POST.
        proxy.faults = [
            Fault(fault.kind, method) for method in (("PUT", "POST") if module == "model_route" else ("PUT",))
        ]
        assert call(module, **{**options, **change}).get("failed") is True, module
        proxy.reset()
        second = call(module, **{**options, **change})
        assert second.get("failed") is None, (module, second)
        assert call(module, **{**options, **change})["changed"] is False
    call("backend_version", name="1-hit-custom", state="absent")


@pytest.mark.usefixtures("clean")
def test_rate_limit_is_waited_for(server: ApiServer, proxy: FaultProxy, call: Call) -> None:
    proxy.faults = [
        Fault(429, "GET", "/v2/clusters", times=2, headers={"Retry-After": "0"}),
        Fault(429, "POST", "/v2/clusters", times=2),
    ]
    assert call("cluster", name="hit")["changed"] is True
    assert proxy.writes() == [("POST", "/v2/clusters")] * 3
    assert server.names("/v2/clusters").count("hit") == 1


@pytest.mark.usefixtures("clean")
def test_listing_that_changes_between_its_pages_is_complete(server: ApiServer, proxy: FaultProxy, call: Call) -> None:
    made = [server.request("POST", "/v2/clusters", {"name": f"hit-{n}", "provider": "Docker"}) for n in range(6)]
    proxy.page_size = 2
    pages = 0

    def change(method: str, path: str) -> None:
        nonlocal pages
        if path == "/v2/clusters":
            pages += 1
        if pages == 2 and made[-1]["id"]:
            server.request("DELETE", f"/v2/clusters/{made[-1]['id']}")  # newest first: all others move forward
            server.request("DELETE", f"/v2/clusters/{made[-2]['id']}")
            made[-1]["id"] = 0

    proxy.on_request = change
    found = [cluster["name"] for cluster in call("cluster_info")["clusters"]]
    assert {f"hit-{n}" for n in range(4)} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.usefixtures("clean")
def test_object_that_somebody_else_made_meanwhile_is_not_made_twice(
    server: ApiServer, proxy: FaultProxy, call: Call
) -> None:
    def overtake(method: str, path: str) -> None:
        if method == "POST" and path == "/v2/clusters" and "hit" not in server.names("/v2/clusters"):
            server.request("POST", "/v2/clusters", {"name": "hit", "provider": "Docker", "description": "theirs"})

    proxy.on_request = overtake
    first = call("cluster", name="hit", description="ours")
    assert (first["error"], first["status"]) == ("Conflict", 409)
    proxy.reset()
    assert call("cluster", name="hit", description="ours")["diff"]["before"] == {"description": "theirs"}
    assert server.names("/v2/clusters").count("hit") == 1


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_server_that_is_restarted_in_the_middle(server: ApiServer, proxy: FaultProxy, call: Call) -> None:
    models = [{"name": f"hit-{n}", "local_path": "/m", "replicas": 0, "wait": False} for n in range(8)]
    restart = threading.Thread(target=server.restart)

    def strike(method: str, path: str) -> None:
        if method == "POST" and path == "/v2/models" and len(server_names) == 3 and not restart.ident:
            restart.start()
            time.sleep(1)

    server_names: list[str] = []
    proxy.on_request = strike
    outcomes = []
    for model in models:
        answer = call("model", **model)
        outcomes.append(bool(answer.get("failed")))
        if not answer.get("failed"):
            server_names.append(model["name"])
    assert outcomes[:3] == [False] * 3
    assert True in outcomes
    restart.join()
    server.wait()
    proxy.reset()
    address = server.url.removeprefix("http://").split(":")
    proxy.upstream = (address[0], int(address[1]))
    for model in models:
        assert call("model", **model).get("failed") is None
    assert [name for name in server.names("/v2/models") if name.startswith("hit")] == [m["name"] for m in models]
