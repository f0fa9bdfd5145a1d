# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import startup_log


def startup_figures(log_text: Any) -> dict[str, Any]:
    """What the engine printed about its memory, as ``startup_log.startup_figures`` says."""
    if not isinstance(log_text, str):
        raise AnsibleFilterError(
            f"startup_figures: a {type(log_text).__name__} was given, the text of a log is wanted."
        )
    return startup_log.startup_figures(log_text)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"startup_figures": startup_figures}
