#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_surge
short_description: Have more replicas of a declared model while it is changed
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Decides by what the fleet has free how a running model gets another configuration, and creates the additional
    replicas that this takes. Each is a model of GPUStack beside the members of the declared model, C(NAME-surge),
    C(NAME-surge-2) and so on, with the declared configuration, on cards that nobody uses.
  - They get requests when M(gpuops.gpustack.model_turn) with C(state=ended) puts them into the route.
  - What a run that was interrupted has left of them is removed by M(gpuops.gpustack.models), which takes them out of
    the route first.
options:
  name:
    description:
      - Name of the declared model, which its route has as well.
    type: str
    required: true
  state:
    description:
      - V(present) creates what O(strategy) asks for, and does not wait for its engines.
      - V(weighted) gives the additional replicas O(share) percent of the requests. With 100 the others leave the route.
      - V(outside) changes nothing, and tells which members of the declared model run and are not in its route.
      - V(absent) deletes them. Take them out of the route before.
    type: str
    choices: [present, weighted, outside, absent]
    default: present
  strategy:
    description:
      - V(surge) asks for one more replica, V(blue_green) for as many as the model has; it fails before anything is
        changed where cards for them are not free. V(drain), V(gap) and V(recreate) ask for none.
      - V(auto) is V(drain) for several replicas, V(surge) for one where cards are free, else V(gap).
    type: str
    choices: [auto, drain, surge, blue_green, gap, recreate]
    default: auto
  declaration:
    description:
      - The declared model, as an entry of O(gpuops.gpustack.models#module:models). Required with O(state=present).
    type: dict
  share:
    description:
      - With O(state=weighted), the share in percent, from 1 to 100.
      - GPUStack heeds weights with its embedded gateway; without it requests are spread evenly over what is in the
        route.
    type: int
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_turn
  - module: gpuops.gpustack.models
"""

EXAMPLES = r"""
- name: Have one more replica with the new configuration, where cards are free
  gpuops.gpustack.model_surge:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    strategy: auto
    declaration:
      name: qwen2.5-14b-instruct
      local_path: /var/lib/models/Qwen2.5-14B-Instruct
      backend_parameters: [--tensor-parallel-size=2, --max-model-len=16384]
  register: surge

- name: Give it a tenth of the requests
  gpuops.gpustack.model_surge:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    state: weighted
    share: 10

- name: Remove it when the model itself serves again
  gpuops.gpustack.model_surge:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    state: absent
"""

RETURN = r"""
strategy:
  description: How the model is changed; never V(auto).
  returned: O(state=present)
  type: str
  sample: surge
reason:
  description: Why it is that strategy; empty where it was asked for.
  returned: O(state=present)
  type: str
  sample: one replica, and no free cards for another
members:
  description: Names of the additional replicas; with O(state=absent) of those that were deleted.
  returned: O(state=present) or O(state=absent)
  type: list
  elements: str
  sample: [qwen2.5-14b-instruct-surge]
targets:
  description:
    - What lets them, or with O(state=outside) those members, into the route, as
      O(gpuops.gpustack.model_turn#module:targets) takes it.
  returned: O(state=present) or O(state=outside)
  type: list
  elements: dict
  sample: [{route: qwen2.5-14b-instruct, model: qwen2.5-14b-instruct-surge, weight: 100}]
left:
  description: Names of the models that have left the route.
  returned: O(state=weighted)
  type: list
  elements: str
  sample: []
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: Conflict
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import secrets_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.policy import STRATEGIES_OF_A_MODEL
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.surge import Surge


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "weighted", "outside", "absent"], "default": "present"},
            "strategy": {"type": "str", "choices": list(STRATEGIES_OF_A_MODEL), "default": "auto"},
            "declaration": {"type": "dict", "no_log": True},
            "share": {"type": "int"},
        },
        required_if=[("state", "present", ["declaration"]), ("state", "weighted", ["share"])],
    )
    module.run(lambda client, writer: _task(module, client, writer))


def _task(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    surge = Surge(client, writer, params["name"])
    module.hide(secrets_of(params["declaration"] or {}))
    if params["state"] == "present":
        return surge.bring(params["declaration"], params["strategy"])
    if params["state"] == "outside":
        return {"changed": False, "members": surge.present, "targets": surge.outside()}
    if params["state"] == "absent":
        return surge.remove()
    if not 1 <= params["share"] <= 100:
        raise Invalid(f"share is {params['share']}; wanted is a percentage from 1 to 100.")
    return surge.share(params["share"])


if __name__ == "__main__":
    main()
