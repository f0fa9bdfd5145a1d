#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_turn
short_description: Take a model out of service for another configuration, and bring it back
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Does the steps of one model's turn in a rolling update, so that nobody who calls it notices. The model is one of
    GPUStack's; a declared model with several replicas is several of them behind one route, its members.
  - The steps between are those of other modules. M(gpuops.gpustack.engine_requests) waits until running requests are
    answered, and M(gpuops.gpustack.model) with nothing but a name replaces the engines that run an older configuration.
  - While it waits, the task shows how far it is.
options:
  name:
    description:
      - Name of the model.
    type: str
    required: true
  state:
    description:
      - V(begun) takes the model out of its routes where other targets serve on.
      - V(kept) changes nothing and returns RV(configuration). Use it with C(no_log).
      - V(written) writes what O(declaration) says about this model.
      - V(restored) writes O(configuration).
      - V(ended) puts the model back into O(targets) and waits until GPUStack uses it.
      - V(steady) waits until all its instances have run for O(settle_seconds) without a change of state, and fails as
        soon as one does not run.
    type: str
    choices: [begun, kept, written, restored, ended, steady]
    required: true
  min_available:
    description:
      - With O(state=begun), how many targets of every route must go on serving. If they would not, nothing is changed
        and the module fails.
      - If it is not set, all other targets have to serve, and a route that has no other is accepted as a gap.
    type: int
  declaration:
    description:
      - The declared model that this one is a member of, as an entry of O(gpuops.gpustack.models#module:models).
      - Required with O(state=written).
    type: dict
  configuration:
    description:
      - What RV(configuration) was. Required with O(state=restored).
    type: dict
  targets:
    description:
      - What RV(targets) was when the turn began. Required with O(state=ended).
    type: list
    elements: dict
  settle_seconds:
    description:
      - With O(state=steady), how long the instances must have run unchanged.
    type: int
    default: 30
  log_lines:
    description:
      - How many lines of the log of an instance that does not run to return.
    type: int
    default: 40
  wait_timeout:
    description:
      - Seconds to wait at most for what O(state) promises; RV(settled) tells whether it came. With V(0) the module
        looks once.
    type: int
    default: 600
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model
  - module: gpuops.gpustack.models
  - module: gpuops.gpustack.worker_turn
"""

EXAMPLES = r"""
- name: Change one replica while the others serve
  module_defaults:
    group/gpuops.gpustack.gpustack:
      server_url: https://gpustack.example.com
      api_key: "{{ vault_gpustack_api_key }}"
  block:
    - name: Take it out
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: begun
        min_available: 1
      register: turn

    - name: Keep what it runs with
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: kept
      register: kept
      no_log: true

    - name: Write the new configuration
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: written
        declaration:
          name: qwen2.5-14b-instruct
          replicas: 2
          backend_parameters: [--tensor-parallel-size=2, --max-model-len=16384]

    - name: Start the engine anew
      gpuops.gpustack.model:
        name: qwen2.5-14b-instruct-r2

    - name: Put it back
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: ended
        targets: "{{ turn.targets }}"
        wait_timeout: 120

    - name: See it stand the requests
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: steady
        settle_seconds: 60
        log_lines: 100
  rescue:
    - name: Go back
      gpuops.gpustack.model_turn:
        name: qwen2.5-14b-instruct-r2
        state: restored
        configuration: "{{ kept.configuration }}"
"""

RETURN = r"""
settled:
  description: Whether everything is as O(state) promises.
  returned: O(state=begun), O(state=ended) or O(state=steady)
  type: bool
  sample: true
progress:
  description: How far it is, in one line.
  returned: success
  type: str
  sample: qwen2.5-14b-instruct-r2 left qwen2.5-14b-instruct
targets:
  description: What left its routes, with C(route), C(model) and C(weight).
  returned: O(state=begun)
  type: list
  elements: dict
  sample: [{route: qwen2.5-14b-instruct, model: qwen2.5-14b-instruct-r2, weight: 100}]
gaps:
  description: One sentence for each route that does not answer while the model is changed.
  returned: O(state=begun)
  type: list
  elements: str
  sample: ["qwen does not answer meanwhile: it has no other replica"]
engines:
  description: The running instances, the worker that leads each, and the address of their engine.
  returned: O(state=begun), O(state=ended) or O(state=steady)
  type: list
  elements: dict
  sample: [{instance: qwen-r2-x7Kq2, worker: gpu-worker-a, address: "192.0.2.11:40000", drained: true, chats: true}]
name:
  description: Name of the model.
  returned: O(state=kept)
  type: str
configuration:
  description: What its engines are started with, secrets included.
  returned: O(state=kept)
  type: dict
log:
  description: The end of the log of the instance that does not run.
  returned: failure with O(state=steady)
  type: list
  elements: str
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

import time
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.logs import read_log
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import mask_change, secrets_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.member import MemberTurn
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import until_settled


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {
                "type": "str",
                "choices": ["begun", "kept", "written", "restored", "ended", "steady"],
                "required": True,
            },
            "min_available": {"type": "int"},
            "declaration": {"type": "dict", "no_log": True},
            "configuration": {"type": "dict", "no_log": True},
            "targets": {"type": "list", "elements": "dict"},
            "settle_seconds": {"type": "int", "default": 30},
            "log_lines": {"type": "int", "default": 40},
            "wait_timeout": {"type": "int", "default": 600},
        },
        required_if=[
            ("state", "written", ["declaration"]),
            ("state", "restored", ["configuration"]),
            ("state", "ended", ["targets"]),
        ],
    )
    module.run(lambda client, writer: _task(module, client, writer))


def _task(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    state = params["state"]
    if state == "kept":
        # Nothing is hidden here, for it is to be written again.
        configuration = MemberTurn(client, writer, params["name"]).configuration
        return {"changed": False, "name": params["name"], "configuration": configuration}
    if state in ("written", "restored"):
        turn = MemberTurn(client, writer, params["name"])
        module.hide(secrets_of(turn.model))
        answer = turn.write(params["declaration"]) if state == "written" else turn.restore(params["configuration"])
        module.hide(secrets_of(turn.model))
        change = answer.pop("change")
        before, after = mask_change(change.before, change.after)
        return {**answer, "diff": {"before": before, "after": after}}

    def look() -> dict[str, Any]:
        turn = MemberTurn(client, writer, params["name"])
        if state == "begun":
            return turn.begin(params["min_available"])
        if state == "ended":
            return turn.end(params["targets"])
        answer = turn.steady(params["settle_seconds"])
        broken = answer.pop("broken")
        if broken is not None:
            log = read_log(client, broken, params["log_lines"], secrets_of(turn.model))
            answer.update(failed=True, msg=answer["progress"], log=log)
        return answer

    timeout = 0 if writer.check_mode else params["wait_timeout"]
    return until_settled(look, timeout_seconds=timeout, clock=time.monotonic, sleep=time.sleep)


if __name__ == "__main__":
    main()
