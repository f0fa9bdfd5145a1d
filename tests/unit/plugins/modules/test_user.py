# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

ALICE: dict[str, Any] = {"name": "alice", "full_name": "Alice Liddell", "user_password": "Looking_Glass1"}


def stored(fake: FakeGPUStack) -> dict[str, Any]:
    (user,) = fake.users.values()
    return user


def test_create_in_check_mode_writes_nothing(fake: FakeGPUStack) -> None:
    answer = call("user", fake, check=True, **ALICE)
    assert answer["changed"] is True
    assert answer["diff"]["after"] == {"username": "alice", "full_name": "Alice Liddell", "password": "********"}
    assert fake.writes() == []


def test_create_is_one_write(fake: FakeGPUStack) -> None:
    answer = call("user", fake, **ALICE)
    assert (answer["user"]["name"], fake.writes()) == ("alice", [("POST", "/v2/users")])
    assert fake.passwords["alice"] == "Looking_Glass1"
    assert "Looking_Glass1" not in str({**answer, "invocation": None})


def test_password_must_be_changed_though_the_server_forgets_that_of_a_new_user(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE, require_password_change=True)
    assert [method for method, _path in fake.writes()] == ["POST", "PUT"]
    assert stored(fake)["require_password_change"] is True
    stored(fake)["require_password_change"] = False  # Alice has chosen another one
    assert call("user", fake, **ALICE, require_password_change=True)["changed"] is False


def test_second_run_changes_nothing(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE)
    assert call("user", fake, **ALICE)["changed"] is False
    assert fake.counts() == {"GET": 3, "login": 1}


def test_update_in_check_mode_shows_the_difference(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE)
    answer = call("user", fake, check=True, name="alice", is_admin=True)
    assert answer["diff"] == {"before": {"is_admin": False}, "after": {"is_admin": True}}
    assert fake.writes() == []


def test_update_wipes_nothing(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE)
    assert call("user", fake, name="alice", is_active=False)["changed"] is True
    assert (stored(fake)["full_name"], stored(fake)["is_active"]) == ("Alice Liddell", False)
    assert fake.passwords["alice"] == "Looking_Glass1"


def test_password_is_written_again_only_when_asked_to_and_wrong(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE)
    changed = {**ALICE, "user_password": "Through_it2"}
    assert call("user", fake, **changed)["changed"] is False
    answer = call("user", fake, **changed, update_password="always")
    assert answer["diff"] == {"before": {"password": "********"}, "after": {"password": "******** (changed)"}}
    assert fake.passwords["alice"] == "Through_it2"
    assert call("user", fake, **changed, update_password="always")["changed"] is False


def test_password_of_somebody_who_may_not_log_in_is_left_alone(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE, is_active=False)
    changed = {**ALICE, "user_password": "Through_it2"}
    assert call("user", fake, **changed, update_password="always")["changed"] is False


def test_delete_in_check_mode_and_delete_and_again(fake: FakeGPUStack) -> None:
    call("user", fake, **ALICE)
    assert call("user", fake, check=True, name="alice", state="absent")["changed"] is True
    assert fake.writes() == []
    assert call("user", fake, name="alice", state="absent")["changed"] is True
    assert fake.users == {}
    assert call("user", fake, name="alice", state="absent")["changed"] is False


def test_new_user_without_a_password_is_refused(fake: FakeGPUStack) -> None:
    assert "There is no user 'alice' yet, and a new one needs a password." in call("user", fake, name="alice")["msg"]
    assert fake.writes() == []


@pytest.mark.parametrize("name", ["alic", "ALICE"])
def test_only_the_very_name_counts(fake: FakeGPUStack, name: str) -> None:
    call("user", fake, **ALICE)
    assert call("user", fake, check=True, **{**ALICE, "name": name})["changed"] is True
