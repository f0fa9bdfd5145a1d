#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: connectivity_facts
version_added: 1.0.0
short_description: Which ports of other hosts can be reached from a host
description:
  - Connects to every given TCP port of every target, many at once, and returns how each answered as
    C(gpustack_connectivity). A firewall that drops packets shows as a time-out, one that rejects them as a refusal or
    as an unreachable host.
  - Where M(gpuops.gpustack.port_listener) listens on the target, also tells whether full-sized packets arrive, which
    connecting alone does not show.
  - Sends nothing to what listens there by itself. Changes nothing and judges nothing. Needs nothing on the host but
    Python.
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
  targets:
    description:
      - By name, each a dictionary of C(address), a host name or an IP address, and C(ports), a list of TCP ports and
        ranges.
    type: dict
    required: true
  timeout:
    description:
      - Seconds to wait for each answer.
    type: float
    default: 3
seealso:
  - module: gpuops.gpustack.port_listener
  - plugin: gpuops.gpustack.preflight_problems
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Try the ports of the other worker
  gpuops.gpustack.connectivity_facts:
    targets:
      gpu-worker-b:
        address: 192.0.2.12
        ports: ["10150", "10151", "40000-40063", "41000-41999"]
    timeout: 2
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: always
  type: dict
  contains:
    gpustack_connectivity:
      description:
        - By name of the target, how its ports answered. C(connected), C(refused), C(timed_out) and C(unreachable) are
          lists of ports and ranges; C(source_address) is the address that connections came from; C(large_transfer)
          tells whether full-sized packets arrived, null where nothing was there to send them; C(problem) is a text
          where the address cannot be resolved.
      returned: always
      type: dict
      sample:
        gpu-worker-b:
          address: 192.0.2.12
          source_address: 192.0.2.11
          connected: ["10150-10151", "40000-40063"]
          refused: []
          timed_out: ["41000-41999"]
          unreachable: []
          large_transfer: true
          problem:
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import connections, procfs


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "targets": {"type": "dict", "required": True},
            "timeout": {"type": "float", "default": connections.DEFAULT_TIMEOUT_S},
        },
        supports_check_mode=True,
    )
    targets = {}
    for name, target in module.params["targets"].items():
        try:
            targets[name] = {
                "address": str(target["address"]),
                "ports": procfs.expand_ports([str(port) for port in target["ports"]]),
            }
        except (KeyError, TypeError):
            module.fail_json(msg=f"targets: {name} is {target!r}; a dictionary of address and ports is wanted.")
        except ValueError as error:
            module.fail_json(msg=f"targets: {name}: {error}.")
    connections.allow_many_files()
    tried = connections.try_targets(targets, module.params["timeout"])
    module.exit_json(changed=False, ansible_facts={"gpustack_connectivity": tried})


if __name__ == "__main__":
    main()
