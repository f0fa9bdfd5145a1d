#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: api_key_info
short_description: API keys of a GPUStack user
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the API keys of the user that the task authenticates as, without their secrets, which GPUStack tells nobody.
options:
  name:
    description:
      - Only the key of this name. If there is none, the list is empty.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.api_key
"""

EXAMPLES = r"""
- name: See one's own keys
  gpuops.gpustack.api_key_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
  register: gpustack

- name: Show those that will end
  ansible.builtin.debug:
    msg: "{{ gpustack.api_keys | rejectattr('expires_at', 'none') | map(attribute='name') }}"
"""

RETURN = r"""
api_keys:
  description: The keys, by name.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the key.
      type: int
      sample: 2
    name:
      description: Name of the key.
      type: str
      sample: load-test
    description:
      description: Free text.
      type: str
    allowed_model_names:
      description: Names of the routes it may call; null or empty for all.
      type: list
      elements: str
      sample: [qwen2.5-14b-instruct]
    scope:
      description: What it may do; null before GPUStack 2.2.0, where every key may do all.
      type: list
      elements: str
      sample: ["*"]
    expires_at:
      description: Until when it is valid, in UTC; null for ever.
      type: str
    created_at:
      description: Time of its creation, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import all_or_named, find_api_key
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_api_key


def main() -> None:
    module = GPUStackModule(argument_spec={"name": {"type": "str"}})
    module.run(lambda client, writer: {"changed": False, "api_keys": _keys(module.params["name"], client)})


def _keys(name: str | None, client: Client) -> list[dict[str, Any]]:
    found = all_or_named(client, "/v2/api-keys", find_api_key, name)
    return sorted((show_api_key(key) for key in found), key=lambda key: str(key["name"]))


if __name__ == "__main__":
    main()
