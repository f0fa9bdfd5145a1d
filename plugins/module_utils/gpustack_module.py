# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base of the collection's API modules: connection options, one way in, one way out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from .client import Client, Connection
from .ensure import Writer
from .errors import GPUStackError, Invalid
from .masking import FIELDS_WITH_SECRETS, mask_fields, secrets_of

CONNECTION_OPTIONS: dict[str, dict[str, Any]] = {
    "server_url": {"type": "str"},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "api_key": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "timeout": {"type": "int", "default": 30},
}

# Options that are `no_log` as a whole, since an object of GPUStack is in them.
_WHOLE_OBJECTS = ("declaration", "configuration")
_CREDENTIALS = ("username", "password", "api_key")
_VARIABLES = {name: f"GPUSTACK_{name.upper()}" for name in ("server_url", *_CREDENTIALS)}


class GPUStackModule(AnsibleModule):  # type: ignore[misc]
    """An AnsibleModule with the connection options that every module of the collection has."""

    def __init__(self, argument_spec: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(argument_spec={**CONNECTION_OPTIONS, **argument_spec}, supports_check_mode=True, **kwargs)
        self._show_what_is_no_secret()

    def run(self, task: Callable[[Client, Writer], dict[str, Any]], *, ask_who: bool = True) -> None:
        """Connect, run the task and exit with what it returns; any error of the server ends in one message.

        A task whose first request tells wrong credentials as well saves one with `ask_who=False`.
        """
        try:
            connection = connection_from(self.params, os.environ)
            self.no_log_values.update(value for value in (connection.password, connection.api_key) if value)
            client = Client(connection)
            client.connect(ask_who=ask_who)
            for warning in client.warnings:
                self.warn(warning)
            result = task(client, Writer(client, self.check_mode))
        except GPUStackError as error:
            result = {"failed": True, "msg": str(error), "error": type(error).__name__, "status": error.status}
        if not self._diff:
            result.pop("diff", None)
        # Ansible adds the options to the result.
        for options in self._options_with_secrets():
            options.update(mask_fields(options))
        for name in _WHOLE_OBJECTS:
            if self.params.get(name):
                self.params[name] = mask_fields(self.params[name])
        if result.get("failed"):
            self.fail_json(**result)
        self.exit_json(**result)

    def hide(self, secrets: Iterable[str]) -> None:
        """Blot these texts out of everything the module says."""
        self.no_log_values.update(secrets)

    def _show_what_is_no_secret(self) -> None:
        """Of the options that may hold secrets only those stay hidden.

        They are `no_log`, which keeps them out of the host's system log, but would blot out every "1" of the output.
        """
        credentials = {self.params[name] for name in _CREDENTIALS}
        secrets: set[str] = set()
        for options in self._options_with_secrets():
            fields = {name: options[name] for name in FIELDS_WITH_SECRETS if options.get(name)}
            self.no_log_values.difference_update(set(_texts(fields)) - credentials)
            secrets |= secrets_of(fields)
        for name in _WHOLE_OBJECTS:
            given = self.params.get(name) or {}
            self.no_log_values.difference_update(set(_texts(given)) - credentials)
            secrets |= secrets_of(given)
        self.hide(secrets)

    def _options_with_secrets(self) -> list[dict[str, Any]]:
        """The module's options, those of each model where it takes several, and those of each role of a model."""
        objects = [self.params, *(self.params.get("models") or [])]
        return [part for each in objects for part in (each, *(each.get("roles") or []))]


def _texts(value: Any) -> Iterator[str]:
    """Every scalar in a structure, as the text by which Ansible would hide it."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        yield str(value)
        return
    for part in value:
        yield from _texts(part)


def connection_from(params: Mapping[str, Any], environment: Mapping[str, str]) -> Connection:
    """The connection of a task; the environment stands in for a missing address, and for credentials if none is given.

    Raises Invalid when there is no address, or two kinds of credentials.
    """
    given = {name: params.get(name) for name in _VARIABLES}
    names = ["server_url"] if not given["server_url"] else []
    if not any(given[name] for name in _CREDENTIALS):
        names += _CREDENTIALS
    for name in names:
        given[name] = environment.get(_VARIABLES[name])
    if not given["server_url"]:
        raise Invalid("No server: set server_url, for example https://gpustack.example.com, or GPUSTACK_SERVER_URL.")
    if given["api_key"] and (given["username"] or given["password"]):
        raise Invalid("Both api_key and username or password are given; GPUStack takes one of them. Drop the other.")
    return Connection(
        server_url=given["server_url"],
        username=given["username"],
        password=given["password"],
        api_key=given["api_key"],
        validate_certs=params["validate_certs"],
        ca_path=params["ca_path"],
        timeout_seconds=params["timeout"],
    )
