#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_route
short_description: Create, change or remove a route to models on GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - A route is the name under which models are called. It has one or more targets, among which its requests are shared
    out, and says who may call it. A model that M(gpuops.gpustack.model) creates has a route of its own name already.
  - Only options that are set are compared and changed. What is written is read back.
  - O(targets) is the whole list. New targets are added first; those that are not listed are taken out as soon as the
    new ones are active, so a request finds a target at any time. One that is taken out gets no new requests, and those
    it has are finished.
options:
  name:
    description:
      - Name of the route, which is the C(model) of a request.
    type: str
    required: true
  state:
    description:
      - Whether the route shall be there. The models behind it stay.
    type: str
    choices: [present, absent]
    default: present
  description:
    description:
      - Free text.
    type: str
  categories:
    description:
      - What the models can do. The order does not count.
    type: list
    elements: str
    choices: [llm, embedding, image, reranker, speech_to_text, text_to_speech, unknown]
  generic_proxy:
    description:
      - Whether requests to paths that GPUStack does not know are passed on to the engine too.
    type: bool
  targets:
    description:
      - All targets of the route. An empty list takes all of them out.
    type: list
    elements: dict
    suboptions:
      model:
        description:
          - Name of a model of this server. Either this or O(targets[].provider).
        type: str
      provider:
        description:
          - Name of a model provider, that is an API elsewhere. Needs O(targets[].overridden_model_name).
        type: str
      overridden_model_name:
        description:
          - The name by which the target knows the model. Of a provider it is the model to ask for; of a model it
            selects a LoRA adapter as V(model:adapter), which needs GPUStack 2.2.0.
        type: str
      weight:
        description:
          - Share of the requests in relation to the other targets. A new target gets V(100).
          - GPUStack 2.3.0 and newer refuse a mixture of targets with and without weight. To give a target no requests,
            leave it out.
          - Weights count only with GPUStack's embedded gateway; without it the targets take turns.
        type: int
      fallback_status_codes:
        description:
          - Makes this the target that gets a request again when another has answered so. One target of a route can
            be it. An empty list ends it.
        type: list
        elements: str
        choices: [4xx, 5xx]
      max_running_requests:
        description:
          - Requests that one instance of the target gets at once. Needs GPUStack 2.3.0.
        type: int
  access_policy:
    description:
      - Who may call the route, everybody, those who are logged in or have a key, or the O(users).
      - GPUStack 2.2.0 and newer say C(allowed_principals) for V(allowed_users).
    type: str
    choices: [public, authed, allowed_users]
  users:
    description:
      - Names of all users the route is open to with O(access_policy=allowed_users). The order does not count.
    type: list
    elements: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_route_info
  - module: gpuops.gpustack.model
"""

EXAMPLES = r"""
- name: Two models behind one name, one of them for a tenth of the requests
  gpuops.gpustack.model_route:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen
    description: The chat model, whichever it is
    categories: [llm]
    targets:
      - model: qwen2.5-14b-instruct
        weight: 90
      - model: qwen2.5-32b-instruct
        weight: 10

- name: Write the connection once for all modules of the collection
  module_defaults:
    group/gpuops.gpustack.gpustack:
      server_url: https://gpustack.example.com
      api_key: "{{ vault_gpustack_api_key }}"
  block:
    - name: Two replicas that can be changed one at a time, and a paid one for when both fail
      gpuops.gpustack.model_route:
        name: chat
        targets:
          - model: chat-a
          - model: chat-b
          - provider: elsewhere
            overridden_model_name: some-model
            fallback_status_codes: [5xx]

    - name: Only two users may call it
      gpuops.gpustack.model_route:
        name: chat
        access_policy: allowed_users
        users: [alice, bob]

    - name: Pass everything on, at most eight requests at once
      gpuops.gpustack.model_route:
        name: engine
        generic_proxy: true
        targets:
          - model: my-engine
            max_running_requests: 8

    - name: Remove a route
      gpuops.gpustack.model_route:
        name: chat
        state: absent
"""

RETURN = r"""
model_route:
  description: The route as M(gpuops.gpustack.model_route_info) returns it, in check mode as it would be.
  returned: O(state=present)
  type: dict
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: NotFound
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 409
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Change, Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import CATEGORIES, check_callable_name
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_model_route
from ansible_collections.gpuops.gpustack.plugins.module_utils.route_targets import check
from ansible_collections.gpuops.gpustack.plugins.module_utils.routes import Route

FIELDS = ("description", "categories", "generic_proxy")


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "description": {"type": "str"},
            "categories": {"type": "list", "elements": "str", "choices": CATEGORIES},
            "generic_proxy": {"type": "bool"},
            "targets": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "model": {"type": "str"},
                    "provider": {"type": "str"},
                    "overridden_model_name": {"type": "str"},
                    "weight": {"type": "int"},
                    "fallback_status_codes": {"type": "list", "elements": "str", "choices": ["4xx", "5xx"]},
                    "max_running_requests": {"type": "int"},
                },
            },
            "access_policy": {"type": "str", "choices": ["public", "authed", "allowed_users"]},
            "users": {"type": "list", "elements": "str"},
        },
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    check_callable_name("route", params["name"])
    check(params["targets"] or [], client.server_version)
    route = Route(client, writer, params["name"])
    route.look(params["targets"] or [])
    changes = list(_changes(route, params))
    return {
        "changed": any(change.changed for change in changes),
        "diff": {
            "before": {name: value for change in changes for name, value in change.before.items()},
            "after": {name: value for change in changes for name, value in change.after.items()},
        },
        "model_route": _shown(route, params),
    }


def _changes(route: Route, params: dict[str, Any]) -> list[Change]:
    new = route.route is None
    wanted = {name: params[name] for name in FIELDS if params[name] is not None}
    changes = [route.set_fields(wanted, params["targets"])]
    if params["targets"] is not None and not new:
        changes.append(route.set_targets(params["targets"]))
    if params["access_policy"] is not None or params["users"] is not None:
        changes.append(route.set_access(params["access_policy"], params["users"]))
    return changes


def _shown(route: Route, params: dict[str, Any]) -> dict[str, Any]:
    users = None if params["users"] is None else sorted(params["users"])
    return show_model_route(route.route or {}, route.declared_targets, users)


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    route = Route(client, writer, params["name"])
    route.look()
    before = show_model_route(route.route, route.declared_targets, None) if route.route else {}
    return {"changed": route.remove(), "diff": {"before": before, "after": {}}}


if __name__ == "__main__":
    main()
