# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wanted against current: one comparison that yields both `changed` and the diff, and the one place that writes.

`compare` is pure. `Writer` is where check mode lives: without it nothing in the collection sends a write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, Union

from .errors import NotApplied


class Equality(Enum):
    """How the values of one field are compared. A number equals its text, and all kinds of empty are equal."""

    EXACT = "exact"  # lists in order, mappings with the same keys
    UNORDERED = "unordered"  # lists whatever their order


@dataclass(frozen=True)
class Entries:
    """A list of mappings in order, of each only the wanted keys, compared by the rules for them."""

    rules: Rules = field(default_factory=dict)


# A field without a rule is EXACT. A mapping as rule means: the field is a mapping of which only the wanted keys count,
# compared by the rules inside; the rest stays as it is on the server.
Rule = Union[Equality, Entries, "Rules"]
Rules = Mapping[str, Rule]
SUBSET: Rules = {}


@dataclass(frozen=True)
class Change:
    """What differs, field by field. `before` and `after` hold the differing fields only; `payload` is what to send."""

    before: dict[str, Any]
    after: dict[str, Any]
    payload: dict[str, Any]

    @property
    def changed(self) -> bool:
        return bool(self.payload)


@dataclass(frozen=True)
class Kind:
    """A kind of object in GPUStack's API.

    `sent`: the fields an update takes, None for all but the server's own; `written_only`: those that are never told.
    """

    label: str
    path: str
    rules: Rules = field(default_factory=dict)
    server_owned: frozenset[str] = frozenset({"id", "created_at", "updated_at", "deleted_at"})
    sent: tuple[str, ...] | None = None
    written_only: frozenset[str] = frozenset()

    def sendable(self, current: Mapping[str, Any]) -> dict[str, Any]:
        """What an update sends of the present object."""
        names = current.keys() - self.server_owned if self.sent is None else self.sent
        return {name: current.get(name) for name in names}


class Client(Protocol):
    """What a Writer needs of a client."""

    def get(self, path: str) -> Any:
        """The object at this path."""

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The object that was made."""

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """The object as it is afterwards."""

    def delete(self, path: str, **query: Any) -> None:
        """The object goes."""


def compare(wanted: Mapping[str, Any], current: Mapping[str, Any] | None, rules: Rules) -> Change:
    """Compare the fields of `wanted` with those of `current` (None: the object does not exist, everything differs)."""
    if current is None:
        given = {name: value for name, value in wanted.items() if value is not None}
        return Change({}, given, dict(given))
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for name, value in wanted.items():
        rule = rules.get(name, Equality.EXACT)
        present = current.get(name)
        result = _merged(value, present, rule)
        if not _equal(result, present, rule):
            before[name] = present
            after[name] = result
    return Change(before, after, dict(after))


class Writer:
    """Sends writes, or in check mode only says what they would lead to."""

    def __init__(self, client: Client, check_mode: bool) -> None:
        self._client = client
        self.check_mode = check_mode

    def save(
        self,
        kind: Kind,
        current: Mapping[str, Any] | None,
        payload: Mapping[str, Any],
        on_create: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Create or update an object, read it back, and return it as the server has it.

        An update sends the whole object, since GPUStack's PUTs validate it as a whole and some wipe what is missing.
        Raises NotApplied when the server kept something else; it drops fields it does not know without a word.
        """
        if self.check_mode:
            return {**(current or {}), **payload}
        stored_id = self.send(kind, current, payload, on_create)
        stored: dict[str, Any] = self._client.get(f"{kind.path}/{stored_id}")
        check_kept(kind, payload, stored)
        return stored

    def send(
        self,
        kind: Kind,
        current: Mapping[str, Any] | None,
        payload: Mapping[str, Any],
        on_create: Mapping[str, Any] | None = None,
    ) -> int:
        """Create or update an object and return its number, without reading it back.

        For whoever writes many, reads all of them back in one listing, and holds each against what was sent
        (`check_kept`). In check mode nothing is sent, and the number of a new object is 0.
        """
        number = 0 if current is None else int(current["id"])
        if self.check_mode:
            return number
        if current is None:
            return int(self._client.post(kind.path, {**payload, **(on_create or {})})["id"])
        self._client.put(f"{kind.path}/{number}", {**kind.sendable(current), **payload})
        return number

    def create_and_tell(self, kind: Kind, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object of which the server tells something only now, and return that answer."""
        if self.check_mode:
            return dict(payload)
        answer: dict[str, Any] = self._client.post(kind.path, payload)
        return answer

    def delete(self, kind: Kind, current: Mapping[str, Any], **query: Any) -> None:
        if not self.check_mode:
            self._client.delete(f"{kind.path}/{current['id']}", **query)

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """An action that is neither creating nor updating, such as making a cluster the default."""
        if not self.check_mode:
            self._client.post(path, body)

    def put(self, path: str, body: Mapping[str, Any]) -> None:
        """An update that can't be read back from the same place, such as a route's targets; the caller does that."""
        if not self.check_mode:
            self._client.put(path, body)


def check_kept(kind: Kind, payload: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Raise NotApplied when the server accepted a write and kept something else."""
    told = {name: value for name, value in payload.items() if name not in kind.written_only}
    lost = sorted(_differing(told, stored, kind.rules))
    if lost:
        raise NotApplied(
            f"GPUStack accepted the {kind.label} but did not keep: {', '.join(lost)}. Wanted is what was sent; this "
            "server does not know the field, changes its value, or somebody else wrote meanwhile. Compare the names "
            "with the API description of this release under /docs, and run again."
        )


def _differing(wanted: Mapping[str, Any], stored: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """The names of the wanted fields that differ, in mappings those inside: `options.size`."""
    for name, value in wanted.items():
        rule, found = rules.get(name, Equality.EXACT), stored.get(name)
        if _equal(_merged(value, found, rule), found, rule):
            continue
        if isinstance(value, Mapping) and isinstance(found, Mapping):
            inner = _inside(rule)
            yield from (f"{name}.{part}" for part in _differing(value, found, inner))
            yield from (f"{name}.{part}" for part in found.keys() - value.keys() if not isinstance(rule, Mapping))
        else:
            yield name


def _inside(rule: Rule) -> Rules:
    return rule if isinstance(rule, Mapping) else SUBSET


def _merged(wanted: Any, current: Any, rule: Rule) -> Any:
    if not isinstance(rule, Mapping) or not isinstance(wanted, Mapping):
        return wanted
    merged = dict(current or {})
    for name, value in wanted.items():
        inner = rule.get(name, Equality.EXACT)
        merged[name] = _merged(value, merged.get(name), inner)
    return merged


def _equal(left: Any, right: Any, rule: Rule) -> bool:
    if _empty(left) or _empty(right):
        return _empty(left) and _empty(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        inner = _inside(rule)
        return all(_equal(left.get(name), right.get(name), inner.get(name, Equality.EXACT)) for name in {*left, *right})
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if isinstance(rule, Entries):
            return len(left) == len(right) and all(
                _equal(_merged(a, b, rule.rules), b, rule.rules) for a, b in zip(left, right)
            )
        if rule is Equality.UNORDERED:
            left, right = sorted(left, key=str), sorted(right, key=str)
        return len(left) == len(right) and all(_equal(a, b, Equality.EXACT) for a, b in zip(left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) != isinstance(right, str):
        return str(left) == str(right)
    return bool(left == right)


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {}, ())
