# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the engines that run are the engines that were planned: a plan and what was read from the hosts, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import containers, engine_arguments, masking
from .wording import counted

SHARED_MEMORY_VARIABLE = "GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB"

# Flags that GPUStack puts on the command line itself (2.1.1: worker/backends/vllm.py, _build_command_args; 2.3: utils/
# vllm_topology.py), and which therefore are no difference where the plan does not mention them. The sizes of
# parallelism are not among them: GPUStack adds those only when nobody has planned any.
GPUSTACK_FLAGS = frozenset(
    {
        "--data-parallel-backend",
        "--data-parallel-rpc-port",
        "--disable-access-log-for-endpoints",
        "--distributed-executor-backend",
        "--enable-prompt-tokens-details",
        "--host",
        "--kv-transfer-config",
        "--max-model-len",
        "--port",
        "--served-model-name",
        "--speculative-config",
    }
)
# Variables that come from nowhere but the model, so that one which is not planned is left from an older configuration.
MODEL_VARIABLES = re.compile(r"^(?:GPUSTACK_MODEL_|RAY_CGRAPH_)")

_VISIBLE_DEVICES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")

Container = Mapping[str, Any]
Located = tuple[str, Container]  # host and container


def differences(
    plan: Mapping[str, Any], engines: Mapping[str, Mapping[str, Any]], model: str, replicas: int = 1
) -> list[dict[str, Any]]:
    """What runs otherwise than planned; an empty list means verified.

    ``plan`` is the result of ``vllm_plan``, ``engines`` the result of ``engine_info`` by host, ``model`` the model's
    name. Where the plan names ``members``, their instances are the model's, else those of the model of its name.

    ``[{"code", "instance", "host", "container", "name", "planned", "running", "message"}]``: ``name`` is the parameter
    or variable, ``message`` a sentence with all of it. Values of secrets are neither compared nor shown.
    """
    instances: dict[str, list[Located]] = {}
    for member in plan.get("members") or [model]:
        instances.update(_instances(engines, member))
    found: list[dict[str, Any]] = []
    if len(instances) != replicas:
        found.append(
            _difference(
                "instance_count_differs", name="replicas", planned=replicas, running=len(instances), subject=model
            )
        )
    for instance, located in instances.items():
        for host, container in located:
            for difference in _container_differences(plan, container):
                found.append(
                    _difference(
                        **difference,
                        subject=f"{container['name']} on {host}",
                        instance=instance,
                        host=host,
                        container=container["name"],
                    )
                )
        for difference in _instance_differences(plan, located):
            found.append(_difference(**difference, subject=instance, instance=instance))
    return found


def _difference(
    code: str,
    name: str,
    planned: Any,
    running: Any,
    subject: str,
    instance: str | None = None,
    host: str | None = None,
    container: str | None = None,
) -> dict[str, Any]:
    return {
        "code": code,
        "instance": instance,
        "host": host,
        "container": container,
        "name": name,
        "planned": planned,
        "running": running,
        "message": f"{subject}: {_sentence(name, planned, running)}",
    }


def _sentence(name: str, planned: Any, running: Any) -> str:
    if planned is None:
        return f"{name} is {_text(running)} and not planned"
    if running is None:
        return f"{name} is missing, planned is {_text(planned)}"
    return f"{name} is {_text(running)}, planned is {_text(planned)}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _instances(engines: Mapping[str, Mapping[str, Any]], model: str) -> dict[str, list[Located]]:
    """The containers of the model's instances, which GPUStack names after the model and five random characters."""
    name = re.compile(re.escape(model) + r"-[A-Za-z0-9]{5}")
    found: dict[str, list[Located]] = {}
    for host, info in sorted(engines.items()):
        for instance, content in sorted((info.get("instances") or {}).items()):
            if name.fullmatch(instance):
                found.setdefault(instance, []).extend((host, container) for container in content["containers"])
    return dict(sorted(found.items()))


def _container_differences(plan: Mapping[str, Any], container: Container) -> Iterator[dict[str, Any]]:
    if container["state"] != "running":
        yield {"code": "container_not_running", "name": "state", "planned": "running", "running": _state(container)}
    if container["role"] == containers.ROLE_PAUSE:
        yield from _shared_memory_differences(plan, container)
        return
    if container["role"] == containers.ROLE_ENGINE:
        yield from _parameter_differences(plan, container)
    yield from _variable_differences(plan, container)


def _state(container: Container) -> str:
    reasons = (
        f"exit code {container['exit_code']}" if container.get("exit_code") else None,
        "out of memory" if container.get("oom_killed") else None,
        container.get("error"),
    )
    reason = ", ".join(filter(None, reasons))
    return f"{container['state']} ({reason})" if reason else str(container["state"])


def _shared_memory_differences(plan: Mapping[str, Any], container: Container) -> Iterator[dict[str, Any]]:
    """The pause container owns the /dev/shm of all containers of its instance."""
    planned_gib = (plan.get("env") or {}).get(SHARED_MEMORY_VARIABLE)
    running_mib = container.get("shm_size_mib")
    if planned_gib is None or container.get("ipc_mode") == "host":
        return
    planned_mib = int(float(planned_gib) * 1024)
    if running_mib != planned_mib:
        yield {
            "code": "shared_memory_differs",
            "name": "/dev/shm in MiB",
            "planned": planned_mib,
            "running": running_mib,
        }


def _parameter_differences(plan: Mapping[str, Any], container: Container) -> Iterator[dict[str, Any]]:
    version = str(plan.get("backend_version") or "")
    # What engine_info read is masked, so what is planned has to be too.
    words = [masking.mask_url(word) for word in engine_arguments.split_items(plan.get("backend_parameters") or [])]
    words = masking.mask_parameters(words) or []
    planned = engine_arguments.read(words, version)
    running = engine_arguments.read(container["command"], version)
    for name in sorted({*planned, *running}):
        values = {"name": name, "planned": planned.get(name), "running": running.get(name)}
        if name not in running:
            yield {"code": "parameter_missing", **values}
        elif name not in planned:
            if name not in GPUSTACK_FLAGS:
                yield {"code": "parameter_unplanned", **values}
        elif planned[name] != running[name]:
            yield {"code": "parameter_differs", **values}


def _variable_differences(plan: Mapping[str, Any], container: Container) -> Iterator[dict[str, Any]]:
    variables = masking.mask_mapping(plan.get("env") or {}) or {}
    planned = {name: masking.mask_url(str(value)) for name, value in variables.items()}
    running = container["env"]
    for name in sorted({*planned, *(name for name in running if MODEL_VARIABLES.match(name))}):
        values = {"name": name, "planned": planned.get(name), "running": running.get(name)}
        if name not in running:
            yield {"code": "variable_missing", **values}
        elif name not in planned:
            yield {"code": "variable_unplanned", **values}
        elif planned[name] != running[name]:
            yield {"code": "variable_differs", **values}


def _instance_differences(plan: Mapping[str, Any], located: list[Located]) -> Iterator[dict[str, Any]]:
    if not any(container["role"] == containers.ROLE_ENGINE for _host, container in located):
        yield {"code": "engine_missing", "name": "engine", "planned": "running", "running": None}
    placement = plan.get("placement") or {}
    gpus = _gpus_by_host(located)
    if placement and not _is_placed_as_planned(plan, set(gpus)):
        yield {
            "code": "placement_differs",
            "name": "placement",
            "planned": _placement_text(plan),
            "running": ", ".join(sorted(gpus)) or None,
        }
    planned = sum(len(indexes) for indexes in placement.values())
    counts = [count for count in gpus.values() if count is not None]
    if planned and counts and len(counts) == len(gpus) and sum(counts) != planned:
        yield {"code": "gpu_count_differs", "name": "number of GPUs", "planned": planned, "running": sum(counts)}


def _placements(plan: Mapping[str, Any]) -> list[Mapping[str, list[int]]]:
    """Hosts and GPUs of every planned replica."""
    return plan.get("placements") or [plan["placement"]]


def _placement_text(plan: Mapping[str, Any]) -> str:
    if plan.get("automatic_placement"):
        return f"{counted(len(plan['placement']), 'host')} like {', '.join(sorted(plan['placement']))}"
    return " or ".join(", ".join(sorted(placement)) for placement in _placements(plan))


def _is_placed_as_planned(plan: Mapping[str, Any], hosts: set[str]) -> bool:
    """Where GPUStack's scheduler chooses among hosts that are alike, only their number was planned."""
    if plan.get("automatic_placement"):
        return len(hosts) == len(plan["placement"])
    return any(hosts == set(placement) for placement in _placements(plan))


def _gpus_by_host(located: list[Located]) -> dict[str, int | None]:
    """How many GPUs the instance uses on each of its hosts; None where its containers do not tell."""
    gpus: dict[str, int | None] = {}
    for host, container in located:
        if container["role"] in (containers.ROLE_ENGINE, containers.ROLE_FOLLOWER):
            visible = next((container["env"][name] for name in _VISIBLE_DEVICES if container["env"].get(name)), None)
            gpus[host] = len(visible.split(",")) if visible and visible != "all" else None
    return gpus
