#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: backend_version
short_description: Add, change or remove a version of an inference backend on GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Registers another container image as a version of an inference backend, for example a vLLM that was built for cards
    which GPUStack's own images leave out. Models choose it with O(gpuops.gpustack.model#module:backend_version).
  - GPUStack replaces all versions of a backend at once; the module sends the others along as they are.
  - Only options that are set are compared and changed. What is written is read back.
  - Running instances keep the image they were started with.
options:
  name:
    description:
      - Name of the version. GPUStack wants it to end in C(-custom).
    type: str
    required: true
  backend:
    description:
      - Name of the inference backend, spelled as GPUStack does.
    type: str
    default: vLLM
  state:
    description:
      - Whether the version shall be there. GPUStack refuses to remove one that a model with replicas uses.
    type: str
    choices: [present, absent]
    default: present
  image_name:
    description:
      - Container image. A new version needs it.
      - A name without a registry gets GPUStack's default registry before it, if there is one. Write the registry.
    type: str
  entrypoint:
    description:
      - Entry point of the container instead of the image's own.
    type: str
  run_command:
    description:
      - Arguments of the container. C({{model_path}}), C({{port}}), C({{worker_ip}}) and C({{model_name}}) are filled in
        by GPUStack; mark them C(!unsafe), or Ansible fills them in first.
    type: str
  custom_framework:
    description:
      - Kind of cards the image is for. A new version gets V(cuda); without it no worker matches.
    type: str
  env:
    description:
      - Environment of the container. The whole mapping is compared.
    type: dict
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.backend_version_info
  - module: gpuops.gpustack.model
"""

EXAMPLES = r"""
- name: A vLLM that runs on V100
  gpuops.gpustack.backend_version:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: 0.17.1-v100-custom
    image_name: docker.io/vllm/vllm-openai:v0.17.1
    entrypoint: vllm serve
    run_command: !unsafe "{{model_path}} --host {{worker_ip}} --port {{port}} --served-model-name {{model_name}}"
    env:
      VLLM_LOGGING_LEVEL: INFO

- name: A version for another backend and another kind of card
  gpuops.gpustack.backend_version:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    backend: SGLang
    name: 0.5.9-site-custom
    image_name: registry.example.com/sglang:0.5.9
    custom_framework: rocm

- name: Remove a version that no model uses
  gpuops.gpustack.backend_version:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: 0.17.1-v100-custom
    state: absent
"""

RETURN = r"""
backend_version:
  description: The version as M(gpuops.gpustack.backend_version_info) returns it, in check mode as it would be.
  returned: O(state=present)
  type: dict
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: Invalid
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 400
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Kind, Writer, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import backend_named
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import COMMANDS_WITH_SECRETS, mask_change
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import texts
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_backend_version

KIND = Kind(
    label="inference backend",
    path="/v2/inference-backends",
    server_owned=frozenset({"id", "created_at", "updated_at", "deleted_at", "is_built_in", "owner_principal_id"}),
)
FIELDS = ("image_name", "entrypoint", "run_command", "custom_framework")
SUFFIX = "-custom"
NEW = {"custom_framework": "cuda"}


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "backend": {"type": "str", "default": "vLLM"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            # GPUStackModule shows what is no secret.
            **{name: {"type": "str", "no_log": name in COMMANDS_WITH_SECRETS} for name in FIELDS},
            "env": {"type": "dict", "no_log": True},
        },
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module.params, client, writer))


def _present(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    name = params["name"]
    if not name.endswith(SUFFIX):
        raise Invalid(f"name is {name!r}; GPUStack wants the name of an added version to end in {SUFFIX!r}.")
    wanted = {field: params[field] for field in FIELDS if params[field] is not None}
    if params["env"] is not None:
        wanted["env"] = texts("env", params["env"])
    backend = backend_named(client, params["backend"])
    versions = backend.get("version_configs") or {}
    current = versions.get(name)
    if current is None and not wanted.get("image_name"):
        raise Invalid(f"{params['backend']} has no version {name!r} yet, and nothing says what it is. Set image_name.")
    change = compare({**NEW, **wanted} if current is None else wanted, current, {})
    version = current or {}
    if change.changed:
        version = {**version, **change.payload}
        stored = writer.save(KIND, backend, {"version_configs": {**versions, name: version}})
        version = stored["version_configs"][name]
    before, after = mask_change(change.before, change.after)
    return {
        "changed": change.changed,
        "diff": {"before": before, "after": after},
        "backend_version": show_backend_version(backend, name, version),
    }


def _absent(params: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    name = params["name"]
    backend = backend_named(client, params["backend"])
    versions = backend.get("version_configs") or {}
    if name not in versions:
        return {"changed": False, "diff": {"before": {}, "after": {}}}
    rest = {other: config for other, config in versions.items() if other != name}
    writer.save(KIND, backend, {"version_configs": rest})
    return {"changed": True, "diff": {"before": show_backend_version(backend, name, versions[name]), "after": {}}}


if __name__ == "__main__":
    main()
