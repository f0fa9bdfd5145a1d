#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_image_facts
version_added: 1.0.0
short_description: For which GPU architectures the images of engines are built
description:
  - Finds out which image GPUStack runs each vLLM version from, as the worker on the host itself tells, looks into the
    image with a short Python program, and returns as C(gpustack_engine_images) for which GPU architectures its torch
    and vLLM hold code.
  - An image that is not on the host is pulled, which GPUStack would do at the first deployment.
    Nothing else is changed.
  - What was found is kept by the image's id, so that an image is looked into once.
  - Needs no card. Nothing in the image is started but the program, without network.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
  - ansible.builtin.action_common_attributes.facts
attributes:
  check_mode:
    support: full
    details:
      - Pulls nothing in check mode; an image that is not there has no architectures then.
  diff_mode:
    support: none
  facts:
    support: full
  platform:
    platforms: linux
options:
  versions:
    description:
      - Versions of the vLLM backend.
    type: list
    elements: str
    required: true
  images:
    description:
      - Images of versions that are not GPUStack's own, by version.
    type: dict
    default: {}
  cuda_version:
    description:
      - The highest CUDA version that the host's driver supports, which decides among the images of a version.
    type: str
  registry:
    description:
      - The default registry of GPUStack's images. Empty is Docker's.
    type: str
    default: ""
  worker_container:
    description:
      - The name of the GPUStack worker's container.
    type: str
    default: gpustack-worker
  cache_path:
    description:
      - The file that keeps what was found.
    type: path
    default: /var/cache/gpuops-gpustack/engine-images.json
  timeout:
    description:
      - Seconds that an image may take to be pulled, or to be looked into.
    type: int
    default: 3600
seealso:
  - plugin: gpuops.gpustack.preflight_problems
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Look into the images of the engines
  gpuops.gpustack.engine_image_facts:
    versions: ["0.17.1", 0.17.1-v100-custom]
    images:
      0.17.1-v100-custom: docker.io/vllm/vllm-openai:v0.17.1
    cuda_version: "{{ ansible_facts['gpustack_gpu'].cuda_version }}"
    registry: registry.example.org
  become: true
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: always
  type: dict
  contains:
    gpustack_engine_images:
      description:
        - By version, C(image), its C(id), the C(architectures) by library (C(torch), and C(vllm) where that has a
          compiled library), the versions of C(torch) and C(cuda), and C(problem), a text where the image could not be
          looked into. What is not known is null.
      returned: always
      type: dict
      sample:
        "0.17.1":
          image: gpustack/runner:cuda12.9-vllm0.17.1
          id: sha256:4f9d
          architectures: {torch: [sm_75, sm_80, sm_90], vllm: [compute_80, sm_75, sm_80]}
          torch: 2.10.0+cu129
          cuda: "12.9"
          problem:
"""

import json
import os
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.text.converters import to_text

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_image, fatbin

TIMED_OUT = (137, -9)  # of timeout(1) with KILL, which ends itself as well


class Failed(Exception):
    """Something did not go; the text says what."""


class Images:
    """The images of a host, with a memory."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.changed = False
        self.path = module.params["cache_path"]
        self.known = self._load()

    def look(self, version: str) -> dict[str, Any]:
        """What is known of the image of a version."""
        answer: dict[str, Any] = dict.fromkeys(("image", "id", "architectures", "torch", "cuda", "problem"))
        try:
            answer["image"] = self._image_of(version)
            answer["id"] = self._present(answer["image"])
            answer.update(self._probe(answer["image"], answer["id"]))
        except Failed as failed:
            answer["problem"] = str(failed)
        return answer

    def _image_of(self, version: str) -> str:
        parameters = self.module.params
        if version in parameters["images"]:
            return engine_image.with_registry(parameters["images"][version], parameters["registry"])
        worker = parameters["worker_container"]
        release = self._docker("inspect", "--format", "{{.Image}}", worker).strip()
        key = f"{release} {version} {parameters['cuda_version']}"
        if key not in self.known:
            listing = self._docker("exec", worker, *engine_image.LIST_IMAGES, version)
            image = engine_image.choose(listing, version, parameters["cuda_version"])
            if image is None:
                raise Failed(f"GPUStack's worker knows no image for vLLM {version}")
            self._remember(key, image)
        return engine_image.with_registry(self.known[key], parameters["registry"])

    def _present(self, image: str) -> str:
        rc, out, _err = self._run("image", "inspect", "--format", "{{.Id}}", image)
        if rc != 0:
            if self.module.check_mode:
                raise Failed(f"{image} is not on the host")
            self._docker("pull", "--quiet", image)
            self.changed = True
            out = self._docker("image", "inspect", "--format", "{{.Id}}", image)
        return out.strip()

    def _probe(self, image: str, image_id: str) -> dict[str, Any]:
        if image_id not in self.known:
            source = fatbin.__loader__.get_source(fatbin.__name__)  # type: ignore[union-attr]
            program = to_text(source) + engine_image.PROBE
            name = f"gpustack-engine-image-{time.time_ns()}"
            run = ("run", "--rm", f"--name={name}", "--network=none", "--entrypoint=python3")
            try:
                output = self._docker(*run, image_id, "-c", program)
            finally:
                self._run("rm", "--force", name)  # one that has not ended in time goes on without its command
            answer = engine_image.parse_probe(output)
            if answer is None:
                raise Failed(f"python3 in {image} does not tell for which architectures its torch is built")
            self._remember(image_id, answer)
        found: dict[str, Any] = self.known[image_id]
        return found

    def _docker(self, *arguments: str) -> str:
        rc, out, err = self._run(*arguments)
        if rc != 0:
            seconds = self.module.params["timeout"]
            lines = (err or out).strip().splitlines() or ["no reason given"]
            reason = f"no end within {seconds} seconds" if rc in TIMED_OUT else lines[-1]
            raise Failed(f"docker {arguments[0]} failed: {reason}")
        return out

    def _run(self, *arguments: str) -> tuple[int, str, str]:
        # KILL, because docker hands another signal on to the program, and the first process of a container ignores it.
        command = ["timeout", "--signal=KILL", str(self.module.params["timeout"]), "docker", *arguments]
        rc, out, err = self.module.run_command(command)
        return rc, out, err

    def _load(self) -> dict[str, Any]:
        try:
            with open(self.path, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _remember(self, key: str, value: Any) -> None:
        """Kept in check mode as well: it is what was seen, and no setting of the host."""
        self.known[key] = value
        os.makedirs(os.path.dirname(self.path), mode=0o755, exist_ok=True)
        with open(f"{self.path}.new", "w", encoding="utf-8") as file:
            json.dump(self.known, file)
        os.replace(f"{self.path}.new", self.path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "versions": {"type": "list", "elements": "str", "required": True},
            "images": {"type": "dict", "default": {}},
            "cuda_version": {"type": "str"},
            "registry": {"type": "str", "default": ""},
            "worker_container": {"type": "str", "default": "gpustack-worker"},
            "cache_path": {"type": "path", "default": "/var/cache/gpuops-gpustack/engine-images.json"},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )
    images = Images(module)
    facts = {version: images.look(version) for version in dict.fromkeys(module.params["versions"])}
    module.exit_json(changed=images.changed, ansible_facts={"gpustack_engine_images": facts})


if __name__ == "__main__":
    main()
