#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_turn
short_description: Take a GPUStack worker out of service for a change, and bring it back
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Begins and ends the turn of one worker in a rolling update, so that nobody who calls a model notices it.
  - With the beginning the worker goes into maintenance, and the models that it serves leave their routes where other
    targets serve on. New requests go there at once; those that run finish. M(gpuops.gpustack.engine_requests) waits for
    them.
  - With the end everything is as it was before. What that is stands behind the message of the worker's maintenance, so
    a turn that was interrupted can be ended by anybody, from anywhere.
  - A model that has no other target to serve meanwhile stays in its route, and is listed in RV(gaps).
  - While it waits, the task shows how far it is.
options:
  name:
    description:
      - Name of the worker.
    type: str
    required: true
  state:
    description:
      - V(begun) puts the worker into maintenance and takes its models out of their routes. Replicas of declared models
        that run on other workers and are out of their routes, because their turn was interrupted, come back first.
      - V(resumed) ends the maintenance, unless the worker was in maintenance before, and waits until the model
        instances of the worker run.
      - V(ended) does that too, puts the models back into their routes, waits until GPUStack uses them, and forgets what
        was before.
    type: str
    choices: [begun, resumed, ended]
    required: true
  min_available:
    description:
      - With O(state=begun), how many targets of every route must go on serving. If they would not, nothing is changed
        and the module fails.
      - If it is not set, all targets have to serve that do not take part in this turn, and a route that has no other
        target is accepted as a gap.
    type: int
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
  - module: gpuops.gpustack.worker
  - module: gpuops.gpustack.engine_requests
"""

EXAMPLES = r"""
- name: Take a worker out
  gpuops.gpustack.worker_turn:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    state: begun
    min_available: 1
  register: turn

- name: Let GPUStack use it again, once it has been changed
  gpuops.gpustack.worker_turn:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    state: resumed
    wait_timeout: 900

- name: Bring it back
  gpuops.gpustack.worker_turn:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    state: ended
  register: turn
  failed_when: turn is failed or not turn.settled
"""

RETURN = r"""
settled:
  description: Whether everything is as O(state) promises.
  returned: success
  type: bool
  sample: true
progress:
  description: How far it is, in one line.
  returned: success
  type: str
  sample: gpu-worker-a is out; qwen-r2 left qwen
targets:
  description: What is out of its route because of this turn, with C(route), C(model) and C(weight).
  returned: success
  type: list
  elements: dict
  sample: [{route: qwen, model: qwen-r2, weight: 100}]
gaps:
  description: One sentence for each route that does not answer while the worker is away.
  returned: O(state=begun)
  type: list
  elements: str
  sample: ["qwen does not answer meanwhile: it has no other replica"]
engines:
  description: The running model instances whose requests go through this worker, with the address of their engine.
  returned: success
  type: list
  elements: dict
  sample: [{instance: qwen-r2-x7Kq2, model: qwen-r2, address: "192.0.2.11:40000", drained: true, chats: true}]
routes:
  description: The names of the routes that this worker serves, whether they are left or not.
  returned: success
  type: list
  elements: str
  sample: [qwen]
interrupted:
  description: Whether an earlier turn of this worker had begun and not ended.
  returned: success
  type: bool
  sample: false
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
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.worker import WorkerTurn
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import until_settled


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["begun", "resumed", "ended"], "required": True},
            "min_available": {"type": "int"},
            "wait_timeout": {"type": "int", "default": 600},
        },
    )
    module.run(lambda client, writer: _task(module.params, client, writer))


def _task(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    turn = WorkerTurn(client, writer, params["name"])

    def look() -> dict[str, Any]:
        if params["state"] == "begun":
            return turn.begin(params["min_available"])
        return turn.resume() if params["state"] == "resumed" else turn.end()

    timeout = 0 if writer.check_mode else params["wait_timeout"]
    return until_settled(look, timeout_seconds=timeout, clock=time.monotonic, sleep=time.sleep)


if __name__ == "__main__":
    main()
