# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_users_by_name(fake: FakeGPUStack) -> None:
    fake.add_user("bob")
    fake.add_user("alice", full_name="Alice Liddell")
    users = call("user_info", fake)["users"]
    assert [user["name"] for user in users] == ["alice", "bob"]
    assert (users[0]["full_name"], users[0]["is_admin"], users[0]["source"]) == ("Alice Liddell", False, "Local")


def test_one_user_or_none(fake: FakeGPUStack) -> None:
    fake.add_user("bob")
    assert [user["name"] for user in call("user_info", fake, name="bob")["users"]] == ["bob"]
    assert call("user_info", fake, name="bo")["users"] == []
