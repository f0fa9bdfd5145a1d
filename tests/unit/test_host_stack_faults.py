# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of faults in docs/host-stack.md: complete, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
DIRECTORIES = {
    "S": "molecule/nvidia_stack/tests",
    "E": "molecule/container_engine/tests",
    "N": "molecule/nvidia_stack_dnf/tests",
    "U": "tests/unit",
    "R": "tests/unit/roles",
}
ROWS = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (PROJECT / "docs/host-stack.md").read_text(), re.MULTILINE)


def names_in(directory: str) -> set[str]:
    texts = (path.read_text() for path in (PROJECT / directory).rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def test_every_fault_has_its_row() -> None:
    assert [int(number) for number, _tests in ROWS] == list(range(1, 39))


@pytest.mark.parametrize(("number", "tests"), ROWS)
def test_every_row_names_tests_that_are_there(number: str, tests: str) -> None:
    named = [(kind, name) for kind, name in re.findall(r"([SENUR]) `(test_\w+)`", tests)]
    assert named or tests.startswith("none: "), f"row {number} names no test"
    assert [name for kind, name in named if name not in names_in(DIRECTORIES[kind])] == []


def test_no_role_ignores_errors() -> None:
    files = [path for name in ("roles", "playbooks") for path in (PROJECT / name).rglob("*.yml")]
    assert len(files) > 20
    assert [path for path in files if re.search(r"^\s*ignore_errors:", path.read_text(), re.MULTILINE)] == []
