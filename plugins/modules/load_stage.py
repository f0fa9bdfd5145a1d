#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load_stage
short_description: One stage of a load test, made by AIPerf
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Sends the requests of one stage to a model through GPUStack's own endpoint and returns what came back.
  - The traffic is made by AIPerf, which has to be installed where this module runs. The API key goes from file to file,
    the second one for its owner only and removed afterwards; it is in no argument list and no environment.
  - Does not fail when requests do; P(gpuops.gpustack.load_test_record#filter) judges.
options:
  generator:
    description: The executable of AIPerf.
    type: path
    required: true
  server_url:
    description: GPUStack's address.
    type: str
    required: true
  api_key_path:
    description: File with the API key with which the requests are sent, as M(gpuops.gpustack.api_key) writes it.
    type: path
    required: true
  model:
    description: Name of the route under which the model is called.
    type: str
    required: true
  tokenizer:
    description: Directory with the model's tokenizer, or its repository on Hugging Face.
    type: str
    required: true
  stage:
    description: One entry of what P(gpuops.gpustack.load_test_stages#filter) returns.
    type: dict
    required: true
  directory:
    description: Where AIPerf leaves its own reports.
    type: path
    required: true
  request_timeout:
    description: Seconds after which a request counts as failed.
    type: float
    default: 600
  timeout:
    description: Seconds after which the stage is broken off.
    type: int
    default: 7200
  environment:
    description: Environment of AIPerf, beside that of the module.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and say whether it would change something, without changing it.
    support: none
    details: Is skipped.
  diff_mode:
    description: Returns what differed, before and after, when in diff mode.
    support: none
seealso:
  - module: gpuops.gpustack.api_key
  - plugin: gpuops.gpustack.load_test_stages
    plugin_type: filter
  - plugin: gpuops.gpustack.load_test_record
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Ask four short questions one after the other
  gpuops.gpustack.load_stage:
    generator: /opt/aiperf/bin/aiperf
    server_url: https://gpustack.example.com
    api_key_path: /var/tmp/load-test/key
    model: qwen2.5-14b-instruct
    tokenizer: /var/lib/models/Qwen2.5-14B-Instruct
    directory: /var/tmp/load-test/smoke-1
    stage: {name: smoke-1, prompt_tokens: 512, answer_tokens: 64, concurrency: 1, requests: 4, seconds: null}
  delegate_to: localhost
"""

RETURN = r"""
figures:
  description: What came back. Times are in seconds; what is unknown is null.
  returned: success
  type: dict
  contains:
    requests:
      description: Requests that were sent.
      type: int
      sample: 4
    errors:
      description: Those of them that failed.
      type: int
      sample: 0
    short_answers:
      description: Those that ended early, as if they were complete.
      type: int
      sample: 0
    error_kinds:
      description: The most frequent errors, each with C(message) and C(count).
      type: list
      elements: dict
    started_at:
      description: When the first request was sent, in Unix time.
      type: float
      sample: 1796083105.997
    ended_at:
      description: When the last answer ended, in Unix time.
      type: float
      sample: 1796083108.626
    first_token_seconds:
      description: Time to the first token, as C(mean), C(p50), C(p95) and C(max).
      type: dict
      sample: {mean: 0.24, p50: 0.24, p95: 0.32, max: 0.32}
    token_seconds:
      description: Time per token after the first.
      type: dict
    latency_seconds:
      description: Time to the end of the answer.
      type: dict
    lag_seconds:
      description: The generator's own delay in sending a request that was due.
      type: dict
    answer_tokens_per_second:
      description: Tokens that all answers together brought in a second.
      type: float
      sample: 73.0
    requests_per_second:
      description: Answers in a second.
      type: float
      sample: 2.3
    prompt_tokens_mean:
      description: Tokens of a prompt as the engine counts them.
      type: float
      sample: 543.0
    answer_tokens_mean:
      description: Tokens of an answer as the engine counts them.
      type: float
      sample: 32.0
generator:
  description: How AIPerf itself fared.
  returned: success
  type: dict
  contains:
    rc:
      description: Its exit code; 1 when every request failed.
      type: int
      sample: 0
    seconds:
      description: How long it ran, its own start and evaluation included.
      type: float
      sample: 19.6
    cpu_seconds:
      description: Processor time it took.
      type: float
      sample: 8.8
    timed_out:
      description: Whether it was broken off.
      type: bool
      sample: false
"""

import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import processes
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.invocation import Target, configuration
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.results import figures

RECORDS = "profile_export.jsonl"
SUMMARY = "profile_export_aiperf.json"
# What AIPerf says last, when it could not even begin.
LAST_LINES = 15


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "generator": {"type": "path", "required": True},
            "server_url": {"type": "str", "required": True},
            "api_key_path": {"type": "path", "required": True, "no_log": False},
            "model": {"type": "str", "required": True},
            "tokenizer": {"type": "str", "required": True, "no_log": False},
            "stage": {"type": "dict", "required": True},
            "directory": {"type": "path", "required": True},
            "request_timeout": {"type": "float", "default": 600.0},
            "timeout": {"type": "int", "default": 7200},
            "environment": {"type": "dict", "default": {}},
        }
    )
    options = module.params
    directory = Path(options["directory"])
    directory.mkdir(parents=True, exist_ok=True)
    for name in (RECORDS, SUMMARY):
        (directory / name).unlink(missing_ok=True)
    key = Path(options["api_key_path"]).read_text(encoding="utf-8").strip()
    module.no_log_values.add(key)
    target = Target(options["server_url"], options["model"], options["tokenizer"], key, options["request_timeout"])
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=module.tmpdir) as file:  # for its owner only
        json.dump(configuration(options["stage"], target, str(directory)), file)  # JSON is YAML
        file.flush()
        generator, output = run([options["generator"], "profile", "--config", file.name], options)
    records = directory / RECORDS
    if not records.exists():
        module.fail_json(
            msg=f"AIPerf sent nothing in stage {options['stage']['name']} (exit code {generator['rc']}"
            f"{', broken off' if generator['timed_out'] else ''}): "
            f"{' '.join(output.split())[-600:] or 'it said nothing'}",
            generator=generator,
            output=output.splitlines()[-LAST_LINES:],
        )
    summary = directory / SUMMARY
    with records.open(encoding="utf-8") as lines:
        found = figures(
            json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else None,
            lines,
            options["stage"]["answer_tokens"],
        )
    module.exit_json(changed=False, figures=found, generator=generator)


def run(command: list[str], options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Runs AIPerf, all its processes in one group so that none outlives it; its account and what it said."""
    environment = {name: str(value) for name, value in options["environment"].items()}
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    output, rc, timed_out = processes.run(command, options["timeout"], environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    account = {
        "rc": rc,
        "seconds": round(time.monotonic() - started, 2),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "timed_out": timed_out,
    }
    return account, output


if __name__ == "__main__":
    main()
