# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finding objects by name. GPUStack's listings filter by part of a name at best, so the exact one is picked here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .client import Client
from .errors import Invalid, NotFound

Item = dict[str, Any]


def find_model(client: Client, name: str) -> Item | None:
    return _named(client, "/v2/models", {"search": name})


def find_worker(client: Client, name: str) -> Item | None:
    return _named(client, "/v2/workers", {"name": name})


def find_cluster(client: Client, name: str) -> Item | None:
    return _named(client, "/v2/clusters", {"name": name})


def find_route(client: Client, name: str) -> Item | None:
    return _named(client, "/v2/model-routes", {"name": name})


def find_user(client: Client, name: str) -> Item | None:
    return _named(client, "/v2/users", {"search": name}, "username")


def find_api_key(client: Client, name: str) -> Item | None:
    """The key of that name that belongs to the user who asks."""
    return _named(client, "/v2/api-keys", {"search": name})


def all_or_named(client: Client, path: str, find: Callable[[Client, str], Item | None], name: str | None) -> list[Item]:
    """All of a kind, or the one of that name; empty when there is none."""
    if name is None:
        return list(client.listing(path))
    item = find(client, name)
    return [] if item is None else [item]


def backend_named(client: Client, name: str) -> Item:
    """The inference backend of that name; NotFound tells which there are."""
    try:
        found: Item = client.get(f"/v2/inference-backends/backend_name/{quote(name, safe='')}")
    except Invalid as error:  # GPUStack's word for what it does not find there
        backends = [{"name": item["backend_name"]} for item in client.listing("/v2/inference-backends")]
        raise NotFound(f"There is no inference backend {name!r}; there are: {_names(backends)}. Name one.") from error
    return found


def model_named(client: Client, name: str) -> Item:
    """The model of that name; NotFound tells which there are."""
    model = find_model(client, name)
    if model is None:
        raise NotFound(
            f"There is no model {name!r}; there are: {_names(list(client.listing('/v2/models')))}. Name one."
        )
    return model


def worker_named(client: Client, name: str) -> Item:
    """The worker of that name; NotFound says how there gets to be one."""
    worker = find_worker(client, name)
    if worker is None:
        raise NotFound(
            f"No worker {name!r} is registered. Start its container first; it registers itself. "
            "gpuops.gpustack.worker_info lists those that are."
        )
    return worker


def cluster_named(client: Client, name: str) -> Item:
    """The cluster of that name; NotFound tells which there are."""
    cluster = find_cluster(client, name)
    if cluster is None:
        raise NotFound(f"There is no cluster {name!r}; there are: {_names(_clusters(client))}. Name one, or create it.")
    return cluster


def default_cluster(client: Client) -> Item:
    """The default cluster, or the only one."""
    clusters = _clusters(client)
    defaults = [cluster for cluster in clusters if cluster.get("is_default")]
    chosen = defaults or clusters
    if len(chosen) == 1:
        return chosen[0]
    if not clusters:
        raise NotFound("GPUStack has no cluster yet. Create one with gpuops.gpustack.cluster.")
    raise Invalid(f"None of the clusters is the default: {_names(clusters)}. Name one in `cluster`.")


def _clusters(client: Client) -> list[Item]:
    return list(client.listing("/v2/clusters"))


def _named(client: Client, path: str, query: dict[str, str], field: str = "name") -> Item | None:
    (name,) = query.values()
    return next((item for item in client.listing(path, **query) if item[field] == name), None)


def _names(items: list[Item]) -> str:
    return ", ".join(sorted(str(item["name"]) for item in items)) or "none"
