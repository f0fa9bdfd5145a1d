#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: backend_version_info
short_description: Added versions of the inference backends of a GPUStack server
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Returns the versions that were added to GPUStack's inference backends, not those that come with a release.
options:
  backend:
    description:
      - Only versions of this inference backend, which must exist.
    type: str
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.backend_version
"""

EXAMPLES = r"""
- name: See which versions of vLLM were added
  gpuops.gpustack.backend_version_info:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    backend: vLLM
  register: gpustack

- name: Show their images
  ansible.builtin.debug:
    msg: "{{ gpustack.backend_versions | items2dict(key_name='name', value_name='image_name') }}"
"""

RETURN = r"""
backend_versions:
  description: The versions, by backend and name.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the version.
      type: str
      sample: 0.17.1-v100-custom
    backend:
      description: Name of the inference backend.
      type: str
      sample: vLLM
    image_name:
      description: Container image.
      type: str
      sample: docker.io/vllm/vllm-openai:v0.17.1
    entrypoint:
      description: Entry point of the container; null for the image's own.
      type: str
      sample: vllm serve
    run_command:
      description: Arguments of the container.
      type: str
    custom_framework:
      description: Kind of cards the image is for.
      type: str
      sample: cuda
    env:
      description: Environment of the container. Secrets are shown as C(********).
      type: dict
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import backend_named
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_backend_version


def main() -> None:
    module = GPUStackModule(argument_spec={"backend": {"type": "str"}})
    module.run(
        lambda client, writer: {"changed": False, "backend_versions": _versions(module.params["backend"], client)}
    )


def _versions(name: str | None, client: Client) -> list[dict[str, Any]]:
    backends = list(client.listing("/v2/inference-backends")) if name is None else [backend_named(client, name)]
    shown = [
        show_backend_version(backend, version, config)
        for backend in backends
        for version, config in (backend.get("version_configs") or {}).items()
        if not config.get("built_in_frameworks")
    ]
    return sorted(shown, key=lambda version: (version["backend"], version["name"]))


if __name__ == "__main__":
    main()
