# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A model that is declared with `plan: false`: taken as it is, and only looked at by the planner. Pure.

Such a model says itself what the planner would have found, in the options of the module `model`; `adopt` writes models
of a live server like that. What the planner would refuse is a warning here, since the model may well run already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .model_spec import DEFAULT_BACKEND, OPTIONS, SOURCES
from .planning.errors import PlanError, nearest
from .planning.plan import plan

# The place of the weights is `source` in a declaration, with the option's name and which of its files.
PLACE_OPTIONS = (*SOURCES, "huggingface_filename", "model_scope_file_path")
KEYS = (
    *(name for name in OPTIONS if name not in PLACE_OPTIONS),
    *("source", "config", "plan", "rollout", "gpu_selectors"),
)

RULE = "as-is"
# What the planner is asked about; the rest is its own to find.
_ASKED = ("name", "source", "config", "backend_parameters", "env")


def is_as_is(declared: Mapping[str, Any]) -> bool:
    """Whether a declared model is not to be planned."""
    return declared.get("plan") is False


def as_is_plan(declared: Mapping[str, Any], gpu_facts: Mapping[str, Any]) -> dict[str, Any]:
    """A plan in the planner's shape that says what is declared. Raises PlanError for keys that nobody knows."""
    name = declared.get("name")
    for key in declared:
        if key not in KEYS:
            raise PlanError(
                f"model {name}: with plan: false there is no key {key}{nearest(key, KEYS)}; wanted are source and the "
                "options of the module model: correct it, or drop plan: false"
            )
    if not isinstance(declared.get("source"), Mapping):
        raise PlanError(f"model {name}: source is missing: say where the weights are, for example in local_path")
    backend = declared.get("backend") or DEFAULT_BACKEND
    return {
        "name": name,
        "as_is": True,
        "feasible": True,
        "problems": [],
        "warnings": [
            {"rule": RULE, "message": "taken as declared (plan: false): nothing is planned or predicted"},
            *(_warnings(declared, gpu_facts) if backend == DEFAULT_BACKEND else []),
        ],
        "backend": backend,
        "backend_version": declared.get("backend_version"),
        "checkpoint_gib": None,
        "backend_parameters": list(declared.get("backend_parameters") or []),
        "env": dict(declared.get("env") or {}),
        "tensor_parallel_size": None,
        "pipeline_parallel_size": None,
        "data_parallel_size": None,
        "max_model_len": None,
        "gpus_per_replica": None,
        "replicas": declared.get("replicas", 1),
        "distributed": False,
        "placement": {},
        "placements": [],
        "automatic_placement": True,
        "predicted": {},
        "alternatives": [],
        "decisions": [],
    }


def _warnings(declared: Mapping[str, Any], gpu_facts: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the planner would say of it on an empty fleet."""
    try:
        planned = plan({key: declared[key] for key in _ASKED if key in declared}, gpu_facts)
    except PlanError as error:
        return [{"rule": RULE, "message": f"the planner would refuse it: {error}"}]
    said = [*planned["problems"], *planned["warnings"]]
    return [{"rule": finding["rule"], "message": finding["message"]} for finding in said]
