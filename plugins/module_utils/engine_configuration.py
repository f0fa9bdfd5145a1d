# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which configuration an engine runs: the marker that a write leaves in a model's environment. Pure.

Editing a model never reaches its running instances: GPUStack only keeps their number. So every write that changes what
an engine would be started with leaves one variable in the model's `env`, which every engine inherits:

    GPUOPS_CONFIGURATION: "3f0c9a1b2d4e 2026-03-01T09:30:00Z"

a fingerprint of the engine's configuration and the server's time of the write. An instance created before that time was
started with an older configuration, whoever interrupted the run that wrote it. An instance created within the same
second counts as new, rightly: its engine reads the model when it starts, which is later.

A model that is one of several replicas of a declared model (see `realisation`) has that one's name as a third word. So
whatever happens to the declaration, what was made for it can be found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .masking import mask_fields

VARIABLE = "GPUOPS_CONFIGURATION"

# The fields that decide what an engine is started with, and where; the others reach a running instance, or need not.
ENGINE_FIELDS = (
    "source",
    "huggingface_repo_id",
    "huggingface_filename",
    "model_scope_model_id",
    "model_scope_file_path",
    "local_path",
    "backend",
    "backend_version",
    "backend_parameters",
    "image_name",
    "run_command",
    "env",
    "cpu_offloading",
    "distributed_inference_across_workers",
    "extended_kv_cache",
    "speculative_config",
    "worker_selector",
    "gpu_selector",
    "gpu_type_selector",
    "lora_list",
    "roles",
    "disaggregation",
    "gather",
)

_UNSET: tuple[Any, ...] = (None, "", [], {})
# What GPUStack 2.1.1 and 2.3.0 set where nothing is sent (schemas/models.py).
DISTRIBUTING_BACKENDS = ("vLLM", "SGLang", "MindIE")
NESTED_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "gpu_selector": {},
    "extended_kv_cache": {"enabled": False, "mode": "local", "ram_ratio": 1.2},
    "speculative_config": {"enabled": False},
    "disaggregation": {"readiness": "any_per_role", "kv_load_failure_policy": "fail"},
    "gather": {},
}

_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Marker:
    """What the marker says: `fingerprint` of 12 hexadecimal digits, `written_at` in UTC.

    `member_of` is the declared model's name where the model itself has another, else empty.
    """

    fingerprint: str
    written_at: datetime
    member_of: str = ""

    def __str__(self) -> str:
        written_at = self.written_at.astimezone(timezone.utc).strftime(_TIME)
        return " ".join(filter(None, (self.fingerprint, written_at, self.member_of)))


def fingerprint(model: Mapping[str, Any]) -> str:
    """A fingerprint of the engine fields of a model.

    Secrets take part masked, so that a fingerprint in a log tells nothing about them. What is unset, or what GPUStack
    fills in where nothing is set, does not take part: a model has the fingerprint of what was sent for it.
    """
    fields = {name: model.get(name) for name in ENGINE_FIELDS}
    fields["env"] = without_marker(fields["env"])
    if fields["distributed_inference_across_workers"] == (fields["backend"] in DISTRIBUTING_BACKENDS):
        fields["distributed_inference_across_workers"] = None
    relevant = {name: _without_defaults(name, value) for name, value in mask_fields(fields).items()}
    given = {name: value for name, value in relevant.items() if value not in _UNSET}
    text = json.dumps(given, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def edited(model: Mapping[str, Any]) -> bool | None:
    """Whether somebody else has changed the engine fields since they were last written here; None without marker.

    GPUStack writes the version of the backend that it has chosen into a model that names none, which is no edit.
    """
    marker = marker_of(model)
    if marker is None:
        return None
    return marker.fingerprint not in (fingerprint(model), fingerprint({**model, "backend_version": None}))


def _without_defaults(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_given(entry) if isinstance(entry, Mapping) else entry for entry in value]
    if name not in NESTED_DEFAULTS or not value:
        return value
    return {key: part for key, part in _given(value).items() if part != NESTED_DEFAULTS[name].get(key)}


def _given(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What is set of a mapping, such as a role, without what GPUStack fills in."""
    parts = {name: _without_defaults(name, value) for name, value in entry.items()}
    return {name: part for name, part in parts.items() if part not in _UNSET}


def with_marker(model: Mapping[str, Any], now: datetime, member_of: str = "") -> dict[str, str]:
    """The model's `env` with a marker for a write of this model at `now`."""
    env = without_marker(model.get("env"))
    return {**env, VARIABLE: str(Marker(fingerprint(model), now, member_of))}


def without_marker(env: Mapping[str, str] | None) -> dict[str, str]:
    """The `env` as a person declared it."""
    return {name: value for name, value in (env or {}).items() if name != VARIABLE}


def marker_of(model: Mapping[str, Any]) -> Marker | None:
    """The marker of a model; None when it has none, or one that was edited into something unreadable."""
    digits, written, member_of, *_rest = [*str((model.get("env") or {}).get(VARIABLE) or "").split(), "", "", ""]
    try:
        written_at = time_of(written)
    except ValueError:
        return None
    return Marker(digits, written_at, member_of)


def declared_name(model: Mapping[str, Any]) -> str | None:
    """The declared model that a model was made for; None for one that this collection has never written."""
    marker = marker_of(model)
    return None if marker is None else marker.member_of or str(model["name"])


def stale(instances: Iterable[Mapping[str, Any]], marker: Marker | None) -> list[str]:
    """The names of the instances that were created before the present configuration was written, oldest first."""
    if marker is None:
        return []
    created = sorted((created_at(instance), str(instance["name"])) for instance in instances)
    return [name for time, name in created if time < marker.written_at]


def created_at(instance: Mapping[str, Any]) -> datetime:
    """`2026-03-01T09:30:00.123456Z`, as GPUStack writes it; a time without zone is UTC."""
    return time_of(instance["created_at"])


def time_of(text: str) -> datetime:
    """A time as GPUStack writes it; one without zone is UTC."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
