# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.drift``: declared, configured and running models, held against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.drift import drift as judge
from ansible_collections.gpuops.gpustack.plugins.module_utils.drift_table import table
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid


def drift(
    declarations: Any, models: Any, engines: Any, workers: Any = (), declared_workers: Any = (), ignored: Any = ()
) -> dict[str, Any]:
    """See ``drift.yml`` for shapes."""
    try:
        result = judge(declarations, models, engines, workers, declared_workers, ignored)
        return {**result, "text": table(result)}
    except Invalid as error:
        raise AnsibleFilterError(f"drift: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise AnsibleFilterError(
            f"drift: {type(error).__name__} {error}. Wanted are the options of the module model for every declared "
            "model, and the results of model_info, engine_info (by worker) and worker_info."
        ) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"drift": drift}
