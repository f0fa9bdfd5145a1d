#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_route_info
short_description: Routes of a GPUStack server with their targets
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the routes through which models are called, what is behind them, and who may call them.
options:
  name:
    description:
      - Only the route of this name. If there is none, the list is empty.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_route
"""

EXAMPLES = r"""
- name: See all routes
  gpuops.gpustack.model_route_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
  register: gpustack

- name: Show which models answer to the name chat
  ansible.builtin.debug:
    msg: "{{ gpustack.model_routes | selectattr('name', 'eq', 'chat') | map(attribute='targets') | flatten }}"
"""

RETURN = r"""
model_routes:
  description: The routes, by name.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the route.
      type: int
      sample: 2
    name:
      description: Name under which models are called.
      type: str
      sample: chat
    description:
      description: Free text.
      type: str
    categories:
      description: What the models can do.
      type: list
      elements: str
      sample: [llm]
    generic_proxy:
      description: Whether requests to unknown paths are passed on.
      type: bool
      sample: false
    access_policy:
      description: Who may call it, C(public), C(authed) or C(allowed_users).
      type: str
      sample: authed
    users:
      description: Names of the users it is open to, if that is its policy; null otherwise.
      type: list
      elements: str
    made_with_model:
      description: Whether GPUStack made it together with a model and will remove it with that.
      type: bool
      sample: false
    ready_targets:
      description: Number of targets that answer.
      type: int
      sample: 2
    created_at:
      description: Time of its creation, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
    targets:
      description: >-
        The targets in the form of O(gpuops.gpustack.model_route#module:targets), and each one's C(state), C(active) or
        C(unavailable).
      type: list
      elements: dict
      sample:
        - {model: chat-a, weight: 100, state: active}
        - {model: chat-b, weight: 100, state: unavailable}
"""

from collections import defaultdict
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import all_or_named, find_route
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_model_route
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import ALLOWED_USERS, access_policy
from ansible_collections.gpuops.gpustack.plugins.module_utils.route_targets import declared, key_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.routes import KIND, TARGET, Route, names_of


def main() -> None:
    module = GPUStackModule(argument_spec={"name": {"type": "str"}})
    module.run(
        lambda client, writer: {"changed": False, "model_routes": _routes(module.params["name"], client, writer)}
    )


def _routes(name: str | None, client: Client, writer: Writer) -> list[dict[str, Any]]:
    found = sorted(all_or_named(client, KIND.path, find_route, name), key=lambda route: str(route["name"]))
    if not found:
        return []
    only = {"route_id": found[0]["id"]} if name is not None else {}
    targets = list(client.listing(TARGET.path, **only))
    names = names_of(client, targets)
    by_route = defaultdict(list)
    for target in targets:
        by_route[target["route_id"]].append({**declared(target, names), "state": target.get("state")})
    shown = []
    for row in found:
        route = Route(client, writer, row["name"])
        route.see(row, (), names)
        users = route.users() if access_policy(row.get("access_policy")) == ALLOWED_USERS else None
        shown.append(show_model_route(row, sorted(by_route[row["id"]], key=key_of), users))
    return shown


if __name__ == "__main__":
    main()
