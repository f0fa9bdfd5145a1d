# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import preflight


def preflight_line(problems: Sequence[Mapping[str, Any]], consequence: str = "nothing was changed") -> str:
    """The first error and its remedy in one line, as ``preflight.line_of`` says."""
    try:
        return preflight.line_of(problems, consequence)
    except (TypeError, KeyError) as error:
        raise AnsibleFilterError(f"preflight_line: {error}. The result of preflight_problems is wanted.") from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight_line": preflight_line}
