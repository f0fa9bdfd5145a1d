# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("b", "a"):
        fake.add_model(name, source="local_path", local_path="/m", backend="vLLM", cluster_id=cluster["id"])
    fake.add_user("alice")
    call("model_route", fake, name="chat", targets=[{"model": "b"}, {"model": "a", "weight": 1}])
    return fake


def test_all_routes_in_four_requests(fleet: FakeGPUStack) -> None:
    routes = call("model_route_info", fleet)["model_routes"]
    assert [(route["name"], route["made_with_model"]) for route in routes] == [
        ("a", True),
        ("b", True),
        ("chat", False),
    ]
    assert routes[2]["targets"] == [
        {"model": "a", "weight": 1, "state": "unavailable"},
        {"model": "b", "weight": 100, "state": "unavailable"},
    ]
    # Version and credentials, then routes, targets and models.
    assert fleet.counts() == {"GET": 5, "login": 1}


def test_users_are_told_where_they_count(fleet: FakeGPUStack) -> None:
    (route,) = call("model_route_info", fleet, name="chat")["model_routes"]
    assert (route["access_policy"], route["users"]) == ("authed", None)
    call("model_route", fleet, name="chat", access_policy="allowed_users", users=["alice"])
    (route,) = call("model_route_info", fleet, name="chat")["model_routes"]
    assert (route["access_policy"], route["users"]) == ("allowed_users", ["alice"])


def test_unknown_route_is_an_empty_list(fleet: FakeGPUStack) -> None:
    assert call("model_route_info", fleet, name="chats")["model_routes"] == []
