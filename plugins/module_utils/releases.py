# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What differs between the releases of GPUStack that this collection knows: all of it is here. Pure.

Read in the API descriptions and packages of 2.1.1, 2.1.2, 2.2.0 to 2.2.3 and 2.3.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import Invalid

Version = tuple[int, int, int]

SUPPORTED_FROM: Version = (2, 1, 1)
SUPPORTED_BELOW: Version = (2, 4, 0)
# Up to here a client on 127.0.0.1 is the administrator, whatever credentials it sends.
LOCALHOST_TRUST_BELOW: Version = (2, 2, 0)

# From here on a server names the engine that a request is for otherwise (X-GPUStack-Model-Instance; before,
# X-Target-Port), and a worker from the other side does not understand it.
FORWARDING_CHANGED_IN: tuple[Version, ...] = ((2, 2, 0),)

# Fields that only newer servers know. An older one drops them without a word.
NEWER_FIELDS: dict[str, dict[str, Version]] = {
    "API key": {"scope": (2, 2, 0)},
    "model": {
        "lora_list": (2, 2, 0),
        "gpu_type_selector": (2, 3, 0),
        "scaling_schedule": (2, 3, 0),
        "native_anthropic_api": (2, 3, 0),
        "roles": (2, 3, 0),
        "disaggregation": (2, 3, 0),
        "gather": (2, 3, 0),
        "revision_history_limit": (2, 3, 0),
    },
    "model's extended KV cache": {"mode": (2, 3, 0), "cache_service_id": (2, 3, 0)},
    "model file": {"is_lora": (2, 2, 0), "base_model": (2, 2, 0)},
    "model route target": {"max_running_requests": (2, 3, 0)},
    "worker default": {"worker_ifname": (2, 2, 0), "insecure_tls": (2, 3, 0)},
}

# From 2.2.0 on users, groups and organizations are "principals"; the old word is still taken, but not told.
ALLOWED_USERS = "allowed_users"
_ALLOWED_PRINCIPALS = "allowed_principals"
_REGISTRY = "system_default_container_registry"
# The name by which a route's target knows the model, before 2.2.0 only of a provider's model.
_TARGET_NAME_BEFORE_2_2 = "provider_model_name"
_TARGET_NAME = "overridden_model_name"


def version_text(version: Version) -> str:
    """`(2, 1, 1)` → `2.1.1`."""
    return ".".join(map(str, version))


def refuse_newer_fields(label: str, wanted: Mapping[str, Any], version: Version) -> None:
    """Raise Invalid when a field is set that this server is too old for; `label` is a key of NEWER_FIELDS."""
    article = "an" if label[0] in "AEIOaeio" else "a"
    for name, since in NEWER_FIELDS.get(label, {}).items():
        if wanted.get(name) is not None and version < since:
            raise Invalid(
                f"{name} of {article} {label} needs GPUStack {version_text(since)} or newer; this server is "
                f"{version_text(version)}, which would drop it without a word. Leave it out, or upgrade the server."
            )


def cluster_fields(wanted: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """A cluster's fields with its registry where the release keeps it: among the workers' defaults before 2.2.0."""
    fields = dict(wanted)
    defaults = dict(fields.get("worker_config") or {})
    registry = fields.pop(_REGISTRY, defaults.pop(_REGISTRY, None))
    if registry is not None and version >= (2, 2, 0):
        fields[_REGISTRY] = registry
    elif registry is not None:
        defaults[_REGISTRY] = registry
    if defaults or "worker_config" in fields:
        fields["worker_config"] = defaults
    return fields


def cluster_registry(cluster: Mapping[str, Any]) -> str | None:
    """A cluster's default registry, wherever the release keeps it."""
    found: str | None = cluster.get(_REGISTRY) or (cluster.get("worker_config") or {}).get(_REGISTRY)
    return found


def access_policy(name: str | None) -> str | None:
    """Who may use a route, in the word of the oldest release whatever the server's own."""
    return ALLOWED_USERS if name == _ALLOWED_PRINCIPALS else name


def target_name_field(version: Version) -> str:
    """The field of a route's target that holds the name by which the target knows the model."""
    return _TARGET_NAME if version >= (2, 2, 0) else _TARGET_NAME_BEFORE_2_2


def made_with_model(route: Mapping[str, Any]) -> bool:
    """Whether GPUStack made the route together with a model, and so removes it with its last target."""
    return bool(route.get("created_by_model") or route.get("created_model_id"))
