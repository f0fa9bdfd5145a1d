# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The models an inventory declares → what the planner plans, all of them on one fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .as_is import as_is_plan, is_as_is
from .errors import Invalid
from .planning.errors import PlanError
from .planning.plan import plan_models
from .realisation import DRAIN, RECREATE, member_names
from .rollout.policy import policy_of

# Keys of a declared model that GPUStack alone understands, and how replicas are realised; the rest is the planner's.
OF_GPUSTACK = ("categories", "description", "restart_on_error")
ROLLOUT = "rollout"


def plan_declared(
    declared: Any,
    gpu_facts: Mapping[str, Any],
    host_facts: Mapping[str, Any],
    defaults: Mapping[str, Any],
    worker_names: Mapping[str, str],
) -> dict[str, dict[str, Any]]:
    """Plans by model name, in the order declared; a card that one model fills is not offered to the next.

    ``gpu_facts`` and ``host_facts`` map each host to its ``gpustack_gpu`` and ``gpustack_host``, ``worker_names`` to
    its name in GPUStack where that is another. A model without ``config`` gets the one that was read in its
    ``source.local_path``. Beside the planner's keys each plan has ``rollout``, how its replicas are realised, and
    ``rollout_settings``, what was declared of its roll-out; ``members``, the names of the models that GPUStack shall
    have for it; ``download``, what GPUStack has to fetch for it, ``{"model", "size_gib"}`` with a size that may be
    unknown, null where the model is on the workers' disks; and ``gpu_selectors``, the cards of each replica in
    GPUStack's form, null where its own scheduler finds the placement. A model with ``plan: false`` is not planned, see
    ``as_is``. Raises PlanError in one sentence.
    """
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        raise PlanError(f"gpustack_models_declared is {type(declared).__name__}, wanted a list of models: correct it")
    models = [_model(entry, host_facts, defaults) for entry in declared]
    names = [str(model.get("name")) for model in models]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(
                f"model {name} is declared {names.count(name)} times, wanted one entry a name: rename or drop one"
            )
    fitted = iter(plan_models([model for model in models if not is_as_is(model)], gpu_facts))
    plans = [as_is_plan(model, gpu_facts) if is_as_is(model) else next(fitted) for model in models]
    planned = {}
    for name, entry, plan in zip(names, declared, plans):
        if is_as_is(entry):
            rolls = rolls_of(entry)
            members = member_names(name, plan["replicas"], rolls[ROLLOUT])
            selectors = entry.get("gpu_selectors")
            planned[name] = {**plan, **rolls, "members": members, "gpu_selectors": selectors}
            planned[name]["download"] = _download(entry["source"], plan)
            continue
        rolls = rolls_of({**defaults, **entry})
        members = member_names(name, plan["replicas"], rolls[ROLLOUT])
        free = plan["automatic_placement"] and len(plans) == len(members) == 1
        selectors = None if free or not plan["feasible"] else _gpu_selectors(plan, worker_names)
        planned[name] = {**plan, **rolls, "members": members, "gpu_selectors": selectors}
        planned[name]["download"] = _download(entry.get("source"), plan)
    _check_names(planned)
    return planned


def _download(source: Any, plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is not on a disk of the workers has to come from somewhere."""
    known = source if isinstance(source, Mapping) else {}
    model = known.get("huggingface_repo_id") or known.get("model_scope_model_id")
    return {"model": str(model), "size_gib": plan["checkpoint_gib"]} if model else None


def _gpu_selectors(plan: Mapping[str, Any], worker_names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cards of each replica, ``worker:type:index``.

    A model that is alone on the fleet is left to GPUStack's scheduler where that finds the placement, so that it can
    move when a host fails. Beside others it is pinned: the scheduler spreads, and would leave the next no whole host.
    """
    return [
        {
            "gpu_ids": [
                f"{worker_names.get(host, host)}:cuda:{index}" for host, indexes in placed.items() for index in indexes
            ],
            "gpus_per_replica": plan["gpus_per_replica"],
        }
        for placed in plan["placements"][: plan["replicas"]]
    ]


def rolls_of(model: Mapping[str, Any]) -> dict[str, Any]:
    """How the replicas are realised, and what was declared of the roll-out. Raises PlanError.

    A model that is taken as it is has GPUStack's own replicas, unless it says otherwise.
    """
    settings = model.get(ROLLOUT) or (RECREATE if is_as_is(model) else {})
    try:
        strategy = policy_of({}, settings, named=str(model.get("name")))["strategy"]
    except Invalid as error:
        raise PlanError(str(error)) from error
    return {ROLLOUT: RECREATE if strategy == RECREATE else DRAIN, "rollout_settings": settings}


def _check_names(plans: Mapping[str, Mapping[str, Any]]) -> None:
    for name, plan in plans.items():
        for member in plan["members"][1:]:
            if member in plans:
                raise PlanError(
                    f"model {member} is declared, and a replica of model {name} is called so as well, since with "
                    f"rollout: drain each replica is a model of its own: rename one, or give {name} rollout: recreate"
                )


def _model(entry: Any, host_facts: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise PlanError(f"gpustack_models_declared has {entry!r}, wanted a mapping with name and source: correct it")
    if is_as_is(entry):
        model = dict(entry)
    else:
        model = {
            key: value for key, value in {**defaults, **entry}.items() if key not in (*OF_GPUSTACK, ROLLOUT, "plan")
        }
    source = model.get("source")
    if "config" not in model and isinstance(source, Mapping) and source.get("local_path"):
        config = _config_in(str(source["local_path"]), host_facts)
        if config is not None:
            model["config"] = config
    return model


def _config_in(directory: str, host_facts: Mapping[str, Any]) -> Any:
    """The config.json of a model directory, from the first host that has it; preflight sees to it that all agree."""
    for _host, facts in sorted(host_facts.items()):
        config = (facts.get("model_directories") or {}).get(directory, {}).get("config")
        if config is not None:
            return config
    return None
