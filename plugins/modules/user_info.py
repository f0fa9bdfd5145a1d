#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: user_info
short_description: Users of a GPUStack server
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the users of a server.
options:
  name:
    description:
      - Only the user of this name. If there is none, the list is empty.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.user
"""

EXAMPLES = r"""
- name: See who may administer the server
  gpuops.gpustack.user_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
  register: gpustack

- name: Show the administrators
  ansible.builtin.debug:
    msg: "{{ gpustack.users | selectattr('is_admin') | map(attribute='name') }}"
"""

RETURN = r"""
users:
  description: The users, by name.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the user.
      type: int
      sample: 2
    name:
      description: Name to log in with.
      type: str
      sample: alice
    full_name:
      description: Name to show.
      type: str
      sample: Alice Liddell
    is_admin:
      description: Whether the user administers the server.
      type: bool
      sample: false
    is_active:
      description: Whether the user may log in.
      type: bool
      sample: true
    source:
      description: What knows the user's password, C(Local) for GPUStack itself.
      type: str
      sample: Local
    require_password_change:
      description: Whether the user must choose another password.
      type: bool
      sample: false
    created_at:
      description: Time of its creation, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import all_or_named, find_user
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_user


def main() -> None:
    module = GPUStackModule(argument_spec={"name": {"type": "str"}})
    module.run(lambda client, writer: {"changed": False, "users": _users(module.params["name"], client)})


def _users(name: str | None, client: Client) -> list[dict[str, Any]]:
    found = all_or_named(client, "/v2/users", find_user, name)
    return sorted((show_user(user) for user in found), key=lambda user: str(user["name"]))


if __name__ == "__main__":
    main()
