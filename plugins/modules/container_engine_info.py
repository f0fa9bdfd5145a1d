#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: container_engine_info
version_added: 1.0.0
short_description: Whether a host's Docker engine answers, its runtimes, and what its configuration will make of it
description:
  - Asks the Docker engine for its release, runtimes and cgroup driver, and reads C(daemon.json), which counts
    at the engine's next start.
  - An engine that is missing or does not answer is an answer and no failure. Changes nothing.
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
  daemon_json:
    description:
      - The engine's configuration file.
    type: path
    default: /etc/docker/daemon.json
  timeout:
    description:
      - Seconds to wait for the engine.
    type: int
    default: 20
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Look at the container engine
  gpuops.gpustack.container_engine_info:
    daemon_json: /etc/docker/daemon.json
    timeout: 10
  become: true
  register: container_engine
"""

RETURN = r"""
installed:
  description: Whether the command C(docker) is on the host.
  returned: always
  type: bool
problem:
  description: Why the engine does not answer; null when it does.
  returned: always
  type: str
version:
  description: The engine's release.
  returned: when it answers
  type: str
  sample: 20.10.24
runtimes:
  description: The container runtimes that the running engine knows.
  returned: when it answers
  type: list
  elements: str
  sample: [nvidia, runc]
cgroup_driver:
  description: What manages the containers' cgroups.
  returned: when it answers
  type: str
  sample: cgroupfs
configured_runtimes:
  description: The runtimes in C(daemon.json); null where it cannot be read.
  returned: always
  type: list
  elements: str
  sample: [nvidia]
configuration_problem:
  description: What is wrong with C(daemon.json); null when nothing is.
  returned: always
  type: str
"""

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "daemon_json": {"type": "path", "default": "/etc/docker/daemon.json"},
            "timeout": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, **engine(module), **configuration(Path(module.params["daemon_json"])))


def engine(module: AnsibleModule) -> dict[str, Any]:
    """What the engine tells of itself."""
    docker = module.get_bin_path("docker")
    if docker is None:
        return {"installed": False, "problem": "docker is not installed"}
    timeout = module.params["timeout"]
    rc, out, err = module.run_command(["timeout", str(timeout), docker, "info", "--format", "{{json .}}"])
    try:
        info = json.loads(out) if rc == 0 else {}
    except json.JSONDecodeError:
        info = {}
    if not info.get("ServerVersion"):
        reason = "; ".join(info.get("ServerErrors") or []) or err.strip() or f"exit code {rc}"
        return {"installed": True, "problem": f"no answer within {timeout} seconds" if rc == 124 else reason}
    return {
        "installed": True,
        "problem": None,
        "version": info["ServerVersion"],
        "runtimes": sorted(info.get("Runtimes") or {}),
        "cgroup_driver": info.get("CgroupDriver"),
    }


def configuration(path: Path) -> dict[str, Any]:
    """What daemon.json will make of the engine."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        runtimes = sorted(settings.get("runtimes") or {})
    except FileNotFoundError:
        return {"configured_runtimes": [], "configuration_problem": None}
    except (OSError, ValueError, AttributeError) as error:
        return {"configured_runtimes": None, "configuration_problem": f"{path}: {error}"}
    return {"configured_runtimes": runtimes, "configuration_problem": None}


if __name__ == "__main__":
    main()
