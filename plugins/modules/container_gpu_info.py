#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: container_gpu_info
version_added: 1.0.0
short_description: The GPUs that a container sees, before and after systemd is reloaded
description:
  - Starts a container with the NVIDIA runtime, asks C(nvidia-smi) in it for the GPUs, reloads systemd, asks again in
    the same container, and removes it. With systemd's cgroup driver and devices handed in by a hook, the reload takes
    them away, which otherwise shows up at the next package installation, as C(Failed to initialize NVML).
  - The image has to be on the host; it needs nothing but C(sleep). The runtime brings C(nvidia-smi) along.
  - In check mode no container is started.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: linux
options:
  image:
    description:
      - The image of the container.
    type: str
    required: true
  runtime:
    description:
      - The runtime, as C(daemon.json) names it.
    type: str
    default: nvidia
  timeout:
    description:
      - Seconds to wait for each answer.
    type: int
    default: 60
seealso:
  - module: gpuops.gpustack.gpu_facts
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Ask in a container before and after systemd is reloaded
  gpuops.gpustack.container_gpu_info:
    image: registry.example.org/gpustack/gpustack:v2.1.1
    runtime: nvidia
    timeout: 30
  become: true
  register: seen

- name: Refuse containers that lose their GPUs
  ansible.builtin.assert:
    that: seen.gpus_after_reload == seen.gpus
"""

RETURN = r"""
gpus:
  description: The GPUs in the container, as C(nvidia-smi -L) names them.
  returned: success, not in check mode
  type: list
  elements: str
  sample: ["Tesla V100-PCIE-32GB (UUID: GPU-4f1c9a52-6f0e-4d3b-9a53-0f6d2f3b7c11)"]
gpus_after_reload:
  description: The same after systemd was reloaded.
  returned: success, not in check mode
  type: list
  elements: str
  sample: ["Tesla V100-PCIE-32GB (UUID: GPU-4f1c9a52-6f0e-4d3b-9a53-0f6d2f3b7c11)"]
"""

import re

from ansible.module_utils.basic import AnsibleModule

LIFETIME_SECONDS = 600  # where the removal fails, the container ends by itself


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "image": {"type": "str", "required": True},
            "runtime": {"type": "str", "default": "nvidia"},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False)
    environment = ["--env", "NVIDIA_VISIBLE_DEVICES=all", "--env", "NVIDIA_DRIVER_CAPABILITIES=utility"]
    options = ["--detach", "--rm", "--pull", "never", "--network", "none", "--runtime", module.params["runtime"]]
    container = run(
        module,
        [
            "docker",
            "run",
            *options,
            *environment,
            "--entrypoint",
            "sleep",
            module.params["image"],
            str(LIFETIME_SECONDS),
        ],
        "No container can be started with the NVIDIA runtime",
    ).strip()
    try:
        before = gpus(module, container)
        run(module, ["systemctl", "daemon-reload"], "systemd cannot be reloaded")
        after = gpus(module, container)
    finally:
        module.run_command(["docker", "rm", "--force", container])
    module.exit_json(changed=False, gpus=before, gpus_after_reload=after)


def run(module: AnsibleModule, command: list[str], what: str) -> str:
    """The output of a command that has to succeed."""
    rc, out, err = module.run_command(["timeout", str(module.params["timeout"]), *command])
    if rc != 0:
        reason = f"no answer within {module.params['timeout']} seconds" if rc == 124 else (err or out).strip()
        module.fail_json(
            msg=f"{what}: {reason}. Wanted is a running Docker engine that knows the runtime "
            f"{module.params['runtime']}, and the image {module.params['image']} on the host.",
            rc=rc,
        )
    return out


def gpus(module: AnsibleModule, container: str) -> list[str]:
    """What nvidia-smi in the container lists; nothing where it fails, which is an answer too."""
    _rc, out, _err = module.run_command(
        ["timeout", str(module.params["timeout"]), "docker", "exec", container, "nvidia-smi", "-L"]
    )
    return re.findall(r"^GPU \d+: (.+)$", out, re.MULTILINE)


if __name__ == "__main__":
    main()
