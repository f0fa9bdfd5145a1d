# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""docs/preflight.md against the table of checks."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight.problems import CHECKS, NEEDS

PAGE = (Path(__file__).resolve().parents[2] / "docs/preflight.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def test_the_page_tells_every_check_in_the_table_and_no_other():
    wanted = [
        (
            check.code,
            check.title + (" (warning)" if check.severity == "warning" else ""),
            " ".join(check.reason.split()),
        )
        for stage in NEEDS
        for check in CHECKS
        if check.needs == stage
    ]
    assert [row[:3] for row in ROW.findall(PAGE)] == wanted


def test_every_check_has_a_remedy():
    assert [code for code, _what, _why, remedy in ROW.findall(PAGE) if len(remedy) < 10] == []
