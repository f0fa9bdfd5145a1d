# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets in what GPUStack is told, and how an object is shown without them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .planning.mask import MASK, is_secret_name, masked, secrets_in

_CHANGED = f"{MASK} (changed)"

# The fields of GPUStack's objects in which people put secrets.
MAPPINGS_WITH_SECRETS = ("env", "worker_config")
PARAMETERS_WITH_SECRETS = ("backend_parameters",)
COMMANDS_WITH_SECRETS = ("run_command", "entrypoint")
FIELDS_WITH_SECRETS = (*MAPPINGS_WITH_SECRETS, *PARAMETERS_WITH_SECRETS, *COMMANDS_WITH_SECRETS)
# Lists of objects with the same fields again: the roles of a model whose prefill and decode are engines of their own.
_PARTS_WITH_SECRETS = ("roles",)

# Replacing a shorter text wherever it occurs would blot out ordinary output ("1", "on").
_SHORTEST_REPLACED = 6

_USERINFO = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<userinfo>[^/@\s]*)@", re.IGNORECASE)


def mask_mapping(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The mapping with the values of secret names masked, and of URLs the user and password in them.

    An unset value stays visible as unset.
    """
    if values is None:
        return None
    return {name: _mask_value(name, value) for name, value in values.items()}


def _mask_value(name: str, value: Any) -> Any:
    if value and is_secret_name(name):
        return MASK
    return _mask_userinfo(value) if isinstance(value, str) else value


def _mask_userinfo(text: str) -> str:
    return _USERINFO.sub(rf"\g<scheme>{MASK}@", text)


def mask_command(command: str | None) -> str | None:
    """A command line with the values of secret flags masked, and of URLs the user and password in them."""
    return None if command is None else _mask_userinfo(masked(command))


def mask_parameters(parameters: Iterable[str] | None) -> list[str] | None:
    """Engine parameters (`--flag=value`, `--flag value`, or flag and value as two items) with secret values masked."""
    if parameters is None:
        return None
    shown: list[str] = []
    value_of_secret = False
    for item in parameters:
        flag, separator, _value = re.match(r"([^=\s]*)([=\s]?)(.*)", item, re.DOTALL).groups()  # type: ignore[union-attr]
        if value_of_secret and not item.startswith("-"):
            shown.append(MASK)
            value_of_secret = False
            continue
        secret = flag.startswith("-") and is_secret_name(flag)
        shown.append(f"{flag}{separator}{MASK}" if secret and separator else _mask_userinfo(item))
        value_of_secret = secret and not separator
    return shown


def mask_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an object with the secrets in them masked: in mappings, parameters and commands, of roles too."""
    shown = dict(fields)
    for name in MAPPINGS_WITH_SECRETS:
        if name in shown:
            shown[name] = mask_mapping(shown[name])
    for name in PARAMETERS_WITH_SECRETS:
        if name in shown:
            shown[name] = mask_parameters(shown[name])
    for name in COMMANDS_WITH_SECRETS:
        if name in shown:
            shown[name] = mask_command(shown[name])
    for name in _PARTS_WITH_SECRETS:
        if shown.get(name):
            shown[name] = [mask_fields(part) for part in shown[name]]
    return shown


def mask_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both sides of a change, masked, such that a secret that changed can still be seen to change."""
    shown_before, shown_after = mask_fields(before), mask_fields(after)
    for field in MAPPINGS_WITH_SECRETS:
        old, shown_old = before.get(field) or {}, shown_before.get(field) or {}
        for name, value in (after.get(field) or {}).items():
            if name in old and value != old[name] and shown_after[field][name] == shown_old[name]:
                shown_after[field][name] = f"{shown_after[field][name]} (changed)"
    for field in PARAMETERS_WITH_SECRETS:
        if shown_after.get(field) and shown_after[field] == shown_before.get(field):
            shown_after[field] = [*shown_after[field], _CHANGED]
    for field in COMMANDS_WITH_SECRETS:
        if shown_after.get(field) and shown_after[field] == shown_before.get(field):
            shown_after[field] = f"{shown_after[field]} (changed)"
    return shown_before, shown_after


def secrets_of(fields: Mapping[str, Any]) -> set[str]:
    """The secret values in the fields of an object, long enough to be looked for in other texts (logs, messages)."""
    found: set[str] = set()
    for field in MAPPINGS_WITH_SECRETS:
        values = fields.get(field) or {}
        found |= {str(value) for name, value in values.items() if value and is_secret_name(name)}
        found = found.union(*map(_userinfo_of, map(str, values.values())))
    for field in PARAMETERS_WITH_SECRETS:
        parameters = list(fields.get(field) or [])
        for item, shown in zip(parameters, mask_parameters(parameters) or []):
            if item != shown and shown.endswith(MASK):
                found.add(item[len(shown) - len(MASK) :])
            found |= _userinfo_of(item)
    for field in COMMANDS_WITH_SECRETS:
        command = fields.get(field) or ""
        found |= _userinfo_of(command) | set(secrets_in(command))
    for field in _PARTS_WITH_SECRETS:
        found = found.union(*map(secrets_of, fields.get(field) or []))
    return {value for value in found if len(value) >= _SHORTEST_REPLACED}


def _userinfo_of(text: str) -> set[str]:
    """User and password of the URLs in a text, and the password alone."""
    found = {match["userinfo"] for match in _USERINFO.finditer(text)}
    return found | {userinfo.partition(":")[2] for userinfo in found}


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets and without user and password in URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_REPLACED:
            text = text.replace(secret, MASK)
    return mask_url(text)


def mask_url(text: str) -> str:
    """The text with `user:password@` taken out of every URL."""
    return _USERINFO.sub(r"\g<scheme>", text)
