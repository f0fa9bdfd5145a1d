# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every command of README and quick start is run somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from documents import CHECKOUT, commands

DOCUMENTS = ("README.md", "docs/quick-start.md")
# Which scenario runs the playbook, or the file of tests that does.
PLAYBOOKS = {
    "site": "default",
    "plan": "refusals",
    "rolling_update": "rolling",
    "doctor": "doctor_quick",
    "drift": "drift",
    "adopt": "tests/api/test_adoption.py",
    "load_test": "load_test",
    "upgrade": "upgrade",
}
# Of anything else: the file that runs it, and the text by which it does.
OTHERS = {
    "make demo": ("tests/release/newcomer.sh", "make demo"),
    "make test": (".ci/run", "exec make test"),
    "ansible-vault encrypt": ("tests/release/newcomer.sh", "ansible-vault encrypt"),
    "ansible-galaxy collection install": ("tests/release/newcomer.sh", "ansible-galaxy collection install"),
    "pip install": ("tests/release/newcomer.sh", "pip install 'ansible>=12'"),
    "cp -r": ("tests/release/newcomer.sh", "cp -r ~/.ansible/"),
}
MAKEFILE = (CHECKOUT / "Makefile").read_text()


def playbook_of(command: str) -> str | None:
    words = shlex.split(command)
    return re.sub(r"^(playbooks/|gpuops\.gpustack\.)|\.yml$", "", words[1]) if words[0] == "ansible-playbook" else None


ALL = sorted({command for document in DOCUMENTS for command in commands(CHECKOUT / document)})


def files_of_scenario(name: str) -> list[Path]:
    """The scenario's own files, and what its tests import from tests/support."""
    own = [path for path in (CHECKOUT / "molecule" / name).rglob("*") if path.suffix in (".py", ".yml")]
    text = "\n".join(path.read_text() for path in own)
    support = [path for path in (CHECKOUT / "tests/support").glob("*.py") if re.search(rf"\b{path.stem}\b", text)]
    return own + support


def is_run_by(playbook: str, runner: str) -> bool:
    if runner.endswith(".py"):
        return f"playbooks/{playbook}.yml" in (CHECKOUT / runner).read_text()
    if not re.search(rf"^(NIGHTLY_)?SCENARIOS \?=.*\b{runner}\b", MAKEFILE, re.MULTILINE):
        return False
    if playbook == "site":  # what a scenario converges with
        return "site.yml" in (CHECKOUT / "molecule/config.yml").read_text()
    text = "\n".join(path.read_text() for path in files_of_scenario(runner))
    # Written out, or the name given to what runs any of them.
    return f"playbooks/{playbook}.yml" in text or ("playbooks/{playbook}.yml" in text and f'"{playbook}"' in text)


@pytest.mark.parametrize("command", ALL)
def test_command_is_run_by_a_test(command: str) -> None:
    playbook = playbook_of(command)
    if playbook:
        assert playbook in PLAYBOOKS, "name the scenario that runs it"
        assert is_run_by(playbook, PLAYBOOKS[playbook])
        return
    runners = [runner for beginning, runner in OTHERS.items() if command.startswith(beginning)]
    assert runners, "name the test that runs it"
    file, text = runners[0]
    assert text in (CHECKOUT / file).read_text()


def test_no_runner_is_kept_for_a_command_that_is_gone() -> None:
    playbooks = {playbook_of(command) for command in ALL}
    assert sorted(set(PLAYBOOKS) - playbooks) == []
    assert [beginning for beginning in OTHERS if not any(command.startswith(beginning) for command in ALL)] == []
