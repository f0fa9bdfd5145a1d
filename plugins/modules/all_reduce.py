#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: all_reduce
version_added: 1.0.0
short_description: Take part in an all-reduce over the GPUs of several hosts
description:
  - Starts a container with all GPUs of the host in which a program takes part in an all-reduce with those of the other
    hosts, and returns what it printed. It has to run on all hosts at once.
  - The program is given as text, so that the image needs only Python and PyTorch, which every image of an engine has.
  - A program that fails or does not end is an answer, not an error; P(gpuops.gpustack.all_reduce_result#filter) judges
    it.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: Nothing is started in check mode.
  diff_mode:
    support: none
  platform:
    platforms: linux
options:
  image:
    description:
      - The image, which has to be on the host.
    type: str
    required: true
  program:
    description:
      - The program, in Python.
    type: str
    required: true
  arguments:
    description:
      - Its arguments.
    type: list
    elements: str
    default: []
  env:
    description:
      - Variables of its environment, such as C(NCCL_SOCKET_IFNAME).
    type: dict
    default: {}
  runtime:
    description:
      - The container runtime that hands the GPUs in.
    type: str
    default: nvidia
  timeout:
    description:
      - Seconds after which the container is removed.
    type: int
    default: 120
seealso:
  - plugin: gpuops.gpustack.all_reduce_result
    plugin_type: filter
  - module: gpuops.gpustack.container_gpu_info
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Take part in an all-reduce of four GPUs on two hosts
  gpuops.gpustack.all_reduce:
    image: gpustack/runner:cuda12.9-vllm0.17.1
    program: "{{ lookup('ansible.builtin.file', 'all_reduce.py') }}"
    arguments: ["{{ first_rank }}", 2, 4, 192.0.2.11, 41990, 1024, 134217728]
    env:
      NCCL_SOCKET_IFNAME: =eth0
    timeout: 300
  become: true
  register: all_reduce_run

- name: Use a runtime of another name
  gpuops.gpustack.all_reduce:
    image: gpustack/runner:cuda12.9-vllm0.17.1
    program: print("hello")
    runtime: nvidia-legacy
"""

RETURN = r"""
rc:
  description: The exit code of the program.
  returned: not in check mode
  type: int
  sample: 0
timed_out:
  description: Whether it did not end in time.
  returned: not in check mode
  type: bool
  sample: false
seconds:
  description: How long it took.
  returned: not in check mode
  type: float
  sample: 8.4
output:
  description: What it printed.
  returned: not in check mode
  type: str
  sample: "# Out of bounds values : 0 OK"
"""

import time

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "image": {"type": "str", "required": True},
            "program": {"type": "str", "required": True},
            "arguments": {"type": "list", "elements": "str", "default": []},
            "env": {"type": "dict", "default": {}},
            "runtime": {"type": "str", "default": "nvidia"},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False)
    docker = module.get_bin_path("docker", required=True)
    name = f"gpustack-all-reduce-{time.time_ns()}"
    start = time.monotonic()
    try:
        # KILL, because docker hands another signal on to the program, and the first process of a container ignores it.
        command = ["timeout", "--signal=KILL", str(module.params["timeout"]), docker, *container(module, name)]
        rc, out, err = module.run_command(command, data=module.params["program"])
        seconds = time.monotonic() - start
    finally:
        module.run_command([docker, "rm", "--force", name])
    module.exit_json(
        changed=False,
        failed=False,  # said, because Ansible takes any other exit code for a failure; the judgement is over all hosts
        rc=rc,
        timed_out=rc != 0 and seconds >= module.params["timeout"],
        seconds=round(seconds, 1),
        output="\n".join(text.strip("\n") for text in (out, err) if text.strip()),
    )


def container(module: AnsibleModule, name: str) -> list[str]:
    """docker's arguments: the host's network and shared memory, as engines over several hosts have them."""
    env = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility", **module.params["env"]}
    options = [
        "--rm",
        "--interactive",
        "--pull",
        "never",
        "--network",
        "host",
        "--ipc",
        "host",
        "--ulimit",
        "memlock=-1",
    ]
    variables = [item for key, value in env.items() for item in ("--env", f"{key}={value}")]
    # From a file, because processes that the program spawns read it again.
    start = (
        "import os, sys; open('/tmp/program.py', 'w').write(sys.stdin.read()); "
        "os.execv(sys.executable, [sys.executable, '/tmp/program.py', *sys.argv[1:]])"
    )
    image = [module.params["image"], "-c", start, *module.params["arguments"]]
    return [
        "run",
        *options,
        "--name",
        name,
        "--runtime",
        module.params["runtime"],
        *variables,
        "--entrypoint",
        "python3",
        *image,
    ]


if __name__ == "__main__":
    main()
