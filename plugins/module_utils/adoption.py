# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a live server has → the declarations that would bring it about. Pure.

Everything comes from the _info modules, which mask secrets. Each becomes a variable for a vault; everything else is
declared as it is, what GPUStack would choose anyway left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .as_is import PLACE_OPTIONS
from .engine_configuration import DISTRIBUTING_BACKENDS, NESTED_DEFAULTS, declared_name, without_marker
from .masking import mask_url
from .model_spec import DEFAULT_BACKEND, OPTIONS
from .planning.mask import MASK
from .realisation import DRAIN
from .rollout.policy import is_surge
from .route_targets import NEW_WEIGHT

Shown = Mapping[str, Any]  # as the _info modules return it
Declared = dict[str, Any]

# What GPUStack sets where nothing is declared, so that it need not be.
_MODEL_DEFAULTS: Mapping[str, Any] = {
    "replicas": 1,
    "placement_strategy": "spread",
    "backend": DEFAULT_BACKEND,
    "restart_on_error": True,
    "access_policy": "authed",
    "revision_history_limit": 10,
    "native_anthropic_api": False,
    "generic_proxy": False,
}
_OF_WORKERS = frozenset({"os", "arch", "worker-name"})  # labels that a worker gives itself
_ADMINISTRATOR_PASSWORD = "vault_gpustack_admin_password"
_UNSET: tuple[Any, ...] = (None, "", [], {})


class Vaulted(str):
    """A text with references to variables of the vault; to be written as a template, which all others are not."""


@dataclass(frozen=True)
class Secret:
    """A variable of the vault, and what it is for."""

    variable: str
    meaning: str


@dataclass
class Adopted:
    """What is declared, by variable; the secrets that a person has to fill in; what could not be declared."""

    fleet: Declared = field(default_factory=dict)
    hosts: dict[str, Declared] = field(default_factory=dict)
    models: list[Declared] = field(default_factory=list)
    clusters: list[Declared] = field(default_factory=list)
    backend_versions: list[Declared] = field(default_factory=list)
    workers: list[Declared] = field(default_factory=list)
    routes: list[Declared] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def adopt(
    server_url: str,
    version: str,
    models: Sequence[Shown],
    routes: Sequence[Shown],
    clusters: Sequence[Shown],
    backend_versions: Sequence[Shown],
    workers: Sequence[Shown],
) -> Adopted:
    """The declarations of everything that was read; lists in the order of names."""
    adopted = Adopted(secrets=[Secret(_ADMINISTRATOR_PASSWORD, "password of the administrator")])
    home = _home(clusters)
    groups = _by_declared_name(models)
    adopted.fleet = _fleet(server_url, version, home)
    adopted.hosts = {str(worker["name"]): _host(worker, home) for worker in workers}
    adopted.clusters = [_cluster(cluster, adopted) for cluster in clusters]
    adopted.backend_versions = [_backend_version(each, adopted.secrets) for each in backend_versions]
    adopted.workers = [entry for entry in map(_worker, workers) if len(entry) > 1]
    cluster_names = {cluster["id"]: str(cluster["name"]) for cluster in clusters}
    by_name = {str(route["name"]): route for route in routes}
    adopted.models = [
        _model(name, members, by_name.get(name), cluster_names, home, adopted) for name, members in groups.items()
    ]
    adopted.routes = [
        _route(route) for route in routes if not _comes_with_model(route, groups.get(str(route["name"]), ()))
    ]
    if any(route.get("users") for route in adopted.routes):
        adopted.notes.append("Routes are open to single users; a new server needs these users before they apply.")
    return adopted


def _home(clusters: Sequence[Shown]) -> str | None:
    """The cluster of what names none: the default, or the only one."""
    defaults = [cluster for cluster in clusters if cluster["is_default"]] or list(clusters)
    return str(defaults[0]["name"]) if len(defaults) == 1 else None


def _fleet(server_url: str, version: str, home: str | None) -> Declared:
    release = version.lstrip("v")
    declared: Declared = {
        "gpustack_server_url": server_url,
        "gpustack_server_version": release,
        "gpustack_server_admin_password": Vaulted(f"{{{{ {_ADMINISTRATOR_PASSWORD} }}}}"),
    }
    if home is not None:
        declared["gpustack_server_cluster"] = home
    return {**declared, "gpustack_worker_version": release}


def _host(worker: Shown, home: str | None) -> Declared:
    declared = {
        "ansible_host": worker["ip"],
        "gpustack_worker_ip": worker["ip"],
        "gpustack_worker_interface": worker["ifname"],
        "gpustack_worker_cluster": worker["cluster"] if worker["cluster"] != home else None,
    }
    return _given(declared)


# Models


def _by_declared_name(models: Sequence[Shown]) -> dict[str, list[Shown]]:
    """Models that were made as replicas of one declared model are one; the one with the declared name is the first.

    What a roll-out has added for a while is none of them.
    """
    names = {str(model["name"]) for model in models}
    groups: dict[str, list[Shown]] = {}
    for model in models:
        owner = declared_name(model)
        if owner is not None and is_surge(str(model["name"]), owner):
            continue
        groups.setdefault(owner if owner in names and owner else str(model["name"]), []).append(model)
    for name, members in groups.items():
        members.sort(key=lambda model: (model["name"] != name, len(model["name"]), model["name"]))
    return dict(sorted(groups.items()))


def _model(
    name: str,
    members: Sequence[Shown],
    route: Shown | None,
    clusters: Mapping[int, str],
    home: str | None,
    adopted: Adopted,
) -> Declared:
    first = members[0]
    cluster = clusters.get(first.get("cluster_id") or 0)
    values = {
        **first,
        "env": without_marker(first.get("env")),
        "cluster": cluster if cluster != home else None,
        "access_policy": (route or {}).get("access_policy"),
    }
    if values["access_policy"] not in OPTIONS["access_policy"]["choices"]:
        values["access_policy"] = None  # the route says it
    declared: Declared = {"name": name, "plan": False, "source": _source(first)}
    for option in OPTIONS:
        if option not in PLACE_OPTIONS and option != "name":
            declared[option] = _option(option, values)
    if len(members) > 1:
        selectors = [_option("gpu_selector", member) for member in members]
        declared.update(
            replicas=len(members), rollout=DRAIN, gpu_selector=None, gpu_selectors=selectors if all(selectors) else None
        )
    if route is None:
        adopted.notes.append(f"Model {name} has no route of its name; when it is applied it gets one.")
    if not first.get("backend"):
        adopted.notes.append(f"Model {name} has no backend, which cannot be declared; it is {DEFAULT_BACKEND} here.")
    return _declared(declared, "model", adopted.secrets)


def _source(model: Shown) -> Declared:
    return _given({option: model.get(option) for option in PLACE_OPTIONS})


def _option(name: str, model: Shown) -> Any:
    """The value to declare; None where GPUStack would choose the same by itself."""
    value = model.get(name)
    known, defaults = OPTIONS[name].get("options"), NESTED_DEFAULTS.get(name, {})
    if isinstance(value, Mapping) and known is not None:
        if value.get("enabled") is False:
            return None
        given = {key: part for key, part in value.items() if key in known and part not in _UNSET}
        return {key: part for key, part in given.items() if part != defaults.get(key)}
    if name == "distributed_inference_across_workers":
        return value if value != (model.get("backend") in DISTRIBUTING_BACKENDS) else None
    if isinstance(value, list):
        return [_given(entry) if isinstance(entry, Mapping) else entry for entry in value]
    return None if value == _MODEL_DEFAULTS.get(name) else value


# Everything else


def _cluster(cluster: Shown, adopted: Adopted) -> Declared:
    if cluster["provider"] != "Docker":
        adopted.notes.append(f"Cluster {cluster['name']} is of kind {cluster['provider']}, which is not created anew.")
    declared = {
        "name": cluster["name"],
        "description": cluster["description"],
        "default": cluster["is_default"] or None,
        "worker_server_url": cluster.get("worker_server_url"),
        "system_default_container_registry": cluster.get("system_default_container_registry"),
        "worker_config": _given(cluster["worker_config"] or {}),
    }
    return _declared(declared, "cluster", adopted.secrets)


def _backend_version(version: Shown, secrets: list[Secret]) -> Declared:
    fields = ("name", "backend", "image_name", "entrypoint", "run_command", "custom_framework", "env")
    declared = {name: version.get(name) for name in fields}
    return _declared(declared, "backend version", secrets)


def _worker(worker: Shown) -> Declared:
    maintenance = worker["maintenance"]
    labels = {name: value for name, value in (worker["labels"] or {}).items() if name not in _OF_WORKERS}
    return _given(
        {
            "name": worker["name"],
            "labels": dict(sorted(labels.items())),
            "maintenance": maintenance["enabled"] or None,
            "maintenance_message": maintenance["message"] if maintenance["enabled"] else None,
        }
    )


def _comes_with_model(route: Shown, members: Sequence[Shown]) -> bool:
    """Whether GPUStack makes the very same route when the declared model of this name is created."""
    targets = [{name: value for name, value in target.items() if name != "state"} for target in route["targets"]]
    own = [{"model": member["name"], "weight": NEW_WEIGHT} for member in members]
    return (
        sorted(targets, key=str) == sorted(own, key=str)
        and bool(own)
        and (route["description"] or None) in (None, members[0].get("description"))
        and bool(route["generic_proxy"]) == bool(members[0].get("generic_proxy"))
        and route["access_policy"] in OPTIONS["access_policy"]["choices"]
    )


def _route(route: Shown) -> Declared:
    targets = [_given({name: value for name, value in each.items() if name != "state"}) for each in route["targets"]]
    return _given(
        {
            "name": route["name"],
            "description": route["description"],
            "categories": route["categories"],
            "generic_proxy": route["generic_proxy"] or None,
            "access_policy": route["access_policy"],
            "users": route["users"],
            "targets": targets,
        }
    )


# Secrets


def _declared(fields: Mapping[str, Any], kind: str, secrets: list[Secret]) -> Declared:
    """What is set of an object, secrets in the vault."""
    owner = (kind, str(fields["name"]))
    return {name: _vaulted(value, owner, _part(name), secrets) for name, value in _given(fields).items()}


def _vaulted(value: Any, owner: tuple[str, str], part: str, secrets: list[Secret]) -> Any:
    """The value with a variable of the vault in the place of every secret; what it is, is said by `part`."""
    if isinstance(value, Mapping):
        return {name: _vaulted(inner, owner, _part(name) or part, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [_vaulted(item, owner, _flag(value, place) or part, secrets) for place, item in enumerate(value)]
    if not isinstance(value, str) or (MASK not in value and mask_url(value) == value):
        return value
    kind, name = owner
    words = re.sub(r"[^a-z0-9]+", "_", f"{name} {part}".lower()).strip("_")
    variable = _unique(f"vault_{words}", secrets)
    secrets.append(Secret(variable, f"{part} of {kind} {name}"))
    if MASK not in value or f"://{MASK}@" in value:
        return Vaulted(f"{{{{ {variable} }}}}")  # an address with user and password
    literal = value.replace("{{", "{{ '{{' }}")
    return Vaulted(literal.replace(MASK, f"{{{{ {variable} }}}}"))


def _part(name: str) -> str:
    """Fields that hold what has a name of its own say nothing."""
    return "" if name in ("env", "worker_config", "backend_parameters") else name


def _flag(parameters: Sequence[Any], place: int) -> str:
    """The flag whose value stands at a place: in the item itself, or alone in the one before."""
    for item in (parameters[place], parameters[place - 1] if place else ""):
        flag = re.match(r"--?([A-Za-z0-9_-]+)", str(item))
        if flag:
            return flag[1]
    return ""


def _unique(name: str, secrets: Iterable[Secret]) -> str:
    taken = {secret.variable for secret in secrets}
    return next(each for each in (name, *(f"{name}_{number}" for number in range(2, 1000))) if each not in taken)


def _given(values: Mapping[str, Any]) -> Declared:
    """What is set, in the order given."""
    return {name: value for name, value in values.items() if value not in _UNSET}
