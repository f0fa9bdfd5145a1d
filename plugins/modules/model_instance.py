#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_instance
short_description: Replace running instances of a model on GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Deletes instances of a model one after the other; GPUStack makes a new one for each, with the model's present
    configuration. The next goes only when all replicas run again.
  - Nothing drains an instance. Requests that it has are lost, unless its model is taken out of its routes before,
    which M(gpuops.gpustack.model_route) does.
  - M(gpuops.gpustack.model) replaces instances of an older configuration by itself. This module is for one that hangs,
    or for all that are older than some time.
options:
  name:
    description:
      - Name of the one instance to replace. GPUStack makes new names, so when it is gone there is nothing to do.
      - Exactly one of this and O(model) is needed.
    type: str
  model:
    description:
      - Name of the model whose instances to replace. Needs O(created_before).
    type: str
  created_before:
    description:
      - Only instances that were created before this time are replaced, as V(2026-03-01T09:30:00Z). By this a second run
        has nothing to do. A time without zone is UTC.
    type: str
  wait:
    description:
      - Whether to wait after each until all replicas run again. Without it they are all deleted at once.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait at most for one instance.
    type: int
    default: 1800
  log_lines:
    description:
      - How many lines to return from the log of each instance that is deleted, since it goes with it, and of one that
        does not come up.
    type: int
    default: 40
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_instance_info
  - module: gpuops.gpustack.model
  - module: gpuops.gpustack.model_route
"""

EXAMPLES = r"""
- name: Replace an instance that hangs
  gpuops.gpustack.model_instance:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct-x7Kq2

- name: Replace all that were started before the driver was changed
  gpuops.gpustack.model_instance:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    model: qwen2.5-14b-instruct
    created_before: "2026-03-01T09:30:00Z"
    wait_timeout: 3600
    log_lines: 200

- name: Replace without waiting
  gpuops.gpustack.model_instance:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct-x7Kq2
    wait: false
"""

RETURN = r"""
replaced:
  description: Names of the instances that were deleted to be replaced; in check mode those that would be.
  returned: always
  type: list
  elements: str
  sample: [qwen2.5-14b-instruct-x7Kq2]
logs:
  description: The end of the log of each instance that was deleted, by name.
  returned: always
  type: dict
model_instances:
  description: The model's instances afterwards, as M(gpuops.gpustack.model_instance_info) returns them.
  returned: always
  type: list
  elements: dict
log:
  description: The end of the log of the instance that does not come up.
  returned: failure while waiting
  type: list
  elements: str
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: NotFound
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 404
"""

import time
from datetime import datetime, timezone
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_configuration import Marker, stale
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.instances import Instances
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_instance
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import Outcome, failure_message


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str"},
            "model": {"type": "str"},
            "created_before": {"type": "str"},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 1800},
            "log_lines": {"type": "int", "default": 40},
        },
        mutually_exclusive=[("name", "model")],
        required_one_of=[("name", "model")],
        required_together=[("model", "created_before")],
    )
    module.run(lambda client, writer: _replace(module, client, writer))


def _replace(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    marker = None if params["created_before"] is None else Marker("", _time(params["created_before"]))
    found = _instances(params, client, writer)
    if found is None:
        return _answer([], {}, [])
    module.hide(found.secrets)
    found.look()
    chosen = [params["name"]] if params["name"] else stale(found.instances, marker)
    logs: dict[str, list[str]] = {}
    for name in chosen:
        logs[name] = found.read_log(name, params["log_lines"])
        found.delete(name)
        if not params["wait"] or writer.check_mode:
            continue
        result = found.wait(params["wait_timeout"], params["log_lines"], clock=time.monotonic, sleep=time.sleep)
        if result.verdict.outcome is not Outcome.DONE:
            replaced = chosen[: chosen.index(name) + 1]
            failure = {"failed": True, "msg": failure_message(result), "log": list(result.log)}
            return {**_answer(replaced, logs, found.instances), **failure}
    if chosen and not writer.check_mode:
        found.look()
    return _answer(chosen, logs, found.instances)


def _instances(params: dict[str, Any], client: Client, writer: Writer) -> Instances | None:
    """The instances of the model in question; None when the one to replace is gone."""
    if params["model"] is not None:
        return Instances.of_model(client, writer, params["model"])
    for instance in client.listing("/v2/model-instances"):
        if instance["name"] == params["name"]:
            return Instances.of_model(client, writer, instance["model_name"])
    return None


def _time(text: str) -> datetime:
    try:
        time_ = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise Invalid(f"created_before is {text!r}; wanted is a time such as 2026-03-01T09:30:00Z.") from error
    return time_ if time_.tzinfo else time_.replace(tzinfo=timezone.utc)


def _answer(replaced: list[str], logs: dict[str, list[str]], instances: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "changed": bool(replaced),
        "diff": {"before": {"instances": replaced}, "after": {}} if replaced else {"before": {}, "after": {}},
        "replaced": replaced,
        "logs": logs,
        "model_instances": [{"model": row.get("model_name"), **show_instance(row, ())} for row in instances],
    }


if __name__ == "__main__":
    main()
