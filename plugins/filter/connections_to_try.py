# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight.connection_plan import connections_of


def connections_to_try(
    host: str,
    workers: Mapping[str, Mapping[str, Any]],
    server_hosts: Collection[str],
    server_url: str,
    ports: Collection[str],
    server_to_worker_ports: Collection[str],
) -> dict[str, Any]:
    """What one host listens on and tries; see ``connections_to_try.yml`` for shapes and errors."""
    try:
        return connections_of(host, workers, server_hosts, server_url, ports, server_to_worker_ports)
    except (ValueError, TypeError, AttributeError) as error:
        raise AnsibleFilterError(f"connections_to_try: {error}") from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"connections_to_try": connections_to_try}
