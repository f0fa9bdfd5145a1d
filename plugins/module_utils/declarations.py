# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declared models and their plans → the options by which GPUStack is told of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .as_is import is_as_is
from .fleet_plan import OF_GPUSTACK, ROLLOUT, rolls_of


def declarations(declared: Iterable[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For every declared model its entry for the module `models`; ``plans`` are those of ``plan_declared``."""
    return [_as_is(model) if is_as_is(model) else _planned(model, plans[str(model["name"])]) for model in declared]


def _as_is(model: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in model.items() if name not in ("source", "config", "plan")}
    return {**own, **model["source"], ROLLOUT: rolls_of(model)[ROLLOUT]}


def in_words(plan: Mapping[str, Any]) -> str:
    """How a model is planned, as a person compares it with what GPUStack says."""
    hosts = " or ".join(" + ".join(sorted(placed)) for placed in plan["placements"])
    figures = plan["predicted"]
    return (
        f"{plan['gpus_per_replica']} of the GPUs of {hosts} for each of {plan['replicas']} replicas, with "
        f"{figures['weights_gib']:.2f} GiB of weights and {figures['kv_cache_gib']:.2f} GiB of KV cache in the "
        f"{figures['memory_gib']:.2f} GiB of each"
    )


def _planned(model: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": model["name"],
        **model["source"],
        **{name: model[name] for name in OF_GPUSTACK if name in model},
        "replicas": plan["replicas"],
        "rollout": plan["rollout"],
        "backend": plan["backend"],
        "backend_version": plan["backend_version"],
        "backend_parameters": plan["backend_parameters"],
        "env": plan["env"],
        "distributed_inference_across_workers": plan["distributed"],
        **({"gpu_selectors": plan["gpu_selectors"]} if plan["gpu_selectors"] else {}),
        "planned": in_words(plan),
    }
