# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Engines: whether what runs is what was planned, whether it runs at all, and what their logs say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .. import engine_arguments
from ..engine_verification import differences
from ..fleet_plan import plan_declared
from ..planning.errors import PlanError
from .diagnosis import diagnose
from .finding import Evidence, Finding, Layer, Look
from .signature import WARNING

_AMPERE = (8, 0)
_PIPELINE = "--pipeline-parallel-size"
# Whose log it is says which layer a cause in it belongs to.
_KERNEL_LAYERS = {"host-out-of-memory": Layer.HOST}
_MODEL_LAYERS = ("model-", "tokenizer-", "chat-template-", "hub-")


def old_configurations(look: Look) -> Iterator[Finding]:
    """Pipeline stages on cards before Ampere: the engine dies at the first chat, and then has no containers."""
    old = [device for host in look.workers for device in _devices(look, host) if _capability(device) < _AMPERE]
    if not old:
        return
    card = str(old[0].get("name"))
    told = set()
    for model in look.models or []:
        stages = _pipeline_stages(model.get("backend_parameters") or [])
        if stages > 1:
            told.add(str(model["name"]))
            yield _pipeline(
                str(model["name"]), stages, card, [], Evidence("", "GPUStack", None, f"{_PIPELINE}={stages}")
            )
    for host, engines in look.seen("engines").items():
        for instance, parts in (engines.get("instances") or {}).items():
            for container in parts["containers"]:
                stages = _pipeline_stages(container.get("command") or [])
                if stages > 1 and instance.rpartition("-")[0] not in told:
                    evidence = Evidence(host, container["name"], None, f"{_PIPELINE}={stages}")
                    yield _pipeline(instance, stages, card, [host], evidence)


def _pipeline(name: str, stages: int, card: str, hosts: list[str], evidence: Evidence) -> Finding:
    return Finding(
        code="pipeline_parallel_on_old_cards",
        layer=Layer.ENGINE_CONFIGURATION,
        title="the engine runs pipeline stages on cards that do not hold them",
        found=f"{name} runs with {_PIPELINE}={stages} on {card}",
        wanted="pipeline parallel size 1 on cards before Ampere",
        remedy="Declare the model and run site.yml: the plan gives tensor parallelism over all cards.",
        hosts=hosts,
        setting="gpustack_models_declared[].gpus",
        not_means="AttributeError of _TorchTensorAcceleratorChannel and ActorUnavailableError in its log follow from "
        "this; they are not the cause.",
        link="https://github.com/vllm-project/vllm/issues/28976",
        evidence=[evidence],
    )


def _pipeline_stages(arguments: list[str]) -> int:
    words = engine_arguments.split_items(arguments)
    values = [
        word.partition("=")[2] or following
        for word, following in zip(words, [*words[1:], ""])
        if word.partition("=")[0].replace("_", "-") in (_PIPELINE, "-pp")
    ]
    return int(values[-1]) if values and values[-1].isdigit() else 1


def _devices(look: Look, host: str) -> list[Mapping[str, Any]]:
    return (look.hosts[host].get("gpus") or {}).get("devices") or []


def _capability(device: Mapping[str, Any]) -> tuple[int, ...]:
    text = str(device.get("compute_capability") or "")
    return tuple(map(int, text.split("."))) if text.replace(".", "").isdigit() else _AMPERE


def plan_against_reality(look: Look) -> Iterator[Finding]:
    """What runs otherwise than planned. Only where every worker could be looked at is there a plan to compare with."""
    if any(not look.hosts[host].get("gpus") for host in look.workers) or look.models is None:
        return
    names = {host: str(facts.get("name") or host) for host, facts in look.seen("declared", look.workers).items()}
    try:
        plans = plan_declared(
            look.declared, look.seen("gpus", look.workers), look.seen("facts", look.workers), look.defaults, names
        )
    except PlanError as error:
        yield _plan_problem("", f"{error}.")
        return
    known = {str(model["name"]): model for model in look.models}
    for name, plan in plans.items():
        members = plan.get("members") or [name]
        missing = [member for member in members if member not in known]
        if not plan["feasible"]:
            messages = " ".join(problem["message"] for problem in plan["problems"])
            yield replace(_plan_problem(name, messages), symptom=True)  # a lost card is told by the hardware
        elif missing:
            yield Finding(
                code="model_missing",
                layer=Layer.ENGINE_CONFIGURATION,
                title="a declared model is not in GPUStack",
                found=f"GPUStack has no model {', '.join(missing)}",
                wanted="every declared model",
                remedy="Run site.yml.",
                setting="gpustack_models_declared",
            )
        else:
            yield from _runs_as_planned(look, name, plan, [known[member] for member in members])


def _plan_problem(name: str, found: str) -> Finding:
    return Finding(
        code="plan_infeasible",
        layer=Layer.ENGINE_CONFIGURATION,
        title=f"{name or 'the declared models'} cannot run on this fleet",
        found=found,
        wanted="a model that fits the cards that are there",
        remedy="playbooks/plan.yml shows the plan and what would make it fit.",
        setting="gpustack_models_declared",
    )


def _runs_as_planned(
    look: Look, name: str, plan: Mapping[str, Any], models: list[Mapping[str, Any]]
) -> Iterator[Finding]:
    instances = [instance for model in models for instance in model.get("instances") or []]
    running = instances and all(instance.get("state") == "running" for instance in instances)
    for stale in (instance for model in models for instance in model.get("stale_instances") or []):
        yield _configuration(name, f"{stale} still runs an older configuration than GPUStack has")
    engines = look.seen("engines", look.workers)
    if len(engines) < len(look.workers) or not running:
        return  # what does not run cannot run otherwise than planned
    for difference in differences(plan, engines, name, int(plan.get("replicas") or 1)):
        yield _configuration(name, difference["message"])


def _configuration(name: str, found: str) -> Finding:
    return Finding(
        code="engine_differs",
        layer=Layer.ENGINE_CONFIGURATION,
        title=f"{name} runs otherwise than planned",
        found=found,
        wanted="the planned parameters, environment and shared memory",
        remedy="Run site.yml: it writes the plan and renews the engines.",
        setting="gpustack_models_declared",
        evidence=[Evidence("", "container engine", None, found)],
    )


def states(look: Look) -> Iterator[Finding]:
    """Instances that do not run; what their messages say is read like a log."""
    for model in look.models or []:
        instances = model.get("instances") or []
        if not instances and int(model.get("replicas") or 0) > 0:
            yield _symptom("model_without_instances", f"{model['name']} has no instance", "GPUStack made none", [])
        for instance in instances:
            if instance["state"] == "running":
                continue
            message = (instance.get("state_message") or "").strip()
            host = _host_of(look, instance.get("worker_name"))
            yield from _log_findings(host, f"instance {instance['name']}", message, Layer.ENGINE)
            yield _symptom(
                "instance_not_running",
                f"{instance['name']} is {instance['state']}",
                message.splitlines()[0] if message else "no reason given",
                [host] if host else [],
            )


def _symptom(code: str, title: str, found: str, hosts: list[str]) -> Finding:
    return Finding(
        code=code,
        layer=Layer.ENGINE,
        title=title,
        found=found,
        wanted="an instance that runs",
        remedy="Look at what is found before it; else at the engine's log in GPUStack.",
        hosts=hosts,
        symptom=True,
        evidence=[Evidence(hosts[0] if hosts else "", "GPUStack", None, found)],
    )


def _host_of(look: Look, worker_name: Any) -> str:
    names = {str(facts.get("name")): host for host, facts in look.seen("declared", look.workers).items()}
    return names.get(str(worker_name), "")


def logs(look: Look) -> Iterator[Finding]:
    """What the logs of kernels, server, workers and engines say."""
    for host, result in look.seen("logs").items():
        for log in result.get("logs") or []:
            yield from _log_findings(host, log["source"], log["text"], _log_layer(look, log))


def _log_layer(look: Look, log: Mapping[str, Any]) -> Layer:
    by_source = {
        "kernel": Layer.HARDWARE,
        look.containers["server"]: Layer.SERVER,
        look.containers["worker"]: Layer.WORKER,
    }
    return by_source.get(log["source"], Layer.ENGINE)


def _log_findings(host: str, source: str, text: str, layer: Layer) -> Iterator[Finding]:
    for found in diagnose(text):
        first = found["first_error"]
        said = f"line {found['line']}: {found['text']}"
        above = f"; first error above, line {first['line']}: {first['text']}" if first else ""
        times = f" ({found['count']} times)" if found["count"] > 1 else ""
        yield Finding(
            code=found["id"],
            layer=_layer(found["id"], layer),
            title=found["means"].rstrip("."),
            found=f"{source}{times}, {said}{above}",
            wanted=found["cause"],
            remedy=found["remedy"],
            hosts=[host] if host else [],
            severity=found["severity"] if found["role"] == "cause" else WARNING,
            symptom=found["role"] != "cause",
            setting=found["setting"],
            not_means=found["not_means"],
            link=found["source"],
            evidence=[Evidence(host, source, found["line"], found["text"])],
        )


def _layer(signature: str, layer: Layer) -> Layer:
    if signature in _KERNEL_LAYERS:
        return _KERNEL_LAYERS[signature]
    return Layer.MODEL_FILES if signature.startswith(_MODEL_LAYERS) else layer
