# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ansible_collections.gpuops.gpustack.plugins.action import rollout_step


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    shown: list[str] = []
    monkeypatch.setattr(rollout_step, "display", MagicMock(display=shown.append))
    return shown


def run(path: Path, *, check: bool = False, **options: object) -> dict:
    task = MagicMock(args={"report": str(path), **options}, check_mode=check, async_val=0)
    return rollout_step.ActionModule(task, MagicMock(), MagicMock(), None, None, None).run()


def test_step_is_shown_and_kept(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "build/report.json"
    run(path, kind="run", name="rolling update", step="begun")
    answer = run(path, kind="host", name="gpu-worker-a", step="drained", details={"requests_cut": 0})
    assert (answer["changed"], answer["seconds"]) == (False, None)
    assert lines == ["  [rolling update] begun", "  [gpu-worker-a] drained (requests cut 0)"]
    kept = json.loads(path.read_text())
    assert [step["step"] for step in kept["hosts"]["gpu-worker-a"]["steps"]] == ["drained"]


def test_check_mode_keeps_nothing(tmp_path: Path, lines: list[str]) -> None:
    run(tmp_path / "report.json", check=True, kind="host", name="gpu-worker-a", step="drained")
    assert lines == ["  [gpu-worker-a] drained"]
    assert list(tmp_path.iterdir()) == []
