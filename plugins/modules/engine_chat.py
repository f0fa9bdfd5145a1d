#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_chat
version_added: 1.0.0
short_description: Ask a vLLM engine questions, all at once
description:
  - Sends chat requests straight to an engine, not through GPUStack, and fails when one of them is not answered. So it
    proves an engine that no route leads to yet.
  - Runs on a host that reaches the engine; its port is usually open between the hosts of a fleet only.
  - Changes nothing. In check mode nothing is asked.
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
  address:
    description:
      - Where the engine listens, as C(HOST:PORT).
    type: str
    required: true
  model:
    description:
      - The name under which the engine serves the model, which is that of GPUStack's model.
    type: str
    required: true
  prompt:
    description:
      - The question.
    type: str
    required: true
  requests:
    description:
      - How many times to ask it at once. Some faults only show with several requests in one batch.
    type: int
    default: 1
  max_tokens:
    description:
      - Tokens of an answer.
    type: int
    default: 16
  timeout:
    description:
      - Seconds until an answer must be there.
    type: int
    default: 120
seealso:
  - module: gpuops.gpustack.engine_requests
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Ask an engine eight questions at once
  gpuops.gpustack.engine_chat:
    address: 192.0.2.11:40000
    model: qwen2.5-14b-instruct-r2
    prompt: Say hello in five words.
    requests: 8
    max_tokens: 32
    timeout: 300
"""

RETURN = r"""
answers:
  description: How many requests were answered.
  returned: success
  type: int
  sample: 8
fastest_seconds:
  description: How long the first answer took.
  returned: success
  type: float
  sample: 0.6
slowest_seconds:
  description: How long the last answer took.
  returned: success
  type: float
  sample: 1.4
"""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

# A model that reasons may still do so when its tokens are used up; vLLM has called that by both names.
ANSWERS = ("content", "reasoning", "reasoning_content")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str", "required": True},
            "model": {"type": "str", "required": True},
            "prompt": {"type": "str", "required": True},
            "requests": {"type": "int", "default": 1},
            "max_tokens": {"type": "int", "default": 16, "no_log": False},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    number = 0 if module.check_mode else module.params["requests"]
    with ThreadPoolExecutor(max(number, 1)) as pool:
        results = list(pool.map(lambda _number: ask(module.params), range(number)))
    problems = [problem for problem, _seconds in results if problem]
    times = [seconds for _problem, seconds in results]
    if problems:
        module.fail_json(
            msg=f"The engine at {module.params['address']} did not answer {len(problems)} of {number} questions: "
            f"{problems[0]}"
        )
    module.exit_json(
        changed=False,
        answers=number,
        fastest_seconds=round(min(times, default=0.0), 2),
        slowest_seconds=round(max(times, default=0.0), 2),
    )


def ask(params: dict[str, Any]) -> tuple[str, float]:
    """What went wrong, empty for an answer, and how long it took."""
    body = {
        "model": params["model"],
        "messages": [{"role": "user", "content": params["prompt"]}],
        "max_tokens": params["max_tokens"],
    }
    began = time.monotonic()
    try:
        with open_url(
            f"http://{params['address']}/v1/chat/completions",
            method="POST",
            data=json.dumps(body),
            headers={"Content-Type": "application/json"},
            timeout=params["timeout"],
            use_proxy=False,
        ) as answer:
            message = json.loads(answer.read())["choices"][0]["message"]
            problem = "" if any(map(message.get, ANSWERS)) else f"an answer without text ({message})"
    except (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError) as error:
        problem = str(error) or type(error).__name__
    return problem, time.monotonic() - began


if __name__ == "__main__":
    main()
