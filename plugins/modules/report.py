#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: report
version_added: 1.0.0
short_description: Show a text to the person who runs the playbook
description:
  - Writes a text to the terminal as it is, with its line breaks and columns, where M(ansible.builtin.debug) would show
    it as quoted JSON.
  - Never changes anything and needs no connection to the host.
  - With C(no_log) the text is not shown.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: all
options:
  text:
    description:
      - The text.
    type: str
    required: true
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Say where the fleet can be seen
  gpuops.gpustack.report:
    text: |
      GPUStack answers at {{ gpustack_server_url }}.
        workers  {{ groups['gpustack_workers'] | length }}
  run_once: true
"""

RETURN = r""" # """
