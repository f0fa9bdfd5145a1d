#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_file_info
short_description: Files of models on the workers of a GPUStack server
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns what GPUStack has fetched, or is fetching, to its workers.
options:
  worker:
    description:
      - Only files on this worker, which must exist.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.model_file
"""

EXAMPLES = r"""
- name: See what is on a worker
  gpuops.gpustack.model_file_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    worker: gpu-worker-a
  register: gpustack

- name: Show what could not be fetched, and why
  ansible.builtin.debug:
    msg: "{{ gpustack.model_files | selectattr('state', 'eq', 'error') | map(attribute='state_message') }}"
"""

RETURN = r"""
model_files:
  description: The files, by worker and number.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Number of the files.
      type: int
      sample: 4
    worker:
      description: Name of the worker; null if it is gone.
      type: str
      sample: gpu-worker-a
    source:
      description: Where they come from, C(huggingface), C(model_scope) or C(local_path).
      type: str
      sample: local_path
    huggingface_repo_id:
      description: Repository on Hugging Face.
      type: str
    huggingface_filename:
      description: Which of its files.
      type: str
    model_scope_model_id:
      description: Model on ModelScope.
      type: str
    model_scope_file_path:
      description: Which of its files.
      type: str
    local_path:
      description: Directory or file on the worker.
      type: str
      sample: /var/lib/models/Qwen2.5-14B-Instruct
    local_dir:
      description: Directory they are fetched to; null for GPUStack's cache.
      type: str
    cleanup_on_delete:
      description: Whether removing them from GPUStack deletes them.
      type: bool
    state:
      description: C(downloading), C(ready) or C(error).
      type: str
      sample: ready
    state_message:
      description: GPUStack's explanation of the state.
      type: str
    download_progress:
      description: How much is there, in percent.
      type: float
      sample: 100
    size:
      description: Size in bytes; null when unknown.
      type: int
      sample: 29540067328
    resolved_paths:
      description: Where they are on the worker.
      type: list
      elements: str
      sample: [/var/lib/models/Qwen2.5-14B-Instruct]
    created_at:
      description: Since when GPUStack knows them, in UTC.
      type: str
      sample: "2026-02-01T08:00:00.000000Z"
"""

from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_files import model_files


def main() -> None:
    module = GPUStackModule(argument_spec={"worker": {"type": "str"}})
    module.run(lambda client, writer: {"changed": False, "model_files": model_files(client, module.params["worker"])})


if __name__ == "__main__":
    main()
