# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A chosen layout → the mapping that a plan is: flags, variables, prediction, decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .assessment import Assessment
from .errors import PlanError
from .mask import shown
from .memory import GIB, Split, weights_bytes
from .placement import Site
from .rule import Rule
from .rules import CAUTIONS, PARAMETERS, VARIABLES
from .settings import Settings
from .situation import Situation
from .vllm_flags import known_flags

Plan = dict[str, Any]

DECLARED = "declared"


def sites_of(sites: Sequence[Site]) -> dict[str, list[int]]:
    """Host to GPU indexes."""
    return {host: list(indexes) for host, indexes in sites}


def predicted(assessment: Assessment) -> dict[str, Any]:
    """What vLLM will report, rounded as it rounds."""
    memory = assessment.prediction
    card = min(assessment.layout.cards, key=lambda c: (c.cuda_memory_gib, c.name))
    tokens = memory.kv_tokens
    return {
        "weights_gib": round(memory.weights_bytes / GIB, 2),
        "kv_cache_gib": round(memory.kv_bytes / GIB, 2),
        "kv_cache_tokens": None if tokens is None else tokens * assessment.layout.split.data,
        "concurrency": None if tokens is None else round(assessment.concurrency, 2),
        "overhead_gib": round(memory.overhead_bytes / GIB, 2),
        "budget_gib": round(card.cuda_memory_gib * assessment.utilization, 2),
        "memory_gib": round(card.cuda_memory_gib, 2),
    }


def checkpoint_gib(settings: Settings) -> float:
    """The weights as they lie on a disk, which one rank of its own would load as they are."""
    wide = settings.shape.dtype in ("float32", "float")
    return round(weights_bytes(settings.shape, Split(), 0, 4 if wide else 2) / GIB, 1)


def _decision(parameter: str, value: Any, rule: Rule, situation: Situation) -> dict[str, Any]:
    reason = rule.reason(situation)
    return {"parameter": parameter, "value": value, "rule": rule.id, "reason": reason, "source": rule.source}


def _declared(name: str, value: Any, where: str) -> dict[str, Any]:
    reason = "declared by the user"
    return {"parameter": name, "value": shown(name, value), "rule": DECLARED, "reason": reason, "source": where}


HF_OVERRIDES = "--hf-overrides"


def _parameters(situation: Situation) -> tuple[list[str], list[dict[str, Any]]]:
    """Flags of the rules, then the user's own, which take the place of a rule's."""
    flags = known_flags(situation.intent.vllm_version)
    emitted: list[str] = []
    decisions: list[dict[str, Any]] = []
    decided: set[str] = set(situation.parameters)
    own = {parameter.flag.name for parameter in situation.parameters.values()}
    for rule in PARAMETERS:
        flag = flags.get(rule.parameter)
        if flag is not None and flag.name in own and rule.parameter == HF_OVERRIDES and rule.applies(situation):
            # One flag for two ends: neither half alone gives an engine that starts.
            raise PlanError(
                f"model {situation.intent.name}: a context of {situation.context} needs {HF_OVERRIDES}="
                f"{rule.emitted(situation)}, and backend_parameters has {HF_OVERRIDES} for something else: put both "
                "into one, or declare a shorter context"
            )
        if flag is None or flag.name in decided or not rule.applies(situation):
            continue
        decided.add(flag.name)
        value = rule.emitted(situation)
        emitted.append(rule.parameter if value is None else f"{rule.parameter}={value}")
        decisions.append(_decision(rule.parameter, True if value is None else value, rule, situation))
    for parameter in situation.parameters.values():
        emitted.extend(parameter.items)
        decisions.append(_declared(parameter.name, parameter.value, "backend_parameters of the model"))
    return emitted, decisions


def _variables(situation: Situation) -> tuple[dict[str, str], list[dict[str, Any]], list[dict[str, str]]]:
    """Variables of the user and of the rules; the user's own count more, but for those that a rule takes away."""
    env = dict(situation.intent.env)
    decisions = [_declared(name, text, "env of the model") for name, text in env.items()]
    dropped: list[dict[str, str]] = []
    for rule in VARIABLES:
        if not rule.applies(situation):
            continue
        value = rule.emitted(situation)
        if value is None:
            del env[rule.variable]
            decisions = [decision for decision in decisions if decision["parameter"] != rule.variable]
            message = f"{rule.variable} was taken out of env: {rule.reason(situation)}"
            dropped.append({"rule": rule.id, "message": message})
        elif rule.variable not in env:
            env[rule.variable] = value
            decisions.append(_decision(rule.variable, value, rule, situation))
    return env, decisions, dropped


def problem(rule: str, message: str, remedies: list[str]) -> dict[str, Any]:
    """Why a model does not fit, and what would make it fit."""
    return {"rule": rule, "message": message, "remedies": remedies}


def feasible(
    settings: Settings,
    best: Assessment,
    replicas: Sequence[Sequence[Site]],
    automatic: bool,
    warnings: list[dict[str, str]],
    alternatives: list[dict[str, Any]],
) -> Plan:
    """The plan of a model that fits."""
    situation = best.situation
    parameters, parameter_decisions = _parameters(situation)
    env, variable_decisions, dropped = _variables(situation)
    cautions = [{"rule": rule.id, "message": rule.reason(situation)} for rule in CAUTIONS if rule.applies(situation)]
    placements = [sites_of(sites) for sites in replicas]
    return {
        **infeasible(settings, [], cautions + dropped + warnings),
        "feasible": True,
        "backend_parameters": parameters,
        "env": env,
        "tensor_parallel_size": best.layout.split.tensor,
        "pipeline_parallel_size": best.layout.split.pipeline,
        "data_parallel_size": best.layout.split.data,
        "max_model_len": best.context,
        "gpus_per_replica": best.layout.split.world,
        "distributed": best.layout.hosts > 1,
        "placement": placements[0],
        "placements": placements,
        "automatic_placement": automatic,
        "predicted": predicted(best),
        "alternatives": alternatives,
        "decisions": parameter_decisions + variable_decisions,
    }


def infeasible(settings: Settings, problems: list[dict[str, Any]], warnings: list[dict[str, str]]) -> Plan:
    """The plan of a model that does not fit: the same keys, empty."""
    return {
        "name": settings.intent.name,
        "feasible": False,
        "problems": problems,
        "warnings": warnings,
        "backend": "vLLM",
        "backend_version": settings.intent.backend_version,
        "checkpoint_gib": checkpoint_gib(settings),
        "backend_parameters": [],
        "env": {},
        "tensor_parallel_size": None,
        "pipeline_parallel_size": None,
        "data_parallel_size": None,
        "max_model_len": None,
        "gpus_per_replica": None,
        "replicas": settings.intent.replicas,
        "distributed": False,
        "placement": {},
        "placements": [],
        "automatic_placement": False,
        "predicted": {},
        "alternatives": [],
        "decisions": [],
    }
