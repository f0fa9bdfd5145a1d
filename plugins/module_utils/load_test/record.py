# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is tested, and the record of a test: everything that pages, comparisons and machines read later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..doctor import diagnose
from ..engine_configuration import declared_name, fingerprint
from ..startup_log import startup_figures
from .comparison import compare
from .verdict import judge

FORMAT = 1


class SubjectError(ValueError):
    """Nothing that could be tested; the message says what was found, what was wanted and what to do."""


def members_of(models: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """The models behind the route of that name: the model itself first, then those made for its other replicas."""
    own = [model for model in models if model["name"] == name]
    return own + [model for model in models if model["name"] != name and declared_name(model) == name]


def subject(models: Sequence[Mapping[str, Any]], name: str, plan: Mapping[str, Any] | None) -> dict[str, Any]:
    """The model under test.

    ``models`` of ``model_info`` with log lines; ``plan`` is the model's, None where it is not declared. The result has
    ``name``, ``fingerprint`` of its configuration, ``worker`` of its first instance, ``local_path`` or ``repository``
    of its files, ``capacity`` (``{"max_model_len", "concurrency"}`` of all replicas), ``predicted`` of the plan and
    ``printed`` by vLLM at start. Raises SubjectError.
    """
    members = members_of(models, name)
    if not members:
        raise SubjectError(f"GPUStack has no model {name}, so it cannot be tested. Run site.yml, or name another one.")
    model = members[0]
    instances = [instance for member in members for instance in member["instances"]]
    down = [f"{instance['name']} is {instance['state']}" for instance in instances if instance["state"] != "running"]
    if down or not instances:
        raise SubjectError(
            f"{name} does not run ({'; '.join(down) or 'it has no instance'}), so it cannot be tested. "
            "Wait until it does, or see its log."
        )
    old = [instance for member in members for instance in member["stale_instances"]]
    if old:
        raise SubjectError(
            f"{', '.join(old)} still runs an older configuration of {name} than GPUStack has, so a test would prove "
            "the old one. Run site.yml."
        )
    logs = ("\n".join(instance.get("log") or []) for instance in instances)
    printed = next((found for found in map(startup_figures, logs) if found["kv_cache_tokens"]), {})
    predicted = dict((plan or {}).get("predicted") or {})
    concurrency = predicted.get("concurrency") or printed.get("max_concurrency")
    return {
        "name": name,
        "fingerprint": configuration_of(model),
        "worker": instances[0]["worker_name"],
        "local_path": model.get("local_path"),
        "repository": model.get("huggingface_repo_id") or model.get("model_scope_model_id"),
        "capacity": {
            "max_model_len": printed.get("max_model_len") or (plan or {}).get("max_model_len"),
            "concurrency": concurrency * len(instances) if concurrency else None,
        },
        "predicted": predicted,
        "printed": printed,
    }


def configuration_of(model: Mapping[str, Any]) -> str:
    """A configuration's fingerprint: of the marker that the collection leaves, or else of the model as it is."""
    marker = str(model.get("configuration") or "").partition(" ")[0]
    return marker or fingerprint(model)


def _crashes(log: Sequence[str]) -> list[dict[str, Any]]:
    """What the catalogue of signatures knows of the log of an engine that stopped; warnings stop no engine."""
    return [found for found in diagnose("\n".join(log)) if found["severity"] == "error"]


def record(
    tested: Mapping[str, Any],
    stages: Sequence[Mapping[str, Any]],
    watch: Mapping[str, Any],
    gpus: Mapping[str, Mapping[str, Any]],
    limits: Mapping[str, Any],
    time: str,
    last_passed: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The record of a test: what was tested and asked, what came back and was seen, and the verdict.

    ``tested`` is a subject; ``stages`` as ``verdict.judge`` takes them; ``watch`` of ``load_watch``; ``gpus`` of
    ``gpu_watch`` by host; ``time`` when the test began, in ISO 8601; ``last_passed`` the record of the last test of
    this model that was passed.
    """
    stops = [{**stop, "crashes": _crashes(stop["log"])} for stop in watch["stops"]]
    judged = judge(
        stages,
        {**watch, "stops": stops},
        limits,
        tested["predicted"].get("kv_cache_tokens"),
        tested["printed"].get("kv_cache_tokens"),
    )
    rows = [{**entry, **judgement} for entry, judgement in zip(stages, judged["stages"])]
    return {
        "format": FORMAT,
        "model": tested["name"],
        "fingerprint": tested["fingerprint"],
        "time": time,
        "verdict": judged["verdict"],
        "reasons": judged["reasons"],
        "limits": dict(limits),
        "capacity": tested["capacity"],
        "predicted": tested["predicted"],
        "printed": tested["printed"],
        "stages": rows,
        "stops": stops,
        "samples": watch["samples"],
        "failed_looks": watch["failed_looks"],
        "gpus": {host: found["samples"] for host, found in gpus.items()},
        "comparison": compare(rows, last_passed),
    }
