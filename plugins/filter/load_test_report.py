# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.load_test_report``: the record of a load test for people and for machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.junit import junit
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.report import page
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.words import text
from ansible_collections.gpuops.gpustack.plugins.module_utils.plan_report import page as plan_page
from ansible_collections.gpuops.gpustack.plugins.plugin_utils.pages import render

# The page has the looks of the plan's.
TEMPLATES = [Path(found.__file__).with_name("templates") for found in (page, plan_page)]


def html(record: Any) -> str:
    """The record as a page that needs nothing else."""
    return render(TEMPLATES, "load.html.j2", page.context(record))


FORMS: dict[str, Callable[[Any], str]] = {"text": text, "html": html, "junit": junit}


def load_test_report(record: Any, form: str = "text") -> str:
    """The record in one of FORMS."""
    if form not in FORMS:
        raise AnsibleFilterError(f"load_test_report: there is no form {form!r}; there are: {', '.join(FORMS)}.")
    return FORMS[form](record)


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"load_test_report": load_test_report}
