# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.doctor import FilterModule

FILTERS = FilterModule().filters()
FINDING = {
    "code": "disk-full",
    "layer": "host",
    "title": "A disk of the host is <full>",
    "found": "no space left",
    "wanted": "Images fill it.",
    "remedy": "Make room.",
    "hosts": ["gpu-worker-a"],
    "severity": "error",
    "symptom": False,
    "setting": "gpustack_doctor_minimum_free_gib",
    "not_means": "",
    "link": "https://docs.docker.com/engine/manage-resources/pruning/",
    "evidence": [{"host": "gpu-worker-a", "source": "gpustack-worker", "line": 7, "text": "<b>no space</b>"}],
    "times": 1,
    "because": None,
}
RESULT = {
    "exit_code": 1,
    "findings": [FINDING],
    "looked_at": {"hosts": ["gpu-worker-a"], "not_reached": ["gpu-worker-b"], "server": False},
}


def test_text_begins_with_the_outcome_and_tells_what_to_do() -> None:
    lines = FILTERS["doctor_text"](RESULT).splitlines()
    assert lines[0] == "1 cause found on 1 host. First: gpu-worker-a: A disk of the host is <full>."
    assert "     do         Make room." in lines
    assert "     applied by gpustack_doctor_minimum_free_gib" in lines


def test_page_needs_nothing_else_and_escapes_what_logs_say() -> None:
    page = FILTERS["doctor_html"](RESULT, "2026-01-31 12:00 UTC")
    assert "&lt;b&gt;no space&lt;/b&gt;" in page
    assert "<b>no space" not in page
    assert "1 cause found on 1 host" in page
    assert "gpustack-worker, line 7" in page
    assert re.findall(r"""(?:src|href)=["']([^"']+)""", page) == [FINDING["link"]]
    assert "<script" not in page


@pytest.mark.parametrize("name", ["doctor_text", "doctor_html"])
def test_anything_but_a_result_is_refused(name: str) -> None:
    with pytest.raises(AnsibleFilterError, match="the result of doctor_findings is wanted"):
        FILTERS[name]([])


def test_look_of_another_shape_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="See the filter's documentation"):
        FILTERS["doctor_findings"]({"hosts": {}})
