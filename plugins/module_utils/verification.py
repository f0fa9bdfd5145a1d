# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs, held against what was planned, in words for a person: the end of every run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .engine_verification import differences
from .startup_log import startup_figures
from .wording import counted

WIDTH = 120


def verify(
    plans: Mapping[str, Mapping[str, Any]],
    models: Sequence[Mapping[str, Any]],
    workers: Sequence[Mapping[str, Any]],
    engines: Mapping[str, Mapping[str, Any]],
    answers: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """``{"verified": bool, "problems": [sentence], "text": block}``.

    ``plans`` by model name; ``models`` of ``model_info``, ``workers`` of ``worker_info``; ``engines`` of
    ``engine_info`` by host; ``answers`` by model name: ``{"question", "answer", "cut", "tokens", "seconds"}``,
    where ``cut`` says that the model would have gone on.
    """
    running = {str(model["name"]): model for model in models}
    problems = {name: list(_problems(name, plan, running, engines)) for name, plan in plans.items()}
    right = [name for name, found in problems.items() if not found]
    blocks = [_outcome(len(right), len(plans))]
    for name, plan in plans.items():
        instances = [
            instance for member in _members(name, plan) for instance in running.get(member, {}).get("instances") or []
        ]
        blocks.append("\n".join(_model(name, plan, instances, problems[name], answers.get(name))))
    blocks.append("\n".join(_workers(workers)))
    flat = [problem for found in problems.values() for problem in found]
    return {"verified": not flat, "problems": flat, "text": "\n\n".join(blocks)}


def _outcome(right: int, declared: int) -> str:
    if not declared:
        return "No model is declared: set gpustack_models_declared."
    if right == declared:
        return f"{counted(declared, 'model')} {'runs' if declared == 1 else 'run'} as planned"
    return f"{right} of {counted(declared, 'model')} run as planned"


def _members(name: str, plan: Mapping[str, Any]) -> Sequence[str]:
    """The models that GPUStack has for a declared one."""
    return plan.get("members") or [name]


def _problems(
    name: str,
    plan: Mapping[str, Any],
    running: Mapping[str, Mapping[str, Any]],
    engines: Mapping[str, Mapping[str, Any]],
) -> Iterator[str]:
    members = _members(name, plan)
    missing = [member for member in members if member not in running]
    for member in missing:
        of = "" if member == name else f", a replica of {name},"
        yield f"{member}{of} is declared and GPUStack does not have it. Run site.yml."
    if missing:
        return
    for member in members:
        for instance in running[member]["stale_instances"]:
            yield f"{instance} still runs an older configuration than GPUStack has. Run site.yml."
        if len(members) > 1 and name not in {route["name"] for route in running[member].get("routes") or []}:
            yield f"{member} is not in the route {name}, so it gets no requests. Run site.yml."
    for difference in differences(plan, engines, name, int(plan.get("replicas", 1))):
        yield f"{difference['message']}."


def _model(
    name: str,
    plan: Mapping[str, Any],
    instances: Sequence[Mapping[str, Any]],
    problems: Sequence[str],
    answer: Mapping[str, Any] | None,
) -> Iterator[str]:
    yield f"  {name}: {'not as planned' if problems else 'as planned'}"
    for problem in problems:
        yield from _row("differs", problem)
    for instance in instances:
        hosts = [instance["worker_name"], *(worker["worker_name"] for worker in _subordinates(instance))]
        restarts = instance.get("restart_count") or 0
        yield from _row(
            "instance",
            f"{instance['name']} {instance['state']} on {' + '.join(filter(None, hosts))}, "
            f"{counted(restarts, 'restart')}",
        )
    yield from _row("engine runs with", "")
    for decision in plan.get("decisions") or []:
        yield from _row(_setting(decision), decision["reason"], indent=6, width=46)
    yield from _predictions(plan.get("predicted") or {}, instances)
    if answer:
        yield from _row("asked", answer["question"])
        yield from _row("answered", _answered(answer))


def _answered(answer: Mapping[str, Any]) -> str:
    tokens, seconds = counted(answer["tokens"], "token"), f"{answer['seconds']:.1f} s"
    if answer["cut"]:
        return f"{answer['answer']} … (no more than {tokens} were asked for; in {seconds})"
    return f"{answer['answer']} ({tokens} in {seconds})"


def _subordinates(instance: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    servers: Mapping[str, Any] = instance.get("distributed_servers") or {}
    return servers.get("subordinate_workers") or []


def _setting(decision: Mapping[str, Any]) -> str:
    parameter, value = decision["parameter"], decision["value"]
    return str(parameter) if value is True else f"{parameter}={value}"


_FIGURES = (
    ("weights", "weights_gib", "weights_gib", "{:,.2f} GiB"),
    ("KV cache", "kv_cache_gib", "kv_cache_gib", "{:,.2f} GiB"),
    ("KV cache tokens", "kv_cache_tokens", "kv_cache_tokens", "{:,.0f}"),
    ("concurrency", "concurrency", "max_concurrency", "{:,.2f}x"),
)


def _predictions(predicted: Mapping[str, Any], instances: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """vLLM's start-up figures beside what was predicted, where a log still holds them."""
    logs = ("\n".join(instance.get("log") or []) for instance in instances)
    printed = next((figures for figures in map(startup_figures, logs) if figures["kv_cache_tokens"]), {})
    for label, predicted_key, printed_key, form in _FIGURES:
        expected, found = predicted.get(predicted_key), printed.get(printed_key)
        if expected is not None and found:
            deviation = (found - expected) / expected
            yield from _row(
                label, f"{form.format(expected)} predicted, {form.format(found)} printed by vLLM ({deviation:+.1%})"
            )


def _workers(workers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "  workers"
    for worker in workers:
        cards: dict[str, int] = {}
        for device in worker.get("gpu_devices") or []:
            cards[device["name"]] = cards.get(device["name"], 0) + 1
        described = ", ".join(f"{count} × {name}" for name, count in cards.items()) or "no GPUs"
        yield from _row(str(worker["name"]), f"{worker['state']}, {described}")


def _row(label: str, text: str, indent: int = 4, width: int = 18) -> Iterator[str]:
    """A label and a text, wrapped beside it."""
    head = f"{'':{indent}}{label:<{width}}"
    first, *rest = textwrap.wrap(text, WIDTH - len(head)) or [""]
    yield f"{head}{first}".rstrip()
    for line in rest:
        yield " " * len(head) + line
