#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_logs
version_added: 1.0.0
short_description: The last lines of the logs of a host's kernel, GPUStack containers and engines
description:
  - Reads the ends of the logs of GPUStack's own containers and of all model instances on the host from the Docker
    engine, and of the kernel from the journal.
  - Secrets do not leave the host. Values of variables of these containers that are named like a secret, and everything
    that is named or looks like a token, password or key, are replaced by C(********).
  - Changes nothing. A log that cannot be read is an answer and no failure.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: linux
options:
  containers:
    description:
      - Names of containers to read beside those of model instances.
    type: list
    elements: str
    default: [gpustack-worker, gpustack-server]
  lines:
    description:
      - How many lines of each log to read.
    type: int
    default: 2000
  since:
    description:
      - How old lines of the kernel and of O(containers) may be, as a number with C(s), C(m) or C(h), or a point in time
        as C(2026-01-31T12:00:00Z). An engine's log is read from its start.
    type: str
    default: 1h
  timeout:
    description:
      - Seconds to wait for each log.
    type: int
    default: 20
seealso:
  - plugin: gpuops.gpustack.diagnose
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Read the logs of the last ten minutes
  gpuops.gpustack.host_logs:
    containers: [gpustack-worker]
    lines: 500
    since: 10m
    timeout: 10
  become: true
  register: logs
"""

RETURN = r"""
logs:
  description: What was read, the kernel first.
  returned: always
  type: list
  elements: dict
  contains:
    source:
      description: V(kernel), or the name of the container.
      type: str
      sample: gpustack-worker
    instance:
      description: The model instance that the container belongs to; null for others.
      type: str
    text:
      description: The lines, without secrets.
      type: str
    problem:
      description: Why the log could not be read; null where it could.
      type: str
"""

import datetime
import json
import re
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import containers, redaction

MOST_BYTES = 4_000_000  # of one log: the end is what counts
AGE = re.compile(r"(\d+)([smh])$")
SECONDS = {"s": 1, "m": 60, "h": 3600}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "containers": {"type": "list", "elements": "str", "default": ["gpustack-worker", "gpustack-server"]},
            "lines": {"type": "int", "default": 2000},
            "since": {"type": "str", "default": "1h"},
            "timeout": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )
    try:
        since = point_in_time(module.params["since"], datetime.datetime.now(datetime.timezone.utc))
    except ValueError:
        module.fail_json(
            msg=f"since is {module.params['since']!r}; wanted is a number with s, m or h, or a time as "
            "2026-01-31T12:00:00Z."
        )
    module.exit_json(changed=False, logs=[kernel_log(module, since), *container_logs(module, since)])


def point_in_time(text: str, now: datetime.datetime) -> datetime.datetime:
    """The moment that an age or a time names. Raises ValueError."""
    match = AGE.match(text)
    if match:
        return now - datetime.timedelta(seconds=int(match.group(1)) * SECONDS[match.group(2)])
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)


def kernel_log(module: AnsibleModule, since: datetime.datetime) -> dict[str, Any]:
    """What the kernel said since this boot."""
    text, problem = run(
        module,
        "journalctl",
        "--quiet",
        "--no-pager",
        "--boot",
        "--output=short-iso",
        f"--since=@{int(since.timestamp())}",
        f"--lines={module.params['lines']}",
        "--identifier=kernel",
    )
    return {"source": "kernel", "instance": None, "text": redaction.redact_text(text), "problem": problem}


def container_logs(module: AnsibleModule, since: datetime.datetime) -> list[dict[str, Any]]:
    """The logs of the containers; empty where there is no Docker engine, which other facts tell."""
    listing, problem = run(module, "docker", "ps", "--all", "--no-trunc", "--format", containers.LIST_FORMAT)
    if problem:
        return []
    wanted = {
        name: container["workload"]
        for name, container in sorted(containers.parse_list(listing).items())
        if name in module.params["containers"] or (container["workload"] and not name.endswith("-pause"))
    }
    secrets, problem = secrets_of(module, list(wanted))
    if problem:  # a log of which nobody knows the secrets is told to nobody
        return [log_of(name, workload, "", problem) for name, workload in wanted.items()]
    return [container_log(module, name, workload, since, secrets) for name, workload in wanted.items()]


def container_log(
    module: AnsibleModule, name: str, workload: str | None, since: datetime.datetime, secrets: set[str]
) -> dict[str, Any]:
    arguments = ["--tail", str(module.params["lines"])]
    if not workload:
        arguments += ["--since", since.isoformat()]
    text, problem = run(module, "docker", "logs", "--timestamps", *arguments, name, both=True)
    lines = sorted(text[-MOST_BYTES:].splitlines(keepends=True)) if not problem else []  # the two streams, by time
    return log_of(name, workload, redaction.redact_text("".join(lines), secrets), problem)


def log_of(name: str, workload: str | None, text: str, problem: str | None) -> dict[str, Any]:
    instance = containers.instance_of(workload) if workload else None
    return {"source": name, "instance": instance, "text": text, "problem": problem}


def secrets_of(module: AnsibleModule, names: list[str]) -> tuple[set[str], str | None]:
    """Values of the containers' variables that are named like a secret, and why they can't be told."""
    if not names:
        return set(), None
    inspect = ("inspect", "--type", "container", "--format", "{{json .Config.Env}}")
    text, problem = run(module, "docker", *inspect, *names, may_vanish=True)
    found: set[str] = set()
    for line in text.splitlines():
        found |= containers.secrets_of(json.loads(line) or [])
    return found, problem


def run(
    module: AnsibleModule, command: str, *arguments: str, both: bool = False, may_vanish: bool = False
) -> tuple[str, str | None]:
    """What a command prints, and why it did not.

    With ``may_vanish`` containers that ended between two calls are no problem: docker prints the others as usual.
    """
    executable = module.get_bin_path(command)
    if executable is None:
        return "", f"{command} is not on this host"
    timeout = module.params["timeout"]
    rc, out, err = module.run_command(
        ["timeout", str(timeout), executable, *arguments], errors="surrogate_then_replace"
    )
    if rc == 0 or (may_vanish and "no such" in err.lower()):
        return (out + err if both else out), None
    return "", f"no answer within {timeout} seconds" if rc == 124 else redaction.redact_text((err or out).strip())


if __name__ == "__main__":
    main()
