#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: user
short_description: Create, change or remove a user of GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Makes a user of a GPUStack server as declared. Which models a user may call is a matter of
    M(gpuops.gpustack.model_route).
  - Only options that are set are compared and changed. What is written is read back.
options:
  name:
    description:
      - Name to log in with.
    type: str
    required: true
  state:
    description:
      - Whether the user shall be there. GPUStack refuses to remove its only administrator.
    type: str
    choices: [present, absent]
    default: present
  full_name:
    description:
      - Name to show.
    type: str
  is_admin:
    description:
      - Whether the user administers the server. A new user does not.
    type: bool
  is_active:
    description:
      - Whether the user may log in.
    type: bool
  user_password:
    description:
      - Password of the user. A new user needs one.
      - GPUStack wants a capital and a small letter, a digit and one of the characters !@#$%^&*_+. in it.
    type: str
  update_password:
    description:
      - When the password is written, only to a new user, or whenever a log-in with it fails. A user who is not active
        can't log in, so the password of one is always left alone.
    type: str
    choices: [on_create, always]
    default: on_create
  require_password_change:
    description:
      - Whether the user must choose another password after the next log-in. It counts where the password is written.
    type: bool
    default: false
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.user_info
  - module: gpuops.gpustack.api_key
"""

EXAMPLES = r"""
- name: Let somebody in, with a password to be changed at once
  gpuops.gpustack.user:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: alice
    full_name: Alice Liddell
    user_password: "{{ vault_gpustack_alice_password }}"
    require_password_change: true

- name: An administrator for automation, whose password is the vault's
  gpuops.gpustack.user:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: ansible
    is_admin: true
    user_password: "{{ vault_gpustack_ansible_password }}"
    update_password: always

- name: Keep somebody out for a while
  gpuops.gpustack.user:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: bob
    is_active: false

- name: Remove a user
  gpuops.gpustack.user:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: bob
    state: absent
"""

RETURN = r"""
user:
  description: The user as M(gpuops.gpustack.user_info) returns it, in check mode as it would be.
  returned: O(state=present)
  type: dict
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: Conflict
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 409
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Kind, Writer, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_user
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import MASK
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_user

FIELDS = ("full_name", "is_admin", "is_active")
# A change of a user resets what is missing, before GPUStack 2.2.0.
KIND = Kind(
    label="user",
    path="/v2/users",
    sent=("username", *FIELDS, "avatar_url", "require_password_change"),
    written_only=frozenset({"password"}),
)


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "full_name": {"type": "str"},
            "is_admin": {"type": "bool"},
            "is_active": {"type": "bool"},
            "user_password": {"type": "str", "no_log": True},
            "update_password": {
                "type": "str",
                "choices": ["on_create", "always"],
                "default": "on_create",
                "no_log": False,
            },
            "require_password_change": {"type": "bool", "default": False, "no_log": False},
        },
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    current = find_user(client, params["name"])
    if current is None and not params["user_password"]:
        raise Invalid(f"There is no user {params['name']!r} yet, and a new one needs a password. Set user_password.")
    wanted = {name: params[name] for name in FIELDS if params[name] is not None}
    change = compare({"username": params["name"], **wanted}, current, KIND.rules)
    before, after, payload = dict(change.before), dict(change.after), dict(change.payload)
    if _password_is_due(params, current, client):
        payload["password"] = params["user_password"]
        payload["require_password_change"] = params["require_password_change"]
        after["password"] = MASK if current is None else f"{MASK} (changed)"
        if current is not None:
            before["password"] = MASK
    user = current or {}
    if payload:
        user = _save(current, payload, writer)
    return {"changed": bool(payload), "diff": {"before": before, "after": after}, "user": show_user(user)}


def _password_is_due(params: dict[str, Any], current: dict[str, Any] | None, client: Client) -> bool:
    if current is None:
        return True
    if params["user_password"] is None or params["update_password"] != "always" or not current["is_active"]:
        return False
    return not client.is_password(params["name"], params["user_password"])


def _save(current: dict[str, Any] | None, payload: dict[str, Any], writer: Writer) -> dict[str, Any]:
    if current is None and payload["require_password_change"]:
        # GPUStack 2.1 drops that from a new user, so it comes with a change.
        current = writer.save(KIND, None, {name: v for name, v in payload.items() if name != "require_password_change"})
        payload = {"require_password_change": True, "password": payload["password"]}
    return writer.save(KIND, current, payload)


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    current = find_user(client, params["name"])
    if current is None:
        return {"changed": False, "diff": {"before": {}, "after": {}}}
    writer.delete(KIND, current)
    return {"changed": True, "diff": {"before": show_user(current), "after": {}}}


if __name__ == "__main__":
    main()
