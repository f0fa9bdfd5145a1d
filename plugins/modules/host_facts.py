#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
version_added: 1.0.0
short_description: Facts of a host that decide whether it can join a GPUStack fleet
description:
  - Gathers in one go what has to be known of a host before anything on it is changed, identity, clock, shared memory,
    addresses, ports in use, disk space, model directories and containers, as C(gpustack_host).
  - Changes nothing and judges nothing. P(gpuops.gpustack.preflight_problems#filter) tells from these facts what is
    wrong.
  - What cannot be found out is null, never an error. The owners of ports and the product UUID need root.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
  - ansible.builtin.action_common_attributes.facts
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  facts:
    support: full
  platform:
    platforms: linux
options:
  ports:
    description:
      - TCP ports to look at, single ones or ranges.
    type: list
    elements: str
    default: []
  paths:
    description:
      - Files and directories to look at.
    type: list
    elements: path
    default: []
  model_directories:
    description:
      - Directories of model weights whose C(config.json) and files to read.
    type: list
    elements: path
    default: []
  disk_paths:
    description:
      - Paths whose file system's free space to report. For a path that does not exist yet, that of its nearest parent.
    type: list
    elements: path
    default: []
  product_uuid_path:
    description:
      - The file that holds the machine's product UUID, by which GPUStack tells workers apart.
    type: path
    default: /sys/class/dmi/id/product_uuid
  timeout:
    description:
      - Seconds to wait for the Docker engine's answer.
    type: int
    default: 10
seealso:
  - plugin: gpuops.gpustack.preflight_problems
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Gather what decides whether the host can join
  gpuops.gpustack.host_facts:
    ports: ["10150", "10151", "41000-41009"]
    paths:
      - /etc/gpustack/worker.env
    model_directories:
      - /var/lib/models/Qwen2.5-14B-Instruct
    disk_paths:
      - /var/lib/docker
    timeout: 20
  become: true

- name: Read the machine's identity from a file of one's own
  gpuops.gpustack.host_facts:
    product_uuid_path: /etc/gpustack/product_uuid
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: always
  type: dict
  contains:
    gpustack_host:
      description: What has been found on the host.
      returned: always
      type: dict
      contains:
        hostname:
          description: The host name.
          type: str
          sample: gpu-worker-a
        distribution:
          description: Id and version of the distribution, as C(/etc/os-release) has them.
          type: dict
          sample: {id: debian, version: "12"}
        machine_id:
          description: C(/etc/machine-id), null where there is none.
          type: str
          sample: 0f1e2d3c4b5a69788796a5b4c3d2e1f0
        product_uuid:
          description: The product UUID, in lower case; null where it cannot be read.
          type: str
          sample: 4c4c4544-0032-3510-8052-b7c04f4a3233
        time_unix_s:
          description: The host's clock when it answered.
          type: float
          sample: 1767225600.25
        clock_offset_s:
          description: How far the host's clock is ahead of the controller's, measured over the task's round trip.
          type: float
          sample: -0.1
        clock_uncertainty_s:
          description: How far RV(ansible_facts.gpustack_host.clock_offset_s) can be off, half of the round trip.
          type: float
          sample: 0.4
        shm_size_mib:
          description: The size of C(/dev/shm).
          type: int
          sample: 65536
        memory_total_mib:
          description: The host's memory.
          type: int
          sample: 257652
        memlock_limit_kib:
          description:
            - The limit of locked memory that containers inherit, the one of containerd; of the session where containerd
              does not run. V(-1) is unlimited.
          type: int
          sample: -1
        interfaces:
          description: Each network interface with its IPv4 addresses.
          type: dict
          sample: {eth0: [192.0.2.11], lo: [127.0.0.1]}
        interface_mtu:
          description: Each network interface with its MTU.
          type: dict
          sample: {eth0: 9000, lo: 65536}
        listening_ports:
          description:
            - Those of O(ports) that something listens on, each with the process (null when its owner cannot be seen),
              its id and the name of its container (the container's id where Docker does not tell, null for a process of
              the host).
          type: dict
          sample: {"10150": {pid: 812, process: python3 gpustack, container: gpustack-worker}}
        paths:
          description: Each of O(paths), with the size of files.
          type: dict
          sample: {/etc/gpustack/worker.env: {exists: true, is_directory: false, size_bytes: 64}}
        model_directories:
          description:
            - Each of O(model_directories), with the content of its C(config.json), the size of its weight files, the
              files that the weights' index names and the directory lacks, and what is wrong with it as a text.
          type: dict
          sample:
            /var/lib/models/example:
              exists: true
              is_directory: true
              config: {model_type: qwen2}
              weights_size_bytes: 29540067328
              missing_files: []
              problem:
        disk_free_gib:
          description: Each of O(disk_paths) with the free space of its file system.
          type: dict
          sample: {/var/lib/docker: 412.7}
        container_storage:
          description:
            - Where Docker keeps its images, C(data-root) of C(/etc/docker/daemon.json) or C(/var/lib/docker), with the
              free space of its file system.
          type: dict
          sample: {path: /var/lib/docker, free_gib: 412.7}
        rdma_devices:
          description: The host's InfiniBand and RoCE devices.
          type: list
          elements: str
          sample: [mlx5_0]
        containers:
          description:
            - The host's containers by name; null where Docker is not installed or does not answer.
            - C(ports) are the host's ports that lead into the container.
            - C(workload) is GPUStack's name for the group of containers of a model instance, null for any other
              container.
          type: dict
          sample:
            gpustack-worker:
              id: 4f9d
              image: gpustack/gpustack:v2.1.1
              state: running
              status: Up 3 hours
              ports: []
              workload:
        problems:
          description: What kept facts from being found, each with code, message and remedy.
          type: list
          elements: dict
          sample: []
"""

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

from ansible.module_utils import distro
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import containers, model_directory, procfs

PROC = Path("/proc")
NETWORK_CLASS = Path("/sys/class/net")
RDMA_CLASS = Path("/sys/class/infiniband")
DAEMON_JSON = Path("/etc/docker/daemon.json")
DOCKER_ROOT = "/var/lib/docker"
SIOCGIFCONF = 0x8912  # from <linux/sockios.h>: all IPv4 addresses of all interfaces
MAX_ADDRESSES = 4096


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "str", "default": []},
            "paths": {"type": "list", "elements": "path", "default": []},
            "model_directories": {"type": "list", "elements": "path", "default": []},
            "disk_paths": {"type": "list", "elements": "path", "default": []},
            "product_uuid_path": {"type": "path", "default": "/sys/class/dmi/id/product_uuid"},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    try:
        ports = procfs.expand_ports(module.params["ports"])
    except ValueError as error:
        module.fail_json(msg=f"ports: {error}.")

    present, problems = list_containers(module)
    product_uuid = first_line(module.params["product_uuid_path"])
    facts: dict[str, Any] = {
        "hostname": socket.gethostname(),
        "distribution": {"id": distro.id(), "version": distro.version()},
        "machine_id": first_line("/etc/machine-id"),
        "product_uuid": product_uuid.lower() if product_uuid else None,
        "shm_size_mib": shm_size_mib(),
        "memory_total_mib": procfs.memory_total_mib(PROC),
        "memlock_limit_kib": procfs.memlock_limit_kib(PROC, procfs.process_named(PROC, "containerd") or "self"),
        "interfaces": ipv4_addresses(),
        "interface_mtu": interface_mtu(),
        "listening_ports": name_containers(procfs.listening_ports(PROC, ports), present or {}),
        "paths": {path: describe_path(path) for path in module.params["paths"]},
        "model_directories": {path: model_directory.inspect(path) for path in module.params["model_directories"]},
        "disk_free_gib": {path: disk_free_gib(path) for path in module.params["disk_paths"]},
        "container_storage": container_storage(),
        "rdma_devices": entries_of(RDMA_CLASS),
        "containers": present,
        "problems": problems,
        "time_unix_s": time.time(),
    }
    module.exit_json(changed=False, ansible_facts={"gpustack_host": facts})


def list_containers(module: AnsibleModule) -> tuple[dict[str, dict[str, Any]] | None, list[dict[str, str]]]:
    """The host's containers, and what is wrong when Docker is there and does not answer."""
    docker = module.get_bin_path("docker")
    if docker is None:
        return None, []
    timeout = module.params["timeout"]
    rc, out, err = module.run_command(
        ["timeout", str(timeout), docker, "ps", "--all", "--no-trunc", "--format", containers.LIST_FORMAT]
    )
    if rc == 0:
        return containers.parse_list(out), []
    reason = f"no answer within {timeout} seconds" if rc == 124 else (err or out).strip()
    problem = {
        "code": "container_engine_unreachable",
        "message": f"docker is installed and its engine does not answer: {reason}",
        "remedy": "systemctl status docker tells why; root or a member of the group docker may ask it.",
    }
    return None, [problem]


def name_containers(ports: dict[int, dict[str, Any]], present: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The listeners with the name of their container in place of its id; keys are strings, as JSON has them.

    Behind a published port a process of Docker's listens, outside of the container.
    """
    names = {container["id"]: name for name, container in present.items()}
    published = {port: name for name, container in present.items() for port in container["ports"]}
    return {
        str(port): {
            "pid": listener["pid"],
            "process": listener["process"],
            "container": names.get(listener["container_id"], listener["container_id"]) or published.get(port),
        }
        for port, listener in ports.items()
    }


def first_line(path: str) -> str | None:
    """The first line of a small text file; None where it is empty or cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip() or None
    except OSError:
        return None


def shm_size_mib() -> int | None:
    """The size of /dev/shm."""
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return None
    return status.f_blocks * status.f_frsize // 2**20


def disk_free_gib(path: str) -> float | None:
    """What an ordinary user may still write to the path's file system."""
    for candidate in (Path(path), *Path(path).parents):
        try:
            status = os.statvfs(candidate)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return round(status.f_bavail * status.f_frsize / 2**30, 1)
    return None


def describe_path(path: str) -> dict[str, Any]:
    """Whether the path exists, what it is, and the size of a file."""
    is_file = os.path.isfile(path)
    return {
        "exists": os.path.exists(path),
        "is_directory": os.path.isdir(path),
        "size_bytes": os.path.getsize(path) if is_file else None,
    }


def container_storage() -> dict[str, Any]:
    """Where Docker keeps its images, or will, and how much room is there."""
    path = DOCKER_ROOT
    # No file, or one that does not say; whether it is valid is for others to tell.
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        path = str(json.loads(DAEMON_JSON.read_text(encoding="utf-8"))["data-root"])
    return {"path": path, "free_gib": disk_free_gib(path)}


def entries_of(directory: Path) -> list[str]:
    """The names of the directories in one; none where it cannot be read."""
    try:
        return sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    except OSError:
        return []


def interface_mtu() -> dict[str, int]:
    """Every interface with its MTU."""
    texts = {name: first_line(str(NETWORK_CLASS / name / "mtu")) for name in entries_of(NETWORK_CLASS)}
    return {name: int(text) for name, text in texts.items() if text and text.isdigit()}


def ipv4_addresses() -> dict[str, list[str]]:
    """Every interface with its IPv4 addresses, also those without any."""
    interfaces: dict[str, list[str]] = {name: [] for name in entries_of(NETWORK_CLASS)}
    entry_size = 40 if struct.calcsize("P") == 8 else 32  # struct ifreq of <net/if.h>
    entries = array.array("B", bytes(entry_size * MAX_ADDRESSES))
    request = struct.pack("iP", len(entries), entries.buffer_info()[0])  # struct ifconf
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            used = struct.unpack("iP", fcntl.ioctl(probe.fileno(), SIOCGIFCONF, request))[0]
    except OSError:
        return interfaces
    for start in range(0, used, entry_size):
        entry = entries[start : start + entry_size].tobytes()
        name = entry[:16].split(b"\0")[0].decode(errors="replace").split(":")[0]  # eth0:1 is a label of eth0
        interfaces.setdefault(name, []).append(socket.inet_ntoa(entry[20:24]))
    return interfaces


if __name__ == "__main__":
    main()
