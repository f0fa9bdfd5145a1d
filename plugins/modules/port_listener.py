#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: port_listener
version_added: 1.0.0
short_description: Listen on ports for a while, so that other hosts can try them
description:
  - Listens on those of the given TCP ports that are free, in a process of its own, so that
    M(gpuops.gpustack.connectivity_facts) on other hosts finds out whether they can be reached before what they are for
    is there.
  - The process ends by itself when its time is over; nothing is left on the host, so the module never reports a change.
  - Ports that something listens on already are left to it. They can be tried just as well.
  - Needs nothing on the host but Python. There is at most one such process on a host; a second call replaces it.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details:
      - Listens in check mode as well, since that is a way of looking.
  diff_mode:
    support: none
  platform:
    platforms: linux
options:
  ports:
    description:
      - TCP ports, single ones or ranges.
    type: list
    elements: str
    default: []
  lifetime:
    description:
      - Seconds after which the process ends by itself.
    type: int
    default: 120
  state:
    description:
      - V(present) begins to listen, V(absent) ends it.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: gpuops.gpustack.connectivity_facts
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Listen where GPUStack and its engines will
  gpuops.gpustack.port_listener:
    ports: ["10150", "10151", "40000-40063", "41000-41999"]
    lifetime: 60

- name: Listen no longer
  gpuops.gpustack.port_listener:
    state: absent
"""

RETURN = r"""
listening:
  description: The ports that the process listens on.
  returned: when O(state=present)
  type: list
  elements: str
  sample: ["40000-40063", "41000-41999"]
held:
  description: The ports that something else listens on, where other hosts can reach it.
  returned: when O(state=present)
  type: list
  elements: str
  sample: ["10150-10151"]
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import connections, procfs


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "str", "default": []},
            "lifetime": {"type": "int", "default": 120},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        ports = procfs.expand_ports(module.params["ports"])
    except ValueError as error:
        module.fail_json(msg=f"ports: {error}.")
    connections.stop_listening()
    if module.params["state"] == "absent":
        module.exit_json(changed=False)
    connections.allow_many_files()
    held = procfs.ports_open_to_others(Path("/proc"), ports)
    listeners = connections.bind(sorted(ports - held))
    listening = connections.ranges(set(listeners))
    connections.listen_in_background(listeners, module.params["lifetime"])
    module.exit_json(changed=False, listening=listening, held=connections.ranges(held))


if __name__ == "__main__":
    main()
