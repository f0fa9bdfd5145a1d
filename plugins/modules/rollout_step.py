#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_step
version_added: 1.0.0
short_description: Say and note how far a rolling update is
description:
  - Shows one line on the terminal, with how long the step took, and keeps it in a report for machines.
  - The report is a JSON file on the controller. It holds C(began), and under C(hosts) and C(models) for each name what
    O(details) said, C(steps), each with C(step), C(seconds) since the one before, and C(at), the time in UTC, and
    C(seconds), how long what O(measures) names took in its last turn, with their C(total), and the C(overhead), which
    is the total without V(ready).
  - Never reports a change and needs no connection to the host.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: In check mode the line is shown and nothing is kept.
  diff_mode:
    support: none
  platform:
    platforms: all
options:
  report:
    description:
      - The JSON file, relative to the directory in which the playbook was started. Its directory is created.
    type: path
    required: true
  kind:
    description:
      - What O(name) names. With V(run) a new report begins.
    type: str
    choices: [run, host, model]
    required: true
  name:
    description:
      - The host or the model; of a run, a title.
    type: str
    required: true
  step:
    description:
      - What has just been reached, in a few words.
    type: str
    required: true
  begins:
    description:
      - Whether a turn begins with this step, so that nothing is measured from the one before.
    type: bool
    default: false
  measures:
    description:
      - What has taken the time since the step before.
    type: str
    choices: [drain, change, ready, first_answer, back]
  details:
    description:
      - What else the report shall hold about it, and the line in parentheses.
    type: dict
    default: {}
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Begin a report
  gpuops.gpustack.rollout_step:
    report: build/rollout/report.json
    kind: run
    name: rolling update
    step: begun

- name: Note that a worker has been drained
  gpuops.gpustack.rollout_step:
    report: build/rollout/report.json
    kind: host
    name: gpu-worker-a
    step: drained
    begins: false
    measures: drain
    details:
      requests_left: 0
"""

RETURN = r"""
seconds:
  description: Seconds since the step before of the same name.
  returned: success
  type: float
  sample: 12.4
"""
