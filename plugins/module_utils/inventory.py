# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory sets, and which variables the roles and playbooks of a collection read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

PREFIX = "gpustack_"
# Whose options hosts of a group have to have; a worker talks to the server.
ROLES_OF_GROUPS = {"gpustack_servers": ("server",), "gpustack_workers": ("server", "worker")}

_NAME = re.compile(rf"\b{PREFIX}\w+")
# Large, and nobody's own words.
_OF_ANSIBLE = ("ansible_facts", "hostvars", "groups", "vars")
_PLACEHOLDER = "CHANGE-ME"
_ADDRESSES = ("ansible_host", "gpustack_worker_ip")
# RFC 5737: reserved for documentation, so never an address of a host.
_DOCUMENTATION = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))


@dataclass(frozen=True)
class Interface:
    """The variables of a collection: all that are mentioned, the roles' options, and by role the required ones."""

    mentioned: frozenset[str]
    options: frozenset[str]
    required: Mapping[str, frozenset[str]]


def interface_of(texts: Iterable[str], specifications: Mapping[str, Mapping[str, Any]]) -> Interface:
    """What roles and playbooks read: the texts of their YAML files, and by role its argument specifications.

    A mention anywhere in a file counts, so that no list has to be kept by hand.
    """
    options = {
        role: {
            name: option
            for entry in specification["argument_specs"].values()
            for name, option in (entry.get("options") or {}).items()
        }
        for role, specification in specifications.items()
    }
    return Interface(
        frozenset(name for text in texts for name in _NAME.findall(text)),
        frozenset(name for role in options.values() for name in role),
        {
            role: frozenset(name for name, option in known.items() if option.get("required"))
            for role, known in options.items()
        },
    )


def facts(
    groups: Mapping[str, list[str]], hosts: Mapping[str, Mapping[str, Any]], interface: Interface
) -> dict[str, Any]:
    """``gpustack_inventory``. ``hosts`` has every host's variables as they are written; ``groups`` are Ansible's."""
    variables: dict[str, list[str]] = {}
    placeholders: dict[str, list[str]] = {}
    encrypted: dict[str, list[str]] = {}
    mentioned = set(interface.mentioned)
    for host, values in hosts.items():
        for name, value in values.items():
            if name.startswith(PREFIX):
                variables.setdefault(name, []).append(host)
            if _is_placeholder(name, value):
                placeholders.setdefault(name, []).append(host)
            if name not in _OF_ANSIBLE:
                mentioned.update(found for text in _texts(value) for found in _NAME.findall(text))
                if not all(map(_can_be_read, _leaves(value))):
                    encrypted.setdefault(name, []).append(host)
    missing: dict[str, list[str]] = {}
    for group, roles in ROLES_OF_GROUPS.items():
        for host in groups.get(group, []):
            for name in {name for role in roles for name in interface.required.get(role, ())} - set(hosts[host]):
                missing.setdefault(name, []).append(host)
    return {
        "groups": {name: sorted(members) for name, members in groups.items()},
        "variables": variables,
        "read": sorted(mentioned),
        "options": sorted(interface.options),
        "missing": {name: sorted(set(found)) for name, found in missing.items()},
        "placeholders": placeholders,
        "encrypted": encrypted,
    }


def _is_placeholder(name: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    if name in _ADDRESSES:
        try:
            return any(ip_address(value) in network for network in _DOCUMENTATION)
        except ValueError:
            return False
    return value == _PLACEHOLDER


def _texts(value: Any) -> Iterator[str]:
    """The strings in a value; an encrypted one is none."""
    return (leaf for leaf in _leaves(value) if isinstance(leaf, str))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _can_be_read(value: Any) -> bool:
    """False for an encrypted value without its password, which is the only one whose text cannot be had."""
    try:
        str(value)
    except Exception:  # Ansible's own; this file knows nothing of Ansible
        return False
    return True
