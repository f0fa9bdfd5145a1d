# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.memory import begun, ended, memory_of, resumed

TARGET = {"route": "qwen", "model": "qwen-r2", "weight": 100}
PERSON = {"enabled": True, "message": "New power supply"}


def test_turn_switches_maintenance_on_and_off_again() -> None:
    during = begun(None, ["a"], [TARGET])
    assert during["enabled"] is True
    assert during["message"].startswith("Rolling update [gpuops turn {")
    assert resumed(during) == {"enabled": False, "message": during["message"]}
    assert ended(resumed(during)) == {"enabled": False, "message": None}


def test_maintenance_that_a_person_set_stays_with_its_message() -> None:
    during = begun(PERSON, [], [TARGET])
    assert during["message"].startswith("New power supply [gpuops turn {")
    assert resumed(during)["enabled"] is True
    assert ended(during) == PERSON


def test_memory_comes_back_as_it_was_noted() -> None:
    memory = memory_of(begun(None, ["b", "a"], [TARGET]))
    assert memory is not None
    assert (memory.ours, memory.models, memory.targets) == (True, ("a", "b"), (TARGET,))


def test_turn_that_begins_again_keeps_what_the_first_remembered() -> None:
    other = {**TARGET, "model": "qwen-r3"}
    again = memory_of(begun(begun(None, ["a"], [TARGET]), ["c"], [other, TARGET]))
    assert again is not None
    assert (again.ours, again.models, again.targets) == (True, ("a", "c"), (TARGET, other))


def test_message_without_a_readable_note_holds_no_memory() -> None:
    assert memory_of(None) is None
    assert memory_of(PERSON) is None
    assert memory_of({"enabled": True, "message": "Rolling update [gpuops turn {}]"}) is None
    assert memory_of({"enabled": True, "message": "Rolling update [gpuops turn {x}]"}) is None
