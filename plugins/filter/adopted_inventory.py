# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.adopted_inventory``: what a live server has, as the files of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.adoption import adopt
from ansible_collections.gpuops.gpustack.plugins.plugin_utils.inventory_files import inventory_files


def adopted_inventory(found: Any) -> dict[str, Any]:
    """See ``adopted_inventory.yml`` for shapes."""
    if not isinstance(found, Mapping):
        raise AnsibleFilterError(f"adopted_inventory: found {type(found).__name__}, wanted a mapping of what was read.")
    try:
        adopted = adopt(**{str(name): value for name, value in found.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise AnsibleFilterError(
            f"adopted_inventory: {type(error).__name__} {error}. Wanted are server_url, version, and the results of "
            "model_info, model_route_info, cluster_info, backend_version_info and worker_info."
        ) from error
    return {
        "files": inventory_files(adopted),
        "secrets": [f"{secret.variable}: {secret.meaning}" for secret in adopted.secrets],
        "notes": adopted.notes,
    }


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"adopted_inventory": adopted_inventory}
