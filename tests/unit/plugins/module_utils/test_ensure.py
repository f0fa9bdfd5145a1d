# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import (
    SUBSET,
    Entries,
    Equality,
    Kind,
    Rule,
    Writer,
    compare,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import NotApplied

THINGS = Kind(label="thing", path="/things", rules={"options": SUBSET})


class Store:
    """A client that keeps things, and drops the fields it does not know."""

    def __init__(self, *known: str) -> None:
        self.known = {"id", *known}
        self.things: dict[int, dict[str, Any]] = {}
        self.sent: list[tuple[str, str, Any]] = []

    def get(self, path: str) -> Any:
        return self.things[int(path.rsplit("/", 1)[1])]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.sent.append(("POST", path, dict(body)))
        self.things[1] = {name: value for name, value in {"id": 1, **body}.items() if name in self.known}
        return self.things[1]

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        self.sent.append(("PUT", path, dict(body)))
        self.things[1].update({name: value for name, value in body.items() if name in self.known})

    def delete(self, path: str) -> None:
        self.sent.append(("DELETE", path, None))
        self.things.clear()


@pytest.mark.parametrize(
    ("wanted", "current", "rule"),
    [
        ("a", "a", Equality.EXACT),
        (8, "8", Equality.EXACT),
        ("0.5", 0.5, Equality.EXACT),
        ("", None, Equality.EXACT),
        ([], None, Equality.EXACT),
        (None, {}, Equality.EXACT),
        (["a", "b"], ["a", "b"], Equality.EXACT),
        (["b", "a"], ["a", "b"], Equality.UNORDERED),
        ({"a": 1}, {"a": "1", "b": None}, Equality.EXACT),
        ({"a": 1}, {"a": 1, "b": 2}, SUBSET),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {"a": SUBSET}),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, {"a": Equality.UNORDERED}),
        ([{"a": 1}, {"a": 2}], [{"a": 1, "b": 5}, {"a": 2}], Entries()),
        ([{"a": {"b": 1}}], [{"a": {"b": 1, "c": 2}}], Entries({"a": SUBSET})),
        ([{"a": ["x", "y"]}], [{"a": ["y", "x"]}], Entries({"a": Equality.UNORDERED})),
        ({}, None, SUBSET),
        (True, True, Equality.EXACT),
    ],
)
def test_equal(wanted: Any, current: Any, rule: Rule) -> None:
    change = compare({"field": wanted}, {"field": current}, {"field": rule})
    assert (change.changed, change.before, change.after, change.payload) == (False, {}, {}, {})


@pytest.mark.parametrize(
    ("wanted", "current", "rule", "result"),
    [
        ("a", "b", Equality.EXACT, "a"),
        ("", "b", Equality.EXACT, ""),
        (["b", "a"], ["a", "b"], Equality.EXACT, ["b", "a"]),
        (["a", "a"], ["a", "b"], Equality.UNORDERED, ["a", "a"]),
        (["a"], ["a", "b"], Equality.UNORDERED, ["a"]),
        ({"a": 1}, {"a": 1, "b": 2}, Equality.EXACT, {"a": 1}),
        ({"a": 2}, {"a": 1, "b": 2}, SUBSET, {"a": 2, "b": 2}),
        ({"a": {"b": 3}}, {"a": {"b": 1, "c": 2}}, {"a": SUBSET}, {"a": {"b": 3, "c": 2}}),
        ([{"a": 1}], [{"a": 1}, {"a": 2}], Entries(), [{"a": 1}]),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], Entries(), [{"a": 1}, {"a": 2}]),
        ([{"a": {"b": 1}}], [{"a": {"b": 1, "c": 2}}], Entries(), [{"a": {"b": 1}}]),
        (None, {"a": 1}, SUBSET, None),
        (False, None, Equality.EXACT, False),
        (True, 1, Equality.EXACT, True),
        (0, None, Equality.EXACT, 0),
    ],
)
def test_different(wanted: Any, current: Any, rule: Rule, result: Any) -> None:
    change = compare({"field": wanted, "same": 1}, {"field": current, "same": 1, "other": 2}, {"field": rule})
    assert change.changed is True
    assert (change.before, change.after, change.payload) == ({"field": current}, {"field": result}, {"field": result})


def test_object_that_does_not_exist_differs_in_everything_that_is_set() -> None:
    change = compare({"name": "x", "note": None}, None, {})
    assert (change.before, change.after, change.payload) == ({}, {"name": "x"}, {"name": "x"})


def test_create_sends_what_is_only_for_creation_and_reads_back() -> None:
    store = Store("name")
    stored = Writer(store, check_mode=False).save(THINGS, None, {"name": "x"}, on_create={"with_route": True})
    assert store.sent == [("POST", "/things", {"name": "x", "with_route": True})]
    assert stored == {"id": 1, "name": "x"}


def test_update_sends_the_whole_object_without_what_the_server_owns() -> None:
    store = Store("name", "size", "created_at")
    store.things[1] = {"id": 1, "name": "x", "size": 1, "created_at": "then"}
    Writer(store, check_mode=False).save(THINGS, store.things[1], {"size": 2})
    assert store.sent == [("PUT", "/things/1", {"name": "x", "size": 2})]


def test_update_of_a_kind_with_few_writable_fields_sends_all_of_those() -> None:
    store = Store("name", "labels", "state")
    store.things[1] = {"id": 1, "name": "x", "labels": {"a": "1"}, "state": "ready"}
    kind = Kind(label="thing", path="/things", sent=("name", "labels", "maintenance"))
    Writer(store, check_mode=False).save(kind, store.things[1], {"labels": {}})
    assert store.sent == [("PUT", "/things/1", {"name": "x", "labels": {}, "maintenance": None})]


def test_field_that_was_not_kept_is_named() -> None:
    with pytest.raises(NotApplied, match=r"accepted the thing but did not keep: color, size\."):
        Writer(Store("name"), check_mode=False).save(THINGS, None, {"name": "x", "size": 1, "color": "red"})


def test_option_that_was_not_kept_is_named() -> None:
    store = Store("options")
    store.put = lambda path, body: None  # type: ignore[method-assign]
    store.things[1] = {"id": 1, "options": {"a": 1, "same": 1}}
    with pytest.raises(NotApplied, match=r"did not keep: options\.a, options\.b\. "):
        Writer(store, check_mode=False).save(THINGS, store.things[1], {"options": {"a": 2, "b": 3, "same": 1}})


def test_what_the_server_adds_to_an_option_is_no_loss() -> None:
    store = Store("options")
    store.things[1] = {"id": 1, "options": {"a": 1, "filled_in": 2}}
    Writer(store, check_mode=False).save(THINGS, store.things[1], {"options": {"a": 1}})


def test_check_mode_sends_nothing_and_says_what_would_be() -> None:
    store = Store("name")
    writer = Writer(store, check_mode=True)
    assert writer.save(THINGS, None, {"name": "x"}) == {"name": "x"}
    assert writer.save(THINGS, {"id": 1, "name": "x"}, {"name": "y"}) == {"id": 1, "name": "y"}
    writer.delete(THINGS, {"id": 1})
    writer.post("/things/1/act", {})
    assert store.sent == []
