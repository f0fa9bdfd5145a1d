# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declared models and their plans → the options by which GPUStack is told of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .as_is import is_as_is
from .fleet_plan import OF_GPUSTACK
from .realisation import RECREATE


def declarations(declared: Iterable[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For every declared model the options of the module `model`; ``plans`` are those of ``plan_declared``."""
    return [_as_is(model) if is_as_is(model) else _planned(model, plans[str(model["name"])]) for model in declared]


def _as_is(model: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in model.items() if name not in ("source", "config", "plan")}
    return {**own, **model["source"], "rollout": RECREATE}


def _planned(model: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": model["name"],
        **model["source"],
        **{name: model[name] for name in OF_GPUSTACK if name in model},
        "replicas": model.get("replicas", 1),
        "backend": plan["backend"],
        "backend_version": plan["backend_version"],
        "backend_parameters": plan["backend_parameters"],
        "env": plan["env"],
        "distributed_inference_across_workers": plan["distributed"],
        **({"gpu_selector": plan["gpu_selector"]} if plan["gpu_selector"] else {}),
        "rollout": RECREATE,
    }
