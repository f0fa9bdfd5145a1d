# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUStack's objects as the modules return them: chosen fields, units in names, secrets masked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .masking import mask_fields
from .model_spec import KIND as MODEL
from .model_spec import chats
from .releases import access_policy, cluster_registry, made_with_model

_MIB = 2**20

_INSTANCE_FIELDS = (
    "id",
    "name",
    "state",
    "state_message",
    "restart_count",
    "last_restart_time",
    "worker_name",
    "worker_ip",
    "port",
    "gpu_type",
    "gpu_indexes",
    "download_progress",
    "backend",
    "backend_version",
    "created_at",
    "updated_at",
)
_SUBORDINATE_FIELDS = ("worker_name", "worker_ip", "gpu_indexes", "state", "state_message", "download_progress")
_WORKER_FIELDS = (
    "id",
    "name",
    "state",
    "state_message",
    "hostname",
    "ip",
    "ifname",
    "port",
    "advertise_address",
    "labels",
    "system_reserved",
    "heartbeat_time",
    "created_at",
)
_GPU_FIELDS = (
    "index",
    "name",
    "uuid",
    "vendor",
    "type",
    "arch_family",
    "compute_capability",
    "driver_version",
    "runtime_version",
)
_ROUTE_FIELDS = ("id", "name", "description", "categories", "generic_proxy", "ready_targets", "created_at")
_BACKEND_VERSION_FIELDS = ("image_name", "entrypoint", "run_command", "custom_framework", "env")
_USER_FIELDS = (
    "id",
    "full_name",
    "is_admin",
    "is_active",
    "source",
    "require_password_change",
    "created_at",
)
_API_KEY_FIELDS = ("id", "name", "description", "allowed_model_names", "scope", "expires_at", "created_at")
_MODEL_FILE_FIELDS = (
    "id",
    "source",
    "huggingface_repo_id",
    "huggingface_filename",
    "model_scope_model_id",
    "model_scope_file_path",
    "local_path",
    "local_dir",
    "cleanup_on_delete",
    "state",
    "state_message",
    "download_progress",
    "size",
    "resolved_paths",
    "created_at",
)
_CLUSTER_FIELDS = (
    "id",
    "name",
    "description",
    "provider",
    "is_default",
    "state",
    "state_message",
    "workers",
    "ready_workers",
    "gpus",
    "models",
    "created_at",
)


def show_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of the model, secrets masked, and whether it `chats`."""
    return {**mask_fields(model), "chats": chats(model)}


def declared_part(model: Mapping[str, Any]) -> dict[str, Any]:
    """What a declaration of the model would say: its set fields without the server's own, secrets masked."""
    own = {*MODEL.server_owned, "meta"}
    shown = {name: value for name, value in mask_fields(model).items() if value not in (None, "", [], {})}
    return {name: value for name, value in shown.items() if name not in own}


def show_instance(instance: Mapping[str, Any], stale: Iterable[str]) -> dict[str, Any]:
    """A model instance; `stale` says whether it was started with an older configuration than the model's."""
    shown = {name: instance.get(name) for name in _INSTANCE_FIELDS}
    servers = instance.get("distributed_servers") or {}
    shown["distributed_servers"] = {
        "subordinate_workers": [
            {name: worker.get(name) for name in _SUBORDINATE_FIELDS}
            for worker in servers.get("subordinate_workers") or []
        ]
    }
    shown["stale"] = instance["name"] in stale
    return shown


def show_route(route: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """A route as seen from one of its targets."""
    return {
        "id": route["id"],
        "name": route["name"],
        "access_policy": access_policy(route.get("access_policy")),
        "targets": route.get("targets"),
        "ready_targets": route.get("ready_targets"),
        "weight": target.get("weight"),
        "state": target.get("state"),
    }


def show_model_route(
    route: Mapping[str, Any], targets: Iterable[Mapping[str, Any]], users: Iterable[str] | None
) -> dict[str, Any]:
    """A route with its targets as they are declared; `users` is null where nobody looked."""
    shown = {name: route.get(name) for name in _ROUTE_FIELDS}
    shown["access_policy"] = access_policy(route.get("access_policy"))
    shown["users"] = None if users is None else list(users)
    shown["made_with_model"] = made_with_model(route)
    shown["targets"] = list(targets)
    return shown


def show_backend_version(backend: Mapping[str, Any], name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A version that was added to an inference backend; secrets in its `env` masked."""
    shown = {field: config.get(field) or None for field in _BACKEND_VERSION_FIELDS}
    return {"name": name, "backend": backend["backend_name"], **mask_fields(shown)}


def show_user(user: Mapping[str, Any]) -> dict[str, Any]:
    """A user under the name to log in with."""
    return {"name": user.get("username"), **{name: user.get(name) for name in _USER_FIELDS}}


def show_api_key(key: Mapping[str, Any]) -> dict[str, Any]:
    """An API key without its secret; `scope` is null before GPUStack 2.2, where every key may do all."""
    return {name: key.get(name) for name in _API_KEY_FIELDS}


def show_model_file(file: Mapping[str, Any], worker: str | None) -> dict[str, Any]:
    """The files of a model on a worker."""
    return {"worker": worker, **{name: file.get(name) for name in _MODEL_FILE_FIELDS}}


def show_worker(worker: Mapping[str, Any], cluster: str | None) -> dict[str, Any]:
    """A worker with its GPUs; `version` is null before GPUStack 2.2, which is the first to tell it."""
    shown = {name: worker.get(name) for name in _WORKER_FIELDS}
    shown["cluster"] = cluster
    shown["version"] = worker.get("worker_version")
    maintenance = worker.get("maintenance") or {}
    shown["maintenance"] = {"enabled": bool(maintenance.get("enabled")), "message": maintenance.get("message")}
    devices = (worker.get("status") or {}).get("gpu_devices") or []
    shown["gpu_devices"] = [
        _show_gpu(device) for device in sorted(devices, key=lambda device: device.get("index") or 0)
    ]
    return shown


def _show_gpu(device: Mapping[str, Any]) -> dict[str, Any]:
    memory = device.get("memory") or {}
    shown = {name: device.get(name) or None for name in _GPU_FIELDS}
    shown["index"] = device.get("index")
    shown["memory_total_mib"] = _mib(memory.get("total"))
    shown["memory_used_mib"] = _mib(memory.get("used"))
    shown["memory_allocated_mib"] = _mib(memory.get("allocated"))
    return shown


def _mib(size: int | None) -> int | None:
    return None if size is None else size // _MIB


def show_cluster(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster with counts of what is in it; secrets in `worker_config` masked."""
    shown = {name: cluster.get(name) for name in _CLUSTER_FIELDS}
    shown["is_default"] = bool(cluster.get("is_default"))
    shown["worker_server_url"] = cluster.get("server_url")
    shown["worker_config"] = cluster.get("worker_config")
    shown["system_default_container_registry"] = cluster_registry(cluster)
    return mask_fields(shown)
