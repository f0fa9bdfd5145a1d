#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: worker
short_description: Label a GPUStack worker, put it into maintenance, or remove it
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Changes what can be changed of a worker that is registered at a GPUStack server. A worker registers itself when its
    container starts; this module does not create one.
  - GPUStack wipes what a change of a worker does not mention, so everything it has is sent along.
options:
  name:
    description:
      - Name of the worker.
    type: str
    required: true
  state:
    description:
      - With V(present) the worker must be registered; in check mode it may be missing.
      - V(absent) removes it from the server with its instances. A worker whose container still runs registers again
        when it is restarted.
    type: str
    choices: [present, absent]
    default: present
  labels:
    description:
      - Labels, for O(gpuops.gpustack.model#module:worker_selector). Values are texts; numbers become their text.
      - Other labels stay, among them GPUStack's own. A value of null removes a label.
    type: dict
  maintenance:
    description:
      - Whether the worker is in maintenance. Then it gets no new instances; those that run there stay and keep serving.
      - Fails for a worker whose turn in a roll-out was interrupted, which C(playbooks/rolling_update.yml) completes.
    type: bool
  maintenance_message:
    description:
      - Why, shown on GPUStack's page. Counts with O(maintenance=true); what it says already stays if this is not set.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.worker_info
"""

EXAMPLES = r"""
- name: Label a worker with what its cards are
  gpuops.gpustack.worker:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    labels:
      gpu-generation: volta
      rack: 12
      old-label: null

- name: Take a worker out before its driver is changed
  gpuops.gpustack.worker:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-a
    maintenance: true
    maintenance_message: New driver, back at 14:00

- name: Forget a worker that is gone
  gpuops.gpustack.worker:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: gpu-worker-z
    state: absent
"""

RETURN = r"""
worker:
  description: The worker as M(gpuops.gpustack.worker_info) returns it, without the name of its C(cluster). In check
    mode as it would be, or null if it is not registered yet.
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
  sample: 404
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_worker, worker_named
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_worker
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.memory import memory_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.worker_spec import KIND


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "labels": {"type": "dict"},
            "maintenance": {"type": "bool"},
            "maintenance_message": {"type": "str"},
        },
        required_by={"maintenance_message": "maintenance"},
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    current = find_worker(client, params["name"]) if writer.check_mode else worker_named(client, params["name"])
    if current is None:
        # Its container may be one that an earlier task would have started.
        wanted = _wanted(params, {})
        return {"changed": True, "diff": {"before": {}, "after": wanted}, "worker": None}
    change = compare(_wanted(params, current), _comparable(current), KIND.rules)
    worker = writer.save(KIND, current, change.payload) if change.changed else current
    return {
        "changed": change.changed,
        "diff": {"before": change.before, "after": change.after},
        "worker": show_worker(worker, None),
    }


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    current = find_worker(client, params["name"])
    if current is None:
        return {"changed": False, "diff": {"before": {}, "after": {}}}
    writer.delete(KIND, current)
    return {"changed": True, "diff": {"before": show_worker(current, None), "after": {}}}


def _wanted(params: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if params["labels"] is not None:
        merged = {**(current.get("labels") or {}), **_label_texts(params["labels"])}
        wanted["labels"] = {name: value for name, value in merged.items() if value is not None}
    if params["maintenance"] is not None:
        maintenance = current.get("maintenance") or {}
        if memory_of(maintenance) is not None:
            raise Invalid(
                f"Worker {params['name']!r} is in a turn of a roll-out that was interrupted; what it has to put back "
                "stands in its maintenance message. Run playbooks/rolling_update.yml, which completes it."
            )
        # Sent also when it is off: only then GPUStack computes the worker's state at once.
        given = params["maintenance_message"]
        kept = maintenance.get("message") if maintenance.get("enabled") and given is None else given
        message = kept if params["maintenance"] else None
        wanted["maintenance"] = {"enabled": params["maintenance"], "message": message}
    return wanted


def _comparable(current: dict[str, Any]) -> dict[str, Any]:
    return {**current, "maintenance": current.get("maintenance") or {"enabled": False, "message": None}}


def _label_texts(labels: dict[str, Any]) -> dict[str, str | None]:
    wrong = sorted(name for name, value in labels.items() if isinstance(value, (bool, dict, list)))
    if wrong:
        raise Invalid(f"labels has values that are neither text nor number: {', '.join(wrong)}. Quote them.")
    return {name: None if value is None else str(value) for name, value in labels.items()}


if __name__ == "__main__":
    main()
