# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.module_utils import routes

CHAT: dict[str, Any] = {
    "name": "chat",
    "description": "Whichever it is",
    "targets": [{"model": "a", "weight": 90}, {"model": "b", "weight": 10}],
}
A, B = ({"model": "a", "weight": 90}, {"model": "b", "weight": 10})
# Version, credentials (twice, see test_model.py), the route, its targets, the names of the models.
NOTHING_TO_DO = {"GET": 5, "login": 1}


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    """Three models that run, with the numbers 2, 6 and 10 or so, and a route of its own each."""
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("a", "b", "c"):
        fake.add_model(name, source="local_path", local_path="/m", backend="vLLM", cluster_id=cluster["id"])
    for model in fake.models.values():
        model["ready_replicas"] = 1
    fake.add_user("alice")
    fake.add_user("bob")
    return fake


def targets_of(fake: FakeGPUStack, route: str = "chat") -> dict[str, tuple[int, Any]]:
    (route_id,) = [row["id"] for row in fake.routes.values() if row["name"] == route]
    return {
        fake.models[target["model_id"]]["name"]: (target["weight"], target.get("fallback_status_codes"))
        for target in fake.targets.values()
        if target["route_id"] == route_id
    }


def test_create_in_check_mode_writes_nothing(fleet: FakeGPUStack) -> None:
    answer = call("model_route", fleet, check=True, **CHAT, access_policy="allowed_users", users=["alice"])
    assert answer["changed"] is True
    assert answer["diff"] == {
        "before": {},
        "after": {**CHAT, "access_policy": "allowed_users", "users": ["alice"]},
    }
    assert answer["model_route"]["targets"] == [A, B]
    assert fleet.writes() == []


def test_create_is_one_write(fleet: FakeGPUStack) -> None:
    answer = call("model_route", fleet, **CHAT)
    assert answer["changed"] is True
    assert fleet.writes() == [("POST", "/v2/model-routes")]
    assert targets_of(fleet) == {"a": (90, None), "b": (10, None)}
    assert answer["model_route"]["description"] == "Whichever it is"


def test_second_run_changes_nothing(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    answer = call("model_route", fleet, **CHAT)
    assert (answer["changed"], answer["diff"]) == (False, {"before": {}, "after": {}})
    assert fleet.counts() == NOTHING_TO_DO


def test_update_in_check_mode_shows_the_difference(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    answer = call("model_route", fleet, check=True, name="chat", categories=["llm"], targets=[A, {"model": "c"}])
    assert answer["diff"] == {
        "before": {"categories": [], "targets": [A, B]},
        "after": {"categories": ["llm"], "targets": [A, {"model": "c", "weight": 100}]},
    }
    assert fleet.writes() == []


def test_new_target_is_active_before_the_old_one_goes(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    with mock.patch.object(routes.time, "sleep"):
        call("model_route", fleet, name="chat", targets=[{"model": "a"}, {"model": "c"}])
    put, *rest = [request for request in fleet.requests if request.method in ("PUT", "DELETE")]
    assert [item["model_id"] for item in put.body["targets"]] == [
        *(row["id"] for row in fleet.models.values() if row["name"] in ("a", "c")),
        next(row["id"] for row in fleet.models.values() if row["name"] == "b"),
    ]
    assert [request.method for request in rest] == ["DELETE"]
    assert targets_of(fleet) == {"a": (90, None), "c": (100, None)}


def test_target_that_stays_keeps_its_number_and_weight(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    before = {i for i, target in fleet.targets.items() if target["weight"] == 90}
    call("model_route", fleet, name="chat", targets=[{"model": "a"}])
    assert {i for i, target in fleet.targets.items() if target["weight"] == 90} == before
    assert [method for method, _path in fleet.writes()] == ["DELETE"]
    assert targets_of(fleet) == {"a": (90, None)}


def test_options_that_are_not_set_stay(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    call("model_route", fleet, name="chat", generic_proxy=True)
    (route,) = [row for row in fleet.routes.values() if row["name"] == "chat"]
    assert (route["description"], route["generic_proxy"], len(targets_of(fleet))) == ("Whichever it is", True, 2)


def test_fallback_moves_from_one_target_to_the_other(fleet: FakeGPUStack) -> None:
    first = [{"model": "a"}, {"model": "b", "fallback_status_codes": ["5xx"]}]
    call("model_route", fleet, name="chat", targets=first)
    second = [{"model": "a", "fallback_status_codes": ["5xx", "4xx"]}, {"model": "b", "fallback_status_codes": []}]
    assert call("model_route", fleet, name="chat", targets=second)["changed"] is True
    assert targets_of(fleet) == {"a": (100, ["4xx", "5xx"]), "b": (100, None)}
    assert call("model_route", fleet, name="chat", targets=second)["changed"] is False


def test_access_is_replaced_as_a_whole(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT, access_policy="allowed_users", users=["alice"])
    assert call("model_route", fleet, name="chat", users=["bob"])["diff"] == {
        "before": {"users": ["alice"]},
        "after": {"users": ["bob"]},
    }
    (route,) = [row for row in fleet.routes.values() if row["name"] == "chat"]
    assert (route["access_policy"], [user["username"] for user in route["users"]]) == ("allowed_users", ["bob"])
    assert call("model_route", fleet, name="chat", access_policy="allowed_users", users=["bob"])["changed"] is False
    call("model_route", fleet, name="chat", access_policy="public")
    assert (route["access_policy"], len(route["users"])) == ("public", 1)


def test_policy_of_a_newer_server_is_told_in_the_same_word(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT, access_policy="allowed_users", users=["alice"])
    for row in fleet.routes.values():
        row["access_policy"] = "allowed_principals"
    assert call("model_route", fleet, name="chat", access_policy="allowed_users")["changed"] is False


def test_delete_in_check_mode_writes_nothing(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    answer = call("model_route", fleet, check=True, name="chat", state="absent")
    assert (answer["changed"], answer["diff"]["before"]["targets"]) == (True, [A, B])
    assert fleet.writes() == []


def test_delete_and_again(fleet: FakeGPUStack) -> None:
    call("model_route", fleet, **CHAT)
    assert call("model_route", fleet, name="chat", state="absent")["changed"] is True
    assert [method for method, _path in fleet.writes()] == ["DELETE"]
    assert len(fleet.models) == 3
    assert call("model_route", fleet, name="chat", state="absent")["changed"] is False


def test_model_that_check_mode_did_not_create_is_no_error(fleet: FakeGPUStack) -> None:
    answer = call("model_route", fleet, check=True, name="chat", targets=[{"model": "later"}])
    assert answer["model_route"]["targets"] == [{"model": "later", "weight": 100}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": [{"model": "z"}]}, "There is no model 'z' for the route to lead to; there are: a, b, c."),
        ({"targets": [{"weight": 1}]}, "leads to a model or to a provider"),
        ({"targets": [{"provider": "p"}]}, "lacks overridden_model_name"),
        ({"targets": [{"model": "a"}, {"model": "a"}]}, "Declared twice as a target of one route: model a."),
        ({"targets": [{"model": "a", "weight": -1}]}, "The weight of model a is -1; wanted is 0 or more."),
        (
            {"targets": [{"model": n, "fallback_status_codes": ["5xx"]} for n in ("a", "b")]},
            "A route has one fallback at most; fallback_status_codes are set for model a and model b.",
        ),
        (
            {"targets": [{"model": "a", "max_running_requests": 8}]},
            "max_running_requests of a model route target needs GPUStack 2.3.0 or newer; this server is 2.1.1",
        ),
        ({"users": ["carol"]}, "There is no user 'carol' to open route 'chat' to."),
    ],
)
def test_nonsense_is_refused(fleet: FakeGPUStack, options: dict[str, Any], message: str) -> None:
    call("model_route", fleet, name="chat")
    assert message in call("model_route", fleet, name="chat", **options)["msg"]
    assert fleet.writes() == []


def test_name_that_no_request_could_give_is_refused(fleet: FakeGPUStack) -> None:
    assert "a route that can be called starts with a letter" in call("model_route", fleet, name="1st")["msg"]
    assert fleet.writes() == []
