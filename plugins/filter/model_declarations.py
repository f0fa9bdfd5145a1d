# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.model_declarations``: declared models and their plans, as modules take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.declarations import declarations


def model_declarations(declared: Any, plans: Any) -> list[dict[str, Any]]:
    """See ``model_declarations.yml`` for shapes."""
    try:
        return declarations(declared, plans)
    except (KeyError, TypeError, AttributeError) as error:
        raise AnsibleFilterError(
            f"model_declarations: {type(error).__name__} {error}. Wanted are the declared models, and their plans by "
            "name as fleet_plan returns them."
        ) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"model_declarations": model_declarations}
