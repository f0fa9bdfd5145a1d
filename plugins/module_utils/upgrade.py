# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which way from one GPUStack release to another is safe, and whether all is still there afterwards. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .releases import FORWARDING_CHANGED_IN, SUPPORTED_BELOW, SUPPORTED_FROM, Version, version_text
from .wording import counted

# Releases that must not be upgraded to, each with why and what to take instead.
BROKEN_TARGETS: dict[Version, tuple[str, str]] = {
    (2, 2, 0): (
        "where an API key that is limited in scope does not see model instances (gpustack#5686)",
        "Take 2.2.1 or later.",
    ),
}
# What identifies an object: it stays the same whatever is declared.
IDENTITY = ("id",)


class Obstacle(NamedTuple):
    """Why a way from one release to another is refused."""

    found: str
    wanted: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found[0].upper()}{self.found[1:]}; wanted is {self.wanted}. {self.remedy}"


def parse(text: Any) -> Version | None:
    """`v2.1.1` or `2.1.1` as numbers; None for anything else, such as a build without a release."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", str(text or ""))
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def obstacles(origin: Any, declared: Any, subject: str = "the server runs") -> list[Obstacle]:
    """What speaks against bringing data of the release `origin` into the `declared` one. The same release is no way.

    `subject`: how a sentence about the origin begins.
    """
    now, wanted = parse(origin), parse(declared)
    unknown = [text for text, version in ((origin, now), (declared, wanted)) if version is None]
    if now is None or wanted is None:
        return [
            Obstacle(
                f"{subject} {origin}, {declared} is declared, and {unknown[0]!r} is no release of GPUStack",
                "a release with a version number, since only of those it is known which way is safe",
                "Set gpustack_server_version to one like 2.1.1.",
            )
        ]
    if wanted == now:
        return []
    way = f"{subject} {version_text(now)}, and {version_text(wanted)} is declared"
    found = []
    if wanted < now:
        found.append(
            Obstacle(
                way,
                "the same release or a later one: GPUStack's database does not go back",
                f"Set gpustack_server_version to {version_text(now)}, or restore a backup that was made before the "
                "upgrade (playbooks/restore.yml).",
            )
        )
    if now < SUPPORTED_FROM:
        found.append(
            Obstacle(
                way,
                f"an origin of {version_text(SUPPORTED_FROM)} or later: upgrades in place from before have lost "
                "clusters and workers (gpustack#5012, #3611)",
                "Install anew, and declare the models.",
            )
        )
    if wanted >= SUPPORTED_BELOW:
        found.append(
            Obstacle(
                way,
                f"a release below {version_text(SUPPORTED_BELOW)}, which nobody has tried with this collection",
                "Declare an earlier release, or take a newer collection.",
            )
        )
    if wanted in BROKEN_TARGETS:
        why, instead = BROKEN_TARGETS[wanted]
        found.append(Obstacle(way, f"another release than {version_text(wanted)}, {why}", instead))
    return found


def other_releases(server: Any, workers: Mapping[str, Any]) -> dict[str, Any]:
    """The workers, by host, that are declared in another release than the server."""
    return {host: release for host, release in sorted(workers.items()) if parse(release) != parse(server)}


def forwards_to(server: Any, worker: Any) -> bool:
    """Whether a server of one release can hand requests to a worker of another; True for what is no release."""
    ours, theirs = parse(server), parse(worker)
    if ours is None or theirs is None:
        return True
    return not any((ours < changed) != (theirs < changed) for changed in FORWARDING_CHANGED_IN)


def release_problems(origin: Any, declared: Any, subject: str = "the server runs") -> list[str]:
    """`obstacles`, one text each."""
    return [str(obstacle) for obstacle in obstacles(origin, declared, subject)]


def snapshot_differences(
    before: Mapping[str, Any], after: Mapping[str, Any], only: Iterable[str] | None = None
) -> list[str]:
    """What of `before` is not there or another `after`, one sentence each. What is new is no difference.

    Both are `{kind: {name: {field: value}}}`. `only` names the fields that count, all by default. A field that the
    newer release does not tell is not compared.
    """
    counting = None if only is None else set(only)
    found = []
    for kind, objects in before.items():
        for name, fields in objects.items():
            other = after.get(kind, {}).get(name)
            if other is None:
                found.append(f"{kind} {name} is gone")
                continue
            found += [
                f"{kind} {name}: {field} was {value!r} and is {other[field]!r}"
                for field, value in fields.items()
                if field in other and other[field] != value and (counting is None or field in counting)
            ]
    return found


def snapshot(kinds: Mapping[str, Sequence[Mapping[str, Any]]], fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """`{kind: {name: {field: value}}}` of what the server lists; a field that it does not have is left out.

    `fields` by kind; the first one holds the name.
    """
    return {
        kind: {str(row[name_field]): {name: row[name] for name in compared if name in row} for row in kinds[kind]}
        for kind, (name_field, *compared) in fields.items()
    }


def snapshot_summary(taken: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """How many of each kind a snapshot holds: `2 workers`."""
    return [counted(len(objects), kind) for kind, objects in taken.items()]
