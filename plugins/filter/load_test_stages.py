# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.load_test_stages``: what a load test asks, one stage after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.stages import StageError, stages
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.verdict import LimitError, checked


def load_test_stages(profiles: Any, chosen: Any, capacity: Any, limits: Any = None) -> list[dict[str, Any]]:
    """See ``load_test_stages.yml`` for shapes and errors; names may come as one text, as ``-e`` gives them."""
    try:
        names = chosen.replace(",", " ").split() if isinstance(chosen, str) else chosen
        found = stages(profiles, names, capacity)
        for given in (limits or {}, *(stage["limits"] for stage in found)):
            checked(given)
        return found
    except (StageError, LimitError) as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"load_test_stages": load_test_stages}
