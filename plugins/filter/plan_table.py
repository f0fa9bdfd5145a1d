# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter ``plan_table``: plans as text for a terminal."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.plan_report import read, terminal


def plan_table(plans: Any, fleet: Any = None, width: Any = 100, ascii_only: Any = False) -> str:
    """``{model name: plan}`` as a text block whose first line says the outcome."""
    if not isinstance(width, int) or isinstance(width, bool) or width < terminal.MINIMUM_WIDTH:
        raise AnsibleFilterError(
            f"plan_table: width: found {width!r}, wanted a whole number of columns, {terminal.MINIMUM_WIDTH} or more"
        )
    try:
        return terminal.render(read.plans(plans), read.fleet({} if fleet is None else fleet), width, bool(ascii_only))
    except read.ReportInputError as error:
        raise AnsibleFilterError(f"plan_table: {error}") from error


class FilterModule:
    """Ansible's entry."""

    def filters(self) -> dict[str, Any]:
        return {"plan_table": plan_table}
