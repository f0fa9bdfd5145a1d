#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_facts
version_added: 1.0.0
short_description: Gather facts about the NVIDIA GPUs of a host
description:
  - Gathers the driver, the cards with their compute capability and memory, and the links between them as
    RV(ansible_facts.gpustack_gpu), from which P(gpuops.gpustack.vllm_plan#filter) plans.
  - The driver is asked through C(nvidia-smi), one process for each source. The XML log comes first, then a query, of
    which an old driver may refuse fields without spoiling the rest, then the list and the table where neither answers.
    The PCI bus in sysfs tells of the cards that the driver does not show, and of all cards where there is no driver.
  - A host without a GPU or with a broken driver is an answer, not a failure. What is wrong is listed in
    RV(ansible_facts.gpustack_gpu.problems), each entry with a remedy.
  - Links are what the driver says of each pair of cards. That a card of some name can have NVLink means nothing.
extends_documentation_fragment:
  - gpuops.gpustack.attributes.info
  - ansible.builtin.action_common_attributes.facts
attributes:
  facts:
    support: full
options:
  nvidia_smi:
    description:
      - Name or path of the C(nvidia-smi) executable. A name is looked for in E(PATH) and where drivers put it, such as
        C(/usr/lib/wsl/lib).
    type: str
    default: nvidia-smi
  timeout_seconds:
    description:
      - How long one run of C(nvidia-smi) may take. One that takes longer is killed with its children and reported as
        problem V(nvidia_smi_timeout). After two of them the driver is asked nothing more.
      - Without the persistence daemon a host with many cards may need half a minute for every answer.
    type: int
    default: 60
  sysfs_root:
    description:
      - Where sysfs is mounted. In a container this may be the host's, mounted at another place.
    type: path
    default: /sys
notes:
  - Run it as root (C(become)) on hosts that restrict the device files.
  - In a container that was given only some of a host's cards, sysfs still shows the others, which then count as cards
    that the driver does not list. Gather on the host.
seealso:
  - plugin: gpuops.gpustack.vllm_plan
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Gather the GPUs of the host
  gpuops.gpustack.gpu_facts:
  become: true

- name: Refuse a host with a card that is not usable
  ansible.builtin.assert:
    that: gpustack_gpu.devices | rejectattr('usable') | length == 0
    fail_msg: "{{ gpustack_gpu.problems | map(attribute='message') | join(' ') }}"

- name: Gather with the driver that a driver container installed
  gpuops.gpustack.gpu_facts:
    nvidia_smi: /run/nvidia/driver/usr/bin/nvidia-smi

- name: Give up early where a card is likely to hang
  gpuops.gpustack.gpu_facts:
    timeout_seconds: 15

- name: Gather in a container that has the host's sysfs at another place
  gpuops.gpustack.gpu_facts:
    sysfs_root: /host/sys
"""

RETURN = r"""
ansible_facts:
  description: The facts, added to the host's variables.
  returned: always
  type: dict
  contains:
    gpustack_gpu:
      description: The NVIDIA GPUs of the host.
      returned: always
      type: dict
      contains:
        driver_version:
          description:
            - Version of the driver; of the loaded kernel module where only that is known. Null when unknown.
          returned: always
          type: str
          sample: 580.95.05
        cuda_version:
          description:
            - Highest CUDA version that the driver supports. Null when unknown; drivers below branch 410 do not tell.
          returned: always
          type: str
          sample: "13.0"
        devices:
          description: The cards, by index.
          returned: always
          type: list
          elements: dict
          contains:
            index:
              description:
                - Number of the card as C(nvidia-smi) counts. A card that the driver does not list gets the lowest
                  number that is free.
              returned: always
              type: int
              sample: 0
            uuid:
              description: The driver's identifier of the card. Null when hidden or unknown.
              returned: always
              type: str
              sample: GPU-4f1c9a52-6f0e-4d3b-9a53-0f6d2f3b7c11
            pci_bus_id:
              description: PCI address as C(nvidia-smi) writes it. Null when unknown.
              returned: always
              type: str
              sample: 00000000:3B:00.0
            name:
              description: Product name, in full where any source has it. Null when unknown.
              returned: always
              type: str
              sample: Tesla V100-PCIE-32GB
            architecture:
              description:
                - One of V(kepler), V(maxwell), V(pascal), V(volta), V(turing), V(ampere), V(ada), V(hopper) and
                  V(blackwell). Null when unknown.
              returned: always
              type: str
              sample: volta
            compute_capability:
              description:
                - CUDA compute capability as the driver tells it. Where it does not (branches below 510), what the PCI
                  device id, the name or the architecture tell. Null when unknown.
              returned: always
              type: str
              sample: "7.0"
            memory_total_mib:
              description:
                - Memory of the card in MiB as the driver tells it, which depends on the driver's branch. Integrated
                  chips (Jetson, GB10) share the system's memory, which is given for them. Null when unknown.
              returned: always
              type: int
              sample: 32768
            memory_used_mib:
              description: Memory in use in MiB. Null when unknown.
              returned: always
              type: int
              sample: 0
            mig:
              description: One of V(disabled), V(enabled) and V(unsupported). Null when unknown.
              returned: always
              type: str
              sample: unsupported
            usable:
              description:
                - Whether an engine that takes whole cards can use this one. False for cards that are lost or
                  unreadable, that have no working driver, are divided by MIG or passed through to a virtual machine.
              returned: always
              type: bool
              sample: true
            problems:
              description:
                - What ails the card or why it is not usable, with the same keys as the problems of the host.
              returned: always
              type: list
              elements: dict
              sample: []
        links:
          description:
            - Every pair of cards that the driver lists, lower index first. C(topology) is the word of
              C(nvidia-smi topo -m) for the way between them (such as V(NV2), V(PIX), V(PHB), V(NODE) and V(SYS)),
              C(nvlinks) the number of NVLinks, C(p2p_read) whether one card can read the other's memory. Each is null
              when unknown.
            - For GeForce cards without NVLink C(p2p_read) is never true. Their drivers have no peer access over PCIe,
              and report it nevertheless on some boards.
          returned: always
          type: dict
          sample: {"0-1": {"topology": "SYS", "nvlinks": 0, "p2p_read": false}}
        nvlink:
          description:
            - Whether pairs of cards are linked by NVLink, V(none), V(partial) or V(full). Null while a pair is unknown.
          returned: always
          type: str
          sample: none
        problems:
          description: Faults of the host and of its cards. Empty on a healthy host.
          returned: always
          type: list
          elements: dict
          contains:
            code:
              description: Stable name of the problem, for example V(driver_library_mismatch) or V(gpu_lost).
              returned: always
              type: str
              sample: driver_library_mismatch
            message:
              description: What was found, with the line that told it.
              returned: always
              type: str
              sample: >-
                The loaded NVIDIA kernel module and the installed libraries have different versions: Failed to
                initialize NVML: Driver/library version mismatch (libraries 580.95)
            remedy:
              description: What to do.
              returned: always
              type: str
              sample: Reboot the host, or unload and load the nvidia kernel modules.
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.gather import gather
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.pci import read_host
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.process import asker


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "nvidia_smi": {"type": "str", "default": "nvidia-smi"},
            "timeout_seconds": {"type": "int", "default": 60},
            "sysfs_root": {"type": "path", "default": "/sys"},
        },
        supports_check_mode=True,
    )
    timeout_seconds = module.params["timeout_seconds"]
    if timeout_seconds < 1:
        module.fail_json(
            msg=f"timeout_seconds is {timeout_seconds}, wanted 1 or more: nvidia-smi needs some time to answer."
        )
    ask = asker(module.params["nvidia_smi"], timeout_seconds)
    facts = gather(ask, read_host(module.params["sysfs_root"]))
    module.exit_json(changed=False, ansible_facts={"gpustack_gpu": facts})


if __name__ == "__main__":
    main()
