# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter ``plan_html``: plans as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.plan_report import page, read
from ansible_collections.gpuops.gpustack.plugins.plugin_utils.pages import render

TEMPLATES = Path(page.__file__).with_name("templates")


def plan_html(plans: Any, fleet: Any, title: Any = "Fleet plan", generated_at: Any = "") -> str:
    """``{model name: plan}`` over ``{host name: gpustack_gpu}`` as a page that needs nothing else."""
    try:
        context = page.context(read.plans(plans), read.fleet(fleet), str(title), str(generated_at))
    except read.ReportInputError as error:
        raise AnsibleFilterError(f"plan_html: {error}") from error
    return render([TEMPLATES], "page.html.j2", context)


class FilterModule:
    """Ansible's entry."""

    def filters(self) -> dict[str, Any]:
        return {"plan_html": plan_html}
