# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which way from one GPUStack release to another is safe, and whether all is still there afterwards. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .releases import SUPPORTED_BELOW, SUPPORTED_FROM, Version, version_text

# Releases that must not be upgraded to, each with why and what to take instead.
BROKEN_TARGETS: dict[Version, str] = {
    (
        2,
        2,
        0,
    ): "an API key that is limited in scope does not see model instances there (gpustack#5686); take 2.2.1 or later",
}


def parse(text: Any) -> Version | None:
    """`v2.1.1` or `2.1.1` as numbers; None for anything else, such as a build without a release."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", str(text or ""))
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def upgrade_problems(running: Any, server: Any, workers: Mapping[str, Any]) -> list[str]:
    """Why the way from the `running` release to the declared one of the `server` is refused, one sentence each.

    `workers`: the declared release of each, by host.
    """
    now, wanted = parse(running), parse(server)
    if now is None or wanted is None:
        unknown = running if now is None else server
        return [
            f"{unknown!r} is no release of GPUStack, so nobody knows whether the way is safe. Declare one like 2.1.1."
        ]
    problems = []
    if wanted < now:
        problems.append(
            f"The server runs {version_text(now)} and {version_text(wanted)} is declared. GPUStack's database cannot "
            "go back: restore the backup that was made before the upgrade (playbooks/restore.yml)."
        )
    if now < SUPPORTED_FROM:
        problems.append(
            f"The server runs {version_text(now)}. From before {version_text(SUPPORTED_FROM)} an upgrade in place has "
            "lost clusters and workers (gpustack#5012, #3611). Install anew, and declare the models here."
        )
    if wanted >= SUPPORTED_BELOW:
        problems.append(
            f"{version_text(wanted)} is declared, and nobody has tried {version_text(SUPPORTED_BELOW)} and later with "
            "this collection. Take an earlier release, or a newer collection."
        )
    if wanted in BROKEN_TARGETS and wanted != now:
        problems.append(f"{version_text(wanted)} is declared: {BROKEN_TARGETS[wanted]}.")
    other = {host: release for host, release in workers.items() if parse(release) != wanted}
    if other:
        told = ", ".join(f"{host} {release}" for host, release in sorted(other.items()))
        problems.append(
            f"The server is to run {version_text(wanted)}, and some workers something else: {told}. Server and workers "
            "belong to one release; set gpustack_worker_version to gpustack_server_version."
        )
    return problems


def snapshot_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What of `before` is not there or another `after`, one sentence each. What is new is no difference.

    Both are `{kind: {name: {field: value}}}`. A field that the newer release does not tell is not compared.
    """
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
                if field in other and other[field] != value
            ]
    return found


def snapshot(kinds: Mapping[str, Sequence[Mapping[str, Any]]], fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """`{kind: {name: {field: value}}}` of what the server lists; a field that it does not have is left out."""
    return {
        kind: {str(row["name"]): {name: row[name] for name in fields[kind] if name in row} for row in rows}
        for kind, rows in kinds.items()
    }
