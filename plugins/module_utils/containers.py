# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The containers of a host, from what the docker command line prints to what GPUStack runs in them. Text in, data out.

GPUStack's runtime (gpustack-runtime 0.1.44, ``deployer/docker.py``) starts the containers of a model instance as
``<workload>-pause`` and ``<workload>-run-<n>``. The workload is the instance, with ``-f<index>`` appended on every
worker that follows the instance's leader. Labels say the same, and those count here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from . import masking

LABEL_WORKLOAD = "runtime.gpustack.ai/workload"
LABEL_COMPONENT = "runtime.gpustack.ai/component"
LABEL_COMPONENT_NAME = "runtime.gpustack.ai/component-name"

# One JSON object per container; the labels one by one, because docker joins them with commas that values may hold too.
LIST_FORMAT = (
    '{"id":{{json .ID}},"name":{{json .Names}},"image":{{json .Image}},"state":{{json .State}},'
    '"status":{{json .Status}},"ports":{{json .Ports}},"workload":{{json (.Label "' + LABEL_WORKLOAD + '")}}}'
)

ROLE_ENGINE = "default"
ROLE_FOLLOWER = "follower"
ROLE_PAUSE = "pause"

_PUBLISHED = re.compile(r":(\d+)(?:-(\d+))?->")
# An instance's name ends in five random letters and digits, so "f" and up to three digits are never part of it.
_FOLLOWER = re.compile(r"^(?P<instance>.+)-f\d{1,3}$")


def parse_list(output: str) -> dict[str, dict[str, Any]]:
    """What ``docker ps --all --no-trunc --format LIST_FORMAT`` printed, by container name.

    ``{name: {"id", "image", "state", "status", "ports", "workload"}}``: ``ports`` are those of the host that lead into
    the container, ``workload`` is None for containers that are not a model instance's. Lines that are not JSON
    (warnings) are skipped.
    """
    containers = {}
    for line in output.splitlines():
        try:
            container = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(container, dict) and "name" in container:
            container["workload"] = container.get("workload") or None
            container["ports"] = _published_ports(container.get("ports") or "")
            containers[container.pop("name")] = container
    return containers


def _published_ports(text: str) -> list[int]:
    """The host's ports in ``0.0.0.0:8080->80/tcp, [::]:8080->80/tcp, 0.0.0.0:9000-9001->9000-9001/tcp``."""
    ranges = _PUBLISHED.findall(text)
    return sorted({port for first, last in ranges for port in range(int(first), int(last or first) + 1)})


def instance_of(workload: str) -> str:
    """The model instance that a workload belongs to."""
    match = _FOLLOWER.match(workload)
    return match.group("instance") if match else workload


def group_by_instance(inspected: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Containers as ``docker inspect`` shows them, by model instance: ``{instance: {"containers": [...]}}``, sorted."""
    instances: dict[str, dict[str, Any]] = {}
    for container in sorted((describe(entry) for entry in inspected), key=lambda one: str(one["name"])):
        if container["workload"]:
            instances.setdefault(instance_of(container["workload"]), {"containers": []})["containers"].append(container)
    return dict(sorted(instances.items()))


def describe(entry: Mapping[str, Any]) -> dict[str, Any]:
    """One object of ``docker inspect``, reduced to what tells how the container really runs; secrets are masked."""
    config, host, state = (entry.get(part) or {} for part in ("Config", "HostConfig", "State"))
    labels = config.get("Labels") or {}
    workload = labels.get(LABEL_WORKLOAD)
    shm_size = host.get("ShmSize")
    environment = config.get("Env") or []
    secrets = secrets_of(environment)
    return {
        "name": str(entry.get("Name", "")).lstrip("/"),
        "role": _role(labels),
        "workload": workload,
        "image": config.get("Image"),
        "command": _arguments([entry.get("Path") or "", *(entry.get("Args") or [])], secrets),
        "entrypoint": _arguments(config.get("Entrypoint") or [], secrets),
        "env": _masked(_variables(environment)),
        "ipc_mode": host.get("IpcMode") or None,
        "network_mode": host.get("NetworkMode") or None,
        "privileged": bool(host.get("Privileged")),
        "shm_size_mib": shm_size // 2**20 if isinstance(shm_size, int) else None,
        "runtime": host.get("Runtime") or None,
        "restart_policy": (host.get("RestartPolicy") or {}).get("Name") or None,
        "mounts": sorted(map(_mount, entry.get("Mounts") or []), key=lambda mount: str(mount["destination"])),
        "state": state.get("Status"),
        "exit_code": state.get("ExitCode"),
        "oom_killed": bool(state.get("OOMKilled")),
        "error": state.get("Error") or None,
        "started_at": state.get("StartedAt"),
        "restart_count": entry.get("RestartCount", 0),
    }


def _role(labels: Mapping[str, str]) -> str | None:
    """``default`` (the engine), ``ray-head``, ``follower``, ``pause`` …; None outside of model instances."""
    workload, component = labels.get(LABEL_WORKLOAD), labels.get(LABEL_COMPONENT)
    if not workload:
        return None
    role = labels.get(LABEL_COMPONENT_NAME) or component
    return ROLE_FOLLOWER if role == ROLE_ENGINE and instance_of(workload) != workload else role


def secrets_of(environment: Iterable[str]) -> set[str]:
    """The secret values in an environment as ``docker inspect`` shows it, long enough to be looked for in texts."""
    return masking.secrets_of({"env": _variables(environment)})


def _arguments(words: Iterable[str], secrets: Collection[str]) -> list[str]:
    """A command without what is secret by its flag, or has come into it from the environment."""
    return [masking.redact(word, secrets) for word in masking.mask_parameters(words) or []]


def _variables(environment: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _equals, value in (variable.partition("=") for variable in environment)}


def _masked(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: masking.mask_url(value) for name, value in (masking.mask_mapping(variables) or {}).items()}


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": mount.get("Type"),
        "source": mount.get("Name") if mount.get("Type") == "volume" else mount.get("Source"),
        "destination": mount.get("Destination"),
        "read_only": not mount.get("RW", True),
    }
