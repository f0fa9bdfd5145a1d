# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.diagnose import FilterModule

diagnose, likely_cause = (FilterModule().filters()[name] for name in ("diagnose", "likely_cause"))


def test_text_and_list_of_lines_are_the_same() -> None:
    lines = ["INFO starting", "exec format error"]
    assert diagnose(lines) == diagnose("\n".join(lines))
    assert [(finding["id"], finding["line"]) for finding in diagnose(lines)] == [("image-of-another-architecture", 2)]


@pytest.mark.parametrize("given", [None, 7, {"log": "x"}, [1]])
def test_anything_else_is_refused_with_what_is_wanted(given: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="the text of a log or a list of its lines is wanted"):
        diagnose(given)


def test_likely_cause_is_the_first_finding_with_its_remedy_or_nothing() -> None:
    lines = ["INFO starting", "exec format error"]
    (finding,) = diagnose(lines)
    assert likely_cause(lines) == f"Likely cause: {finding['means']} {finding['remedy']}"
    assert likely_cause(["INFO starting"]) == ""
