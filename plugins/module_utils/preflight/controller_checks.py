# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the controller itself, from the facts of ``inventory_facts``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .fleet import Finding, Fleet

CORE = "ansible-core"
WHERE = "Install it where ansible-playbook runs"


def ansible_core_unsupported(fleet: Fleet) -> Iterator[Finding]:
    """Ansible itself only warns, and fails somewhere in the middle."""
    for requirement in _unsatisfied(fleet):
        if requirement["name"] == CORE:
            yield Finding(
                [],
                f"{CORE} {requirement['found']} runs this",
                f"{CORE} {requirement['wanted']}",
                f"{WHERE}, with Python 3.11 or newer: pip install '{CORE}{requirement['wanted']}'",
            )


def collection_missing(fleet: Fleet) -> Iterator[Finding]:
    """A module that is not there would end the run after others have changed hosts."""
    for requirement in _unsatisfied(fleet):
        if requirement["name"] != CORE:
            name, wanted, found = requirement["name"], requirement["wanted"], requirement["found"]
            yield Finding(
                [],
                f"the collection {name} {found} is too old" if found else f"the collection {name} is not installed",
                f"{name} {wanted}",
                f"{WHERE}: ansible-galaxy collection install --upgrade '{name}:{wanted}'",
            )


def _unsatisfied(fleet: Fleet) -> Iterator[Mapping[str, Any]]:
    requirements = (fleet.inventory or {}).get("controller") or []
    return (requirement for requirement in requirements if not requirement["satisfied"])
