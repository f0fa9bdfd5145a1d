#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_watch
short_description: Memory and temperature of a host's GPUs over time
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Asks C(nvidia-smi) for memory, temperature and use of every GPU as long as a file exists. Meant to run in the
    background (C(async)) beside a load test.
  - The result stays small however long it looks. A host without a driver that answers gives no samples.
options:
  while_exists:
    description: The file on this host; the module ends when it is gone.
    type: path
    required: true
  interval:
    description: Seconds between two looks.
    type: float
    default: 5
  watch_timeout:
    description: Seconds after which it ends in any case.
    type: int
    default: 86400
  nvidia_smi:
    description: Name or path of the executable.
    type: str
    default: nvidia-smi
extends_documentation_fragment:
  - gpuops.gpustack.attributes.info
seealso:
  - module: gpuops.gpustack.load_watch
"""

EXAMPLES = r"""
- name: Watch the GPUs in the background
  gpuops.gpustack.gpu_watch:
    while_exists: /var/tmp/load-test-running
    interval: 10
  async: 7200
  poll: 0
  register: watch
"""

RETURN = r"""
samples:
  description: What was seen over time, 600 samples at most; of several looks that became one, the peaks.
  returned: success
  type: list
  elements: dict
  contains:
    at:
      description: Unix time, by this host's clock.
      type: float
      sample: 1796083106.4
    gpus:
      description: C(memory_used_mib), C(temperature_c), C(utilization_percent) by the card's index; null when unknown.
      type: dict
      sample: {"0": {memory_used_mib: 29101, temperature_c: 61, utilization_percent: 98}}
failed_looks:
  description: How often C(nvidia-smi) gave no answer.
  returned: success
  type: int
  sample: 0
"""

import shlex
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.cards import QUERY, cards, peaks
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.series import Series
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.process import find, run

ANSWER_SECONDS = 20


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "while_exists": {"type": "path", "required": True},
            "interval": {"type": "float", "default": 5.0},
            "watch_timeout": {"type": "int", "default": 86400},
            "nvidia_smi": {"type": "str", "default": "nvidia-smi"},
        },
        supports_check_mode=True,
    )
    options = module.params
    executable = find(options["nvidia_smi"])
    series, failed = Series(peaks), 0
    end = time.monotonic() + options["watch_timeout"]
    while True:
        last = not Path(options["while_exists"]).exists() or time.monotonic() > end
        output, rc, timed_out = run([executable, *shlex.split(QUERY)], ANSWER_SECONDS) if executable else ("", 1, False)
        if rc or timed_out:
            failed += 1
        else:
            series.add({"at": time.time(), "gpus": cards(output)})
        if last:
            module.exit_json(changed=False, samples=series.samples, failed_looks=failed)
        time.sleep(options["interval"])


if __name__ == "__main__":
    main()
