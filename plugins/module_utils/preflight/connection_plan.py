# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ports each host has to listen on and to try, so that every pair of hosts is tried in both directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit


def connections_of(
    host: str,
    workers: Mapping[str, Mapping[str, Any]],
    server_hosts: Collection[str],
    server_url: str,
    ports: Collection[str],
    server_to_worker_ports: Collection[str],
) -> dict[str, Any]:
    """``{"listen": [ports], "targets": {name: {"address", "ports"}}}`` of one host.

    Workers reach each other on ``ports`` (ranges as text) at the address in ``workers``, and the server at its URL; the
    server reaches workers on ``server_to_worker_ports``. A server that is no host of the inventory is a target only,
    under its address.

    Raises ValueError for a URL without a host.
    """
    address, port = _endpoint(server_url)
    is_worker, is_server = host in workers, host in server_hosts
    targets: dict[str, dict[str, Any]] = {}
    for name, worker in sorted(workers.items()):
        if name != host and worker.get("ip") and (is_worker or is_server):
            targets[name] = {
                "address": worker["ip"],
                "ports": list(map(str, ports if is_worker else server_to_worker_ports)),
            }
    if is_worker and not is_server:
        # With several servers the URL leads to one of them, or to what is in front of them.
        name = next(iter(server_hosts)) if len(server_hosts) == 1 else address
        targets.setdefault(name, {"address": address, "ports": [str(port)]})
    listen = [*map(str, ports)] if is_worker else []
    return {"listen": listen + ([str(port)] if is_server else []), "targets": targets}


def _endpoint(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"the server's URL is {url!r}: one like http://192.0.2.10 is wanted")
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
