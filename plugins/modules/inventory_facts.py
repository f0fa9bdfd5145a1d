#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_facts
version_added: 1.0.0
short_description: What an inventory says, what the collection reads of it, and what the controller has
description:
  - Looks at the inventory as Ansible has read it, C(-e) included, at the roles and playbooks of this collection, and at
    what the controller has of what the collection needs, and returns as C(gpustack_inventory) what
    P(gpuops.gpustack.preflight_problems#filter) needs to find misspelt variables, missing groups, values that were
    never filled in and collections that are missing.
  - Needs no connection to any host. Values are looked at as they are written and never returned; nothing is templated,
    so no lookup runs. An encrypted value is decrypted only to see whether that is possible.
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
    platforms: all
options: {}
notes:
  - A variable counts as read when a YAML file in the collection's roles or playbooks names it, or a variable of the
    inventory does.
seealso:
  - plugin: gpuops.gpustack.preflight_problems
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Look at the inventory
  gpuops.gpustack.inventory_facts:

- name: Show the variables that the inventory sets
  gpuops.gpustack.report:
    text: "{{ ansible_facts['gpustack_inventory'].variables | ansible.builtin.to_nice_yaml }}"
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: always
  type: dict
  contains:
    gpustack_inventory:
      description: The inventory.
      returned: always
      type: dict
      contains:
        groups:
          description: The groups with their hosts.
          type: dict
          sample: {gpustack_workers: [gpu-worker-a, gpu-worker-b]}
        variables:
          description: The variables whose name begins with C(gpustack_), with the hosts that have them.
          type: dict
          sample: {gpustack_server_url: [gpu-worker-a, gpu-worker-b]}
        read:
          description: The names with that beginning that roles, playbooks or other variables mention.
          type: list
          elements: str
          sample: [gpustack_server_url]
        options:
          description: The public variables of the roles.
          type: list
          elements: str
          sample: [gpustack_server_url]
        missing:
          description: The variables that a role requires and hosts in its group lack, with these hosts.
          type: dict
          sample: {gpustack_worker_ip: [gpu-worker-b]}
        placeholders:
          description: Variables that still have a value that is only an example, with their hosts.
          type: dict
          sample: {ansible_host: [gpu-worker-a]}
        encrypted:
          description: Variables with a value that no password decrypts that was given, with their hosts.
          type: dict
          sample: {vault_gpustack_admin_password: [gpu-worker-a]}
        controller:
          description: What the collection needs on the controller, first ansible-core, then other collections.
          type: list
          elements: dict
          contains:
            name:
              description: V(ansible-core), or the collection's name.
              type: str
              sample: community.docker
            wanted:
              description: The versions that are good, as a specifier.
              type: str
              sample: ">=4.0.0"
            found:
              description: The version that is there, null when there is none.
              type: str
              sample: 4.8.3
            satisfied:
              description: Whether it is one of these.
              type: bool
"""
