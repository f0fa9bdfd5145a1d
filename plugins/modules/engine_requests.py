#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_requests
version_added: 1.0.0
short_description: Requests that vLLM engines have and have not answered
description:
  - Reads from the engines' own metrics how many requests run and wait, and can wait until there are none.
  - Runs on a host that reaches the engines; their ports are usually open between the hosts of a fleet only.
  - An engine that does not answer has no requests, since there is nobody who could answer them.
  - While it waits, the task shows how many are left.
  - Changes nothing.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  addresses:
    description:
      - Where the engines listen, as C(HOST:PORT).
    type: list
    elements: str
    required: true
  wait_timeout:
    description:
      - Seconds to wait at most until no request is in flight. With V(0) the module looks once.
    type: int
    default: 0
seealso:
  - module: gpuops.gpustack.worker_turn
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: See how busy an engine is
  gpuops.gpustack.engine_requests:
    addresses: ["192.0.2.11:40000"]

- name: Wait until everybody has their answer
  gpuops.gpustack.engine_requests:
    addresses: "{{ turn.engines | selectattr('drained') | map(attribute='address') }}"
    wait_timeout: 300
  register: drain
"""

RETURN = r"""
settled:
  description: Whether no request is in flight.
  returned: success
  type: bool
  sample: true
in_flight:
  description: How many requests are in flight.
  returned: success
  type: int
  sample: 0
finished:
  description: How many requests the engines have answered since they were started.
  returned: success
  type: int
  sample: 1834
silent:
  description: Addresses at which nothing answered.
  returned: success
  type: list
  elements: str
  sample: []
progress:
  description: How far it is, in one line.
  returned: success
  type: str
  sample: 3 requests in flight
waited_seconds:
  description: How long it took.
  returned: success
  type: float
  sample: 2.5
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_endpoint import metrics_page
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_metrics import in_flight, requests_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import until_settled

TIMEOUT_SECONDS = 10
SETTLING_SECONDS = 0.5


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "addresses": {"type": "list", "elements": "str", "required": True},
            "wait_timeout": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    addresses = module.params["addresses"]
    answer = until_settled(
        lambda: look(addresses),
        timeout_seconds=module.params["wait_timeout"],
        clock=time.monotonic,
        sleep=time.sleep,
        poll_seconds=0.5,
    )
    module.exit_json(**answer)


def look(addresses: list[str]) -> dict[str, Any]:
    """What the engines have now; nothing only if that is so twice, since a request may be on its way to one."""
    answer = count(addresses)
    if answer["settled"] and len(answer["silent"]) < len(addresses):
        time.sleep(SETTLING_SECONDS)
        answer = count(addresses)
    return answer


def count(addresses: list[str]) -> dict[str, Any]:
    """Requests by the engines' metrics."""
    pages = {address: metrics_page(address, TIMEOUT_SECONDS) for address in addresses}
    engines = [requests for requests in map(requests_of, filter(None, pages.values())) if requests]
    number = in_flight(engines)
    return {
        "changed": False,
        "settled": number == 0,
        "in_flight": number,
        "finished": sum(engine["finished"] for engine in engines),
        "silent": [address for address, page in pages.items() if page is None],
        "progress": f"{number} request{'' if number == 1 else 's'} in flight" if number else "no request in flight",
    }


if __name__ == "__main__":
    main()
