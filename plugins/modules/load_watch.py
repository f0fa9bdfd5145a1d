#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load_watch
short_description: What happens to a model's engines while it is under load
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Looks at the instances of a model, and at the metrics of their engines, as long as a file exists. Meant to run in
    the background (C(async)) beside a load test.
  - Sees engines that stop and come back, which nobody can see afterwards, because GPUStack forgets restarts as soon as
    an engine runs again. Of an engine that stops it keeps the end of the log, which goes with the restart.
  - The result stays small however long it looks.
options:
  name:
    description: Name of the model. Those that were made for its other replicas are watched with it.
    type: str
    required: true
  while_exists:
    description: The file; the module ends when it is gone.
    type: path
    required: true
  interval:
    description: Seconds between two looks.
    type: float
    default: 2
  watch_timeout:
    description: Seconds after which it ends in any case.
    type: int
    default: 86400
  log_lines:
    description: How many lines of the log of an engine that stopped to keep.
    type: int
    default: 200
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.gpu_watch
  - module: gpuops.gpustack.model_info
"""

EXAMPLES = r"""
- name: Watch a model in the background
  gpuops.gpustack.load_watch:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: qwen2.5-14b-instruct
    while_exists: /var/tmp/load-test/running
  async: 7200
  poll: 0
  register: watch
"""

RETURN = r"""
stops:
  description: Every engine that stopped, in the order seen, 50 at most.
  returned: success
  type: list
  elements: dict
  contains:
    at:
      description: When it was seen, in Unix time.
      type: float
      sample: 1796083106.4
    instance:
      description: Name of the instance.
      type: str
      sample: qwen2.5-14b-instruct-x7Kq2
    how:
      description: How it was seen.
      type: str
      sample: "it went from running to error: Inference server exited with code 1"
    log:
      description: The end of its log.
      type: list
      elements: str
samples:
  description: What was seen over time, 600 samples at most; of several looks that became one, the peaks.
  returned: success
  type: list
  elements: dict
  contains:
    at:
      description: Unix time.
      type: float
      sample: 1796083106.4
    running_instances:
      description: Instances that run.
      type: int
      sample: 1
    engines_answering:
      description: Engines whose metrics could be read.
      type: int
      sample: 1
    running:
      description: Requests that the engines work on.
      type: float
      sample: 6.0
    waiting:
      description: Requests in the engines' queues.
      type: float
      sample: 2.0
    kv_cache_usage:
      description: Share of the KV cache in use, 0 to 1, of the fullest engine; null when none told.
      type: float
      sample: 0.87
    cpu_busy:
      description: Share of the processors of the machine this runs on that were in use; null when unknown.
      type: float
      sample: 0.34
    prompt_tokens:
      description: Tokens of prompts since the first look. Likewise C(answer_tokens), C(preemptions), C(answered)
        (requests), C(latency_seconds) (of all answered requests together), C(first_tokens) and C(first_token_seconds).
      type: float
      sample: 81920.0
looks:
  description: How often it looked.
  returned: success
  type: int
  sample: 300
failed_looks:
  description: How often the server gave no answer.
  returned: success
  type: int
  sample: 0
"""

import time
from pathlib import Path
from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_endpoint import metrics_page
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import GPUStackError, NotFound
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.machine import BusyShare
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.prometheus import engine_figures
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.record import members_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.watching import Watch
from ansible_collections.gpuops.gpustack.plugins.module_utils.logs import read_log
from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import secrets_of

METRICS_TIMEOUT_SECONDS = 2


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "while_exists": {"type": "path", "required": True},
            "interval": {"type": "float", "default": 2.0},
            "watch_timeout": {"type": "int", "default": 86400},
            "log_lines": {"type": "int", "default": 200},
        },
    )
    module.run(lambda client, writer: _watch(module, client))


def _watch(module: GPUStackModule, client: Client) -> dict[str, Any]:
    models = members_of(list(client.listing("/v2/models")), module.params["name"])
    if not models:
        raise NotFound(f"There is no model {module.params['name']!r} to watch. Deploy it first.")
    secrets = {secret for model in models for secret in secrets_of(model)}
    module.hide(secrets)
    watch, busy = Watch(), BusyShare()
    end = time.monotonic() + module.params["watch_timeout"]
    looks = failed = 0
    while True:
        # One more look after the file is gone: what happened at the very end counts as well.
        last = not Path(module.params["while_exists"]).exists() or time.monotonic() > end
        looks += 1
        try:
            _look(module, client, {model["id"] for model in models}, watch, busy, secrets)
        except GPUStackError:
            failed += 1
        if last:
            return {
                "changed": False,
                "stops": watch.stops,
                "samples": watch.samples,
                "looks": looks,
                "failed_looks": failed,
            }
        time.sleep(module.params["interval"])


def _look(
    module: GPUStackModule, client: Client, models: set[int], watch: Watch, busy: BusyShare, secrets: set[str]
) -> None:
    instances = [instance for instance in client.listing("/v2/model-instances") if instance["model_id"] in models]
    running = [instance for instance in instances if instance["state"] == "running"]
    engines = {instance["name"]: _metrics(instance) for instance in running}
    silent = [instance for instance in running if engines[instance["name"]] is None]
    known = {name: figures for name, figures in engines.items() if figures is not None}
    watch.look(time.time(), instances, known, busy.since_last())
    # The log goes when the engine is started again, so it is read while the engine is down, or about to be.
    for instance in [*silent, *(instance for instance in instances if instance["state"] in ("error", "unreachable"))]:
        watch.remember_log(instance["name"], read_log(client, instance, module.params["log_lines"], secrets))


def _metrics(instance: dict[str, Any]) -> dict[str, float] | None:
    """The figures of an engine; None when it does not tell them."""
    page = metrics_page(f"{instance['worker_ip']}:{instance['port']}", METRICS_TIMEOUT_SECONDS)
    return None if page is None else engine_figures(page)


if __name__ == "__main__":
    main()
