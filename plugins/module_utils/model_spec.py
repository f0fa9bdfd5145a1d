# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A declared model: its options, how its fields are compared, and the model GPUStack shall have for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .engine_configuration import VARIABLE
from .ensure import Entries, Equality, Kind, Rules
from .errors import Invalid
from .releases import Version, refuse_newer_fields

# What an engine is made of has the same rules for a model and for one of its roles.
_ENGINE_RULES: Rules = {
    "gpu_selector": {"gpu_ids": Equality.UNORDERED},
    "extended_kv_cache": {},
    "speculative_config": {},
    "gpu_type_selector": {},
}
KIND = Kind(
    label="model",
    path="/v2/models",
    rules={
        **_ENGINE_RULES,
        "categories": Equality.UNORDERED,
        "lora_list": Entries(),
        "scaling_schedule": {"rules": Entries()},
        "roles": Entries({**_ENGINE_RULES, "resources": {}}),
        "disaggregation": {},
        "gather": {},
    },
    server_owned=frozenset({"id", "created_at", "updated_at", "ready_replicas"}),
)

CATEGORIES = ["llm", "embedding", "image", "reranker", "speech_to_text", "text_to_speech", "unknown"]

# What a model says of its engines, and what a role may say otherwise for its own.
_ENGINE_OPTIONS: dict[str, dict[str, Any]] = {
    "worker_selector": {"type": "dict"},
    "gpu_selector": {
        "type": "dict",
        "options": {"gpu_ids": {"type": "list", "elements": "str"}, "gpus_per_replica": {"type": "int"}},
        # GPUStack 2.1.1 answers a number without the GPUs with an internal error.
        "required_by": {"gpus_per_replica": "gpu_ids"},
    },
    "backend": {"type": "str"},
    "backend_version": {"type": "str"},
    # May hold secrets; GPUStackModule shows what is none.
    "backend_parameters": {"type": "list", "elements": "str", "no_log": True},
    "env": {"type": "dict", "no_log": True},
    "image_name": {"type": "str"},
    "run_command": {"type": "str", "no_log": True},
    "extended_kv_cache": {
        "type": "dict",
        "options": {
            "enabled": {"type": "bool"},
            "mode": {"type": "str", "choices": ["local", "shared"]},
            "cache_service_id": {"type": "int"},
            "ram_ratio": {"type": "float"},
            "ram_size": {"type": "int"},
            "chunk_size": {"type": "int"},
        },
    },
    "speculative_config": {
        "type": "dict",
        "options": {
            "enabled": {"type": "bool"},
            "algorithm": {"type": "str", "choices": ["eagle3", "mtp", "ngram"]},
            "draft_model": {"type": "str"},
            "num_draft_tokens": {"type": "int", "no_log": False},
            "ngram_min_match_length": {"type": "int"},
            "ngram_max_match_length": {"type": "int"},
        },
    },
    "gpu_type_selector": {
        "type": "dict",
        "options": {
            "type": {"type": "str", "required": True},
            "accelerator_sliced_memory_percentage": {"type": "int"},
            "accelerator_sliced_cores_percentage": {"type": "int"},
            "accelerator_partitioned_profile": {"type": "str"},
        },
    },
}

OPTIONS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "huggingface_repo_id": {"type": "str"},
    "huggingface_filename": {"type": "str"},
    "model_scope_model_id": {"type": "str"},
    "model_scope_file_path": {"type": "str"},
    "local_path": {"type": "str"},
    "description": {"type": "str"},
    "replicas": {"type": "int"},
    "categories": {
        "type": "list",
        "elements": "str",
        "choices": CATEGORIES,
    },
    "cluster": {"type": "str"},
    "placement_strategy": {"type": "str", "choices": ["spread", "binpack"]},
    **_ENGINE_OPTIONS,
    "distributed_inference_across_workers": {"type": "bool"},
    "cpu_offloading": {"type": "bool"},
    "restart_on_error": {"type": "bool"},
    "lora_list": {
        "type": "list",
        "elements": "dict",
        "options": {
            "lora_name": {"type": "str", "required": True},
            "source": {
                "type": "str",
                "choices": ["huggingface", "model_scope", "local_path"],
                "default": "huggingface",
            },
            "lora_repo_name": {"type": "str"},
            "huggingface_filename": {"type": "str"},
            "model_scope_file_path": {"type": "str"},
            "local_path": {"type": "str"},
        },
    },
    "scaling_schedule": {
        "type": "dict",
        "options": {
            "enabled": {"type": "bool"},
            "paused": {"type": "bool"},
            "baseline_replicas": {"type": "int"},
            "rules": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "name": {"type": "str"},
                    "start_cron": {"type": "str", "required": True},
                    "duration_seconds": {"type": "int", "required": True},
                    "replicas": {"type": "int", "required": True},
                },
            },
        },
    },
    "roles": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": {"type": "str", "choices": ["prefill", "decode", "router"], "required": True},
            "replicas": {"type": "int", "default": 1},
            **_ENGINE_OPTIONS,
            "dependencies": {"type": "list", "elements": "str"},
            "resources": {"type": "dict", "options": {"cpu": {"type": "float"}, "memory": {"type": "int"}}},
        },
    },
    "disaggregation": {
        "type": "dict",
        "options": {
            "mode": {
                "type": "str",
                "choices": [
                    "vllm-nixl",
                    "vllm-mooncake",
                    "sglang-mooncake",
                    "sglang-nixl",
                    "vllm-ascend-mooncake",
                    "custom",
                ],
                "required": True,
            },
            "vendor": {"type": "str"},
            "readiness": {"type": "str", "choices": ["any_per_role", "all"]},
            "kv_load_failure_policy": {"type": "str", "choices": ["fail", "recompute"]},
        },
    },
    "gather": {
        "type": "dict",
        "options": {
            "strategy": {"type": "str", "choices": ["MustGather", "PreferGather"]},
            "layer": {"type": "str"},
        },
        "required_by": {"layer": "strategy"},
    },
    "native_anthropic_api": {"type": "bool"},
    "revision_history_limit": {"type": "int"},
    "generic_proxy": {"type": "bool"},
    "access_policy": {"type": "str", "choices": ["public", "authed"]},
}

DEFAULT_BACKEND = "vLLM"  # without one GPUStack takes the model for one of a custom backend

# Option that names where the weights are → GPUStack's word for that place.
SOURCES = {
    "huggingface_repo_id": "huggingface",
    "model_scope_model_id": "model_scope",
    "local_path": "local_path",
}
# Options that make sense only beside another.
REQUIRED_BY = {
    "huggingface_filename": "huggingface_repo_id",
    "model_scope_file_path": "model_scope_model_id",
}
_SOURCE_FIELDS = (*SOURCES, "huggingface_filename", "model_scope_file_path")

_PLAIN_FIELDS = (
    "name",
    "description",
    "replicas",
    "placement_strategy",
    "distributed_inference_across_workers",
    "cpu_offloading",
    "backend",
    "backend_parameters",
    "image_name",
    "run_command",
    "restart_on_error",
    "native_anthropic_api",
    "revision_history_limit",
    "generic_proxy",
    "access_policy",
)
# GPUStack fills these in when they are empty, so an empty one declares nothing.
_FILLED_IN_FIELDS = ("categories", "backend_version")
_NESTED_FIELDS = (
    "gpu_selector",
    "gpu_type_selector",
    "extended_kv_cache",
    "speculative_config",
    "scaling_schedule",
    "disaggregation",
    "gather",
)
_TEXT_MAPPINGS = ("env", "worker_selector")

# The route, through which a model is called, has its name, and GPUStack takes only such names for routes.
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_BACKENDS = {name.lower(): name for name in ("vLLM", "SGLang", "MindIE", "VoxBox", "Custom")}
_OWN_COMMAND_FIELDS = ("image_name", "run_command")


def wanted_model(params: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of GPUStack's model that the options set; what is not set is left to the server.

    Raises Invalid when options do not make sense, alone or together.
    """
    _check(params)
    wanted = {name: params[name] for name in _PLAIN_FIELDS if params.get(name) is not None}
    wanted.update({name: params[name] for name in _FILLED_IN_FIELDS if params.get(name)})
    wanted.update({name: texts(name, params[name]) for name in _TEXT_MAPPINGS if params.get(name) is not None})
    for name in _NESTED_FIELDS:
        if params.get(name) is not None:
            wanted[name] = _set_part(params[name]) or None
    if params.get("lora_list") is not None:
        wanted["lora_list"] = [_set_part(adapter) for adapter in params["lora_list"]]
    if params.get("roles") is not None:
        wanted["roles"] = [_role(role) for role in params["roles"]]
    for option, source in SOURCES.items():
        if params.get(option):
            # The place as a whole: what belongs to another kind of place goes.
            wanted.update({name: params.get(name) for name in _SOURCE_FIELDS}, source=source)
    return wanted


def check_release(wanted: Mapping[str, Any], version: Version) -> None:
    """Raise Invalid when a field is set that this server is too old for."""
    refuse_newer_fields(KIND.label, wanted, version)
    refuse_newer_fields("model's extended KV cache", wanted.get("extended_kv_cache") or {}, version)


def schedule_rules(model: Mapping[str, Any]) -> bool:
    """Whether GPUStack itself changes the number of replicas by the model's schedule."""
    schedule = model.get("scaling_schedule") or {}
    return bool(schedule.get("enabled")) and not schedule.get("paused")


def instances_wanted(model: Mapping[str, Any]) -> int:
    """How many instances a model has when it is complete. With roles `replicas` is a switch, and each role counts."""
    replicas = int(model.get("replicas", 1))
    roles = model.get("roles")
    return replicas * sum(int(role.get("replicas", 1)) for role in roles) if roles else replicas


def chats(model: Mapping[str, Any]) -> bool:
    """Whether the model answers chat requests, as far as GPUStack has found out what it is."""
    return "llm" in (model.get("categories") or ["llm"])


def without_scheduled_replicas(wanted: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a model, without the number of replicas where GPUStack changes that by the model's schedule."""
    scheduled = schedule_rules({**current, **wanted})
    return {name: value for name, value in wanted.items() if not (scheduled and name == "replicas")}


def check_callable_name(label: str, name: str) -> None:
    """Raise Invalid when no request could name a model or route of this name."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"name is {name!r}; a {label} that can be called starts with a letter, ends with a letter or digit, and "
            "has only letters, digits, '_', '-' and '.' in between."
        )


def _check(params: Mapping[str, Any]) -> None:
    check_callable_name("model", params["name"])
    if (params.get("replicas") or 0) < 0:
        raise Invalid(f"replicas is {params['replicas']}; wanted is 0 (stopped) or more.")
    if any(VARIABLE in (part.get("env") or {}) for part in (params, *(params.get("roles") or []))):
        raise Invalid(f"env sets {VARIABLE}, which this collection writes itself. Leave it out.")
    backend = params.get("backend")
    known = _BACKENDS.get((backend or "").lower(), backend)
    if backend != known:
        raise Invalid(f"backend is {backend!r}; GPUStack takes it for another backend than {known!r}. Write {known!r}.")
    own_command = [option for option in _OWN_COMMAND_FIELDS if params.get(option)]
    if own_command and backend != "Custom":
        raise Invalid(f"{' and '.join(own_command)} count only with backend 'Custom'; backend is {backend!r}.")


def _role(options: Mapping[str, Any]) -> dict[str, Any]:
    """A role as a whole: what it leaves unset is as the model says, whatever was there before."""
    role = {name: _set_part(value) if isinstance(value, Mapping) else value for name, value in options.items()}
    for name in _TEXT_MAPPINGS:
        if role.get(name) is not None:
            role[name] = texts(f"{name} of role {options['name']}", role[name])
    return role


def _set_part(options: Mapping[str, Any]) -> dict[str, Any]:
    """What is set of an option's suboptions, at every depth."""
    part: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, list):
            part[name] = [_set_part(entry) if isinstance(entry, Mapping) else entry for entry in value]
        elif value is not None:
            part[name] = value
    return part


def texts(option: str, values: Mapping[str, Any]) -> dict[str, str]:
    """A mapping of texts to texts; numbers become their text, anything else is refused."""
    wrong = sorted(
        name for name, value in values.items() if isinstance(value, bool) or not isinstance(value, (str, int, float))
    )
    if wrong:
        raise Invalid(
            f"{option} has values that are neither text nor number: {', '.join(wrong)}. Quote them as the text that is "
            'meant, for example "1" or "true"; leave a variable out to unset it.'
        )
    return {str(name): str(value) for name, value in values.items()}
