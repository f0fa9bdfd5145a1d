#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_file
short_description: Have the files of a model on a GPUStack worker, or remove them
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Tells GPUStack to fetch the files of a model to a worker before any model needs them there, and waits until they are
    complete. One that failed is fetched again.
  - What is fetched, and to where, identifies the files; it can't be changed.
options:
  worker:
    description:
      - Name of the worker.
    type: str
    required: true
  state:
    description:
      - Whether the files shall be there. GPUStack refuses to remove files that a model instance uses.
    type: str
    choices: [present, absent]
    default: present
  huggingface_repo_id:
    description:
      - Repository on Hugging Face. Exactly one of this, O(model_scope_model_id) and O(local_path) is needed.
    type: str
  huggingface_filename:
    description:
      - Which files of the repository, for those with several variants of one model.
    type: str
  model_scope_model_id:
    description:
      - Model on ModelScope.
    type: str
  model_scope_file_path:
    description:
      - Which files of O(model_scope_model_id).
    type: str
  local_path:
    description:
      - Directory or file that is on the worker already; GPUStack only looks whether it is.
    type: str
  local_dir:
    description:
      - Directory on the worker to fetch to, instead of GPUStack's cache.
    type: str
  cleanup_on_delete:
    description:
      - Whether the files are deleted from the disk when they are removed from GPUStack.
    type: bool
  wait:
    description:
      - Whether to wait until the files are complete.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait at most.
    type: int
    default: 3600
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_file_info
  - module: gpuops.gpustack.model
"""

EXAMPLES = r"""
- name: Fetch a model to every worker before the night's change
  gpuops.gpustack.model_file:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    worker: "{{ item }}"
    huggingface_repo_id: Qwen/Qwen2.5-14B-Instruct
    local_dir: /var/lib/models/Qwen2.5-14B-Instruct
    wait_timeout: 14400
  loop: "{{ groups['gpu_workers'] }}"

- name: Start fetching one variant, and do not wait
  gpuops.gpustack.model_file:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    worker: gpu-worker-a
    model_scope_model_id: Qwen/Qwen2.5-7B-Instruct-GGUF
    model_scope_file_path: "*q4_k_m*.gguf"
    cleanup_on_delete: true
    wait: false

- name: Forget files, and delete them from the disk
  gpuops.gpustack.model_file:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    worker: gpu-worker-a
    huggingface_repo_id: Qwen/Qwen2.5-14B-Instruct
    cleanup_on_delete: true
    state: absent
"""

RETURN = r"""
model_file:
  description: The files as M(gpuops.gpustack.model_file_info) returns them, in check mode as they would be.
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

import time
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Kind, Writer, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_worker, worker_named
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import SOURCES
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_model_file

PLACE = (*SOURCES, "huggingface_filename", "model_scope_file_path", "local_dir")
KIND = Kind(label="model file", path="/v2/model-files")
POLL_SECONDS = 3


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "worker": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            **{name: {"type": "str"} for name in PLACE},
            "cleanup_on_delete": {"type": "bool"},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 3600},
        },
        mutually_exclusive=[tuple(SOURCES)],
        required_one_of=[tuple(SOURCES)],
        required_by={"huggingface_filename": "huggingface_repo_id", "model_scope_file_path": "model_scope_model_id"},
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    wanted = {"source": next(source for option, source in SOURCES.items() if params[option])}
    wanted.update({name: params[name] for name in PLACE if params[name]})
    if params["cleanup_on_delete"] is not None:
        wanted["cleanup_on_delete"] = params["cleanup_on_delete"]
    worker = find_worker(client, params["worker"]) if writer.check_mode else worker_named(client, params["worker"])
    if worker is None:  # its container may be one that an earlier task would have started
        file = show_model_file(wanted, params["worker"])
        return {"changed": True, "diff": {"before": {}, "after": wanted}, "model_file": file}
    current = _find(params, worker["id"], client)
    change = compare(wanted, current, KIND.rules)
    before, after = dict(change.before), dict(change.after)
    file = current or {}
    if change.changed:
        on_create = {"worker_id": worker["id"]}
        file = writer.save(KIND, current, change.payload, on_create=on_create)
    if current is not None and current["state"] == "error":
        before["state"], after["state"] = "error", "downloading"
        writer.post(f"{KIND.path}/{current['id']}/reset", {})
        file = {**file, "state": "downloading", "state_message": ""}
    answer = {"changed": bool(after), "diff": {"before": before, "after": after}}
    if params["wait"] and not writer.check_mode:
        file, problem = _wait(file, params["wait_timeout"], client)
        if problem:
            answer.update(failed=True, msg=problem, error="Invalid", status=None)
    return {**answer, "model_file": show_model_file(file, params["worker"])}


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    worker = find_worker(client, params["worker"])
    current = None if worker is None else _find(params, worker["id"], client)
    if current is None:
        return {"changed": False, "diff": {"before": {}, "after": {}}}
    writer.delete(KIND, current, cleanup=params["cleanup_on_delete"])
    return {"changed": True, "diff": {"before": show_model_file(current, params["worker"]), "after": {}}}


def _find(params: dict[str, Any], worker_id: int, client: Client) -> dict[str, Any] | None:
    wanted = [params[name] or None for name in PLACE]
    for file in client.listing(KIND.path, worker_id=worker_id):
        if [file.get(name) or None for name in PLACE] == wanted:
            return file
    return None


def _wait(file: dict[str, Any], timeout_seconds: int, client: Client) -> tuple[dict[str, Any], str]:
    """The files once they are there, and why they are not if so."""
    end = time.monotonic() + timeout_seconds
    while True:
        file = client.get(f"{KIND.path}/{file['id']}")
        if file["state"] == "ready":
            return file, ""
        if file["state"] == "error":
            return file, (
                f"GPUStack could not fetch the files: {file.get('state_message') or 'no reason given'}. "
                "Look at the worker's log, its network and its disk, and run again."
            )
        if time.monotonic() >= end:
            progress = file.get("download_progress") or 0
            return file, f"After {timeout_seconds} seconds {progress:.0f} % is there. Run again with more wait_timeout."
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main()
