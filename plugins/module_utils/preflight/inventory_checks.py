# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the inventory alone, before any host is asked anything, from the facts of ``inventory_facts``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from ..wording import joined
from .fleet import Finding, Fleet

SERVERS = "gpustack_servers"
WORKERS = "gpustack_workers"
# Two names that are this similar are one name and a slip of the finger.
SIMILAR = 0.85


def inventory_empty(fleet: Fleet) -> Iterator[Finding]:
    """Without an inventory Ansible runs nothing and calls that a success."""
    if fleet.inventory is not None and not _hosts(fleet):
        yield Finding(
            [],
            "no host but the controller itself",
            "an inventory with the fleet's hosts",
            "Name it: ansible-playbook … -i inventories/mine (a copy of inventories/example).",
        )


def workers_missing(fleet: Fleet) -> Iterator[Finding]:
    """Plays for a group that is not there are skipped, so the fleet would come up without a worker."""
    groups = _of(fleet, "groups")
    if not _hosts(fleet) or groups.get(WORKERS):
        return
    near = _nearest(
        WORKERS, [name for name in groups if groups[name] and name not in ("all", "ungrouped", SERVERS)], 0.6
    )
    found = f"the group {WORKERS} has no hosts" if WORKERS in groups else f"no group {WORKERS}"
    yield Finding(
        [],
        f"{found}; there are {', '.join(sorted(set(groups) - {'all', 'ungrouped'})) or 'no groups'}",
        f"the hosts with GPUs in the group {WORKERS}",
        f"Rename the group {near} to {WORKERS}." if near else f"Put the hosts with GPUs into the group {WORKERS}.",
    )


def value_encrypted(fleet: Fleet) -> Iterator[Finding]:
    """It would end the run in the middle, where it is first needed."""
    for name, hosts in sorted(_of(fleet, "encrypted").items()):
        yield Finding(
            _where(fleet, hosts),
            f"{name} is encrypted, and no password that was given decrypts it",
            "its password",
            "Add --ask-vault-pass, or --vault-password-file FILE.",
        )


def placeholder_left(fleet: Fleet) -> Iterator[Finding]:
    """The example's addresses and password are nobody's."""
    placeholders = _of(fleet, "placeholders")
    names = sorted(placeholders)
    if names:
        yield Finding(
            _where(fleet, sorted({host for hosts in placeholders.values() for host in hosts})),
            f"{joined(names)} still {'has' if len(names) == 1 else 'have'} the values of inventories/example",
            "the values of your fleet",
            "Fill them in, in a copy (cp -r inventories/example inventories/mine), and run with -i inventories/mine.",
        )


def required_variable_missing(fleet: Fleet) -> Iterator[Finding]:
    """The role that needs it would say so too, after others have changed hosts."""
    for name, hosts in sorted(_of(fleet, "missing").items()):
        yield Finding(
            _where(fleet, hosts),
            f"{name} is not set",
            "a value, which no default can know",
            f"Set {name} in group_vars or host_vars; inventories/example shows where.",
        )


def variable_misspelt(fleet: Fleet) -> Iterator[Finding]:
    """A variable that nobody reads changes nothing, and nothing says so."""
    for name, hosts, near in _unread(fleet):
        if near:
            yield Finding(
                _where(fleet, hosts),
                f"nobody reads {name}",
                f"did you mean {near}?",
                f"Rename it to {near}, or give a variable of your own a name that does not begin with gpustack_.",
            )


def variable_unread(fleet: Fleet) -> Iterator[Finding]:
    """It is nothing of this release: of another one, or the site's own."""
    for name, hosts, near in _unread(fleet):
        if not near:
            yield Finding(
                _where(fleet, hosts),
                f"nobody reads {name}",
                "variables that a role or playbook of this collection reads",
                "Remove it, or give a variable of your own a name that does not begin with gpustack_.",
            )


def _unread(fleet: Fleet) -> Iterator[tuple[str, list[str], str | None]]:
    """The variable, the hosts that have it and the option whose name is nearly the same."""
    read, options = set(_of(fleet, "read")), list(_of(fleet, "options"))
    for name, hosts in sorted(_of(fleet, "variables").items()):
        if name not in read:
            yield name, hosts, _nearest(name, options, SIMILAR)


def _nearest(name: str, candidates: list[str], similarity: float) -> str | None:
    return next(iter(difflib.get_close_matches(name, candidates, 1, similarity)), None)


def _of(fleet: Fleet, key: str) -> Any:
    return (fleet.inventory or {}).get(key) or {}


def _hosts(fleet: Fleet) -> set[str]:
    groups: Mapping[str, list[str]] = _of(fleet, "groups")
    return {host for hosts in groups.values() for host in hosts} - {"localhost"}


def _where(fleet: Fleet, hosts: list[str]) -> list[str]:
    """The hosts, or none where it is the same for all."""
    return [] if _hosts(fleet) <= set(hosts) else hosts
