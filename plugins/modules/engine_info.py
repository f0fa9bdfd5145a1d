#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_info
version_added: 1.0.0
short_description: How the engines of a host really run
description:
  - Reads from the Docker engine which containers GPUStack has started for its model instances on this host, and how,
    with command line, environment, shared memory, runtime, mounts and state.
  - Returns the container of the GPUStack worker in the same shape.
  - Changes nothing. P(gpuops.gpustack.engine_differences#filter) compares the result with a plan.
  - Values of variables and flags that usually hold a secret are replaced by C(********), and user names and passwords
    are left out of URLs.
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
  instances:
    description:
      - Names of model instances to report. All of the host when empty.
    type: list
    elements: str
    default: []
  worker_container:
    description:
      - The name of the GPUStack worker's container.
    type: str
    default: gpustack-worker
  timeout:
    description:
      - Seconds to wait for each of the Docker engine's two answers.
    type: int
    default: 30
seealso:
  - plugin: gpuops.gpustack.engine_differences
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Read how the engines run
  gpuops.gpustack.engine_info:
  become: true
  register: engines

- name: Read how one model instance runs under a worker of another name
  gpuops.gpustack.engine_info:
    instances:
      - qwen2.5-14b-instruct-x1Y2z
    worker_container: gpustack-worker-blue
    timeout: 60
  become: true
"""

RETURN = r"""
instances:
  description:
    - The model instances that have containers on this host, by name.
    - Each holds C(containers), a list of what is described here for RV(worker), sorted by name. C(role) is V(default)
      for the engine (on the leader of an instance that spans several hosts the one that answers), V(ray-head),
      V(follower) or V(pause); C(workload) is GPUStack's name for the instance's part on this host.
  returned: success
  type: dict
  sample:
    qwen2.5-14b-instruct-x1Y2z:
      containers:
        - name: qwen2.5-14b-instruct-x1Y2z-run-0
          role: default
          workload: qwen2.5-14b-instruct-x1Y2z
          command: [vllm, serve, /var/lib/models/Qwen2.5-14B-Instruct, --tensor-parallel-size=4]
          ipc_mode: "container:4f9d"
          runtime: nvidia
          state: running
worker:
  description: The worker's container, null where there is none.
  returned: success
  type: dict
  contains:
    name:
      description: The container's name.
      type: str
      sample: gpustack-worker
    role:
      description: The container's part in a model instance, null for the worker.
      type: str
    workload:
      description: The model instance's part on this host, null for the worker.
      type: str
    image:
      description: The image as it was named.
      type: str
      sample: gpustack/gpustack:v2.1.1
    command:
      description: The argument list that runs, entry point and arguments together.
      type: list
      elements: str
      sample: [/usr/bin/entrypoint.sh, --worker-name, gpu-worker-a]
    entrypoint:
      description: The entry point alone.
      type: list
      elements: str
      sample: [/usr/bin/entrypoint.sh]
    env:
      description: The environment, the image's own variables included.
      type: dict
      sample: {GPUSTACK_TOKEN: "********"}
    ipc_mode:
      description: Whose shared memory the container uses, for example V(host), V(shareable) or V(container:<id>).
      type: str
      sample: host
    network_mode:
      description: Whose network the container uses.
      type: str
      sample: host
    privileged:
      description: Whether the container is privileged.
      type: bool
      sample: true
    shm_size_mib:
      description:
        - The size of C(/dev/shm) that was asked for. It counts only where the IPC mode gives the container its own.
      type: int
      sample: 65536
    runtime:
      description: The container runtime.
      type: str
      sample: nvidia
    restart_policy:
      description: When Docker itself restarts the container.
      type: str
      sample: unless-stopped
    mounts:
      description: The mounts with type, source (for a volume its name), destination and read_only.
      type: list
      elements: dict
      sample: [{type: bind, source: /var/lib/models, destination: /var/lib/models, read_only: false}]
    state:
      description: The container's state, for example V(running) or V(exited).
      type: str
      sample: running
    exit_code:
      description: The last exit code, V(0) while the container runs.
      type: int
      sample: 0
    oom_killed:
      description: Whether the kernel killed it for want of memory.
      type: bool
      sample: false
    error:
      description: Why Docker could not start it, null where it could.
      type: str
    started_at:
      description: When it was last started, as Docker writes it.
      type: str
      sample: "2026-01-31T12:00:00.123456789Z"
    restart_count:
      description: How often Docker restarted it. Restarts by GPUStack make a new container and do not count.
      type: int
      sample: 0
"""

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import containers


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "instances": {"type": "list", "elements": "str", "default": []},
            "worker_container": {"type": "str", "default": "gpustack-worker"},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    wanted = set(module.params["instances"])
    worker_container = module.params["worker_container"]

    listed = containers.parse_list(docker(module, "ps", "--all", "--no-trunc", "--format", containers.LIST_FORMAT))
    ids = [
        container["id"]
        for name, container in listed.items()
        if name == worker_container
        or (container["workload"] and (not wanted or containers.instance_of(container["workload"]) in wanted))
    ]
    inspected = json.loads(docker(module, "inspect", "--type", "container", *ids, may_vanish=True)) if ids else []
    described = [containers.describe(entry) for entry in inspected]
    module.exit_json(
        changed=False,
        instances=containers.group_by_instance(inspected),
        worker=next((container for container in described if container["name"] == worker_container), None),
    )


def docker(module: AnsibleModule, *arguments: str, may_vanish: bool = False) -> Any:
    """What docker prints; ends the module where it does not answer.

    With ``may_vanish`` objects that ended between two calls are no error: docker prints the others as usual.
    """
    executable = module.get_bin_path("docker")
    timeout = module.params["timeout"]
    if executable is None:
        module.fail_json(
            msg="docker is not installed on this host, so its engines cannot be read. "
            "Run the role container_engine first."
        )
    rc, out, err = module.run_command(["timeout", str(timeout), executable, *arguments])
    if rc == 124:
        reason = f"no answer within {timeout} seconds"
    elif rc == 0 or (may_vanish and "no such" in err.lower()):
        return out
    else:
        reason = (err or out).strip()
    module.fail_json(
        msg=f"docker {arguments[0]} failed: {reason}. systemctl status docker tells more; root or a member of the "
        "group docker may ask the engine."
    )


if __name__ == "__main__":
    main()
