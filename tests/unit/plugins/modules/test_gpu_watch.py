# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import gpu_watch


def test_cards_are_looked_at_once_more_when_the_test_is_over(tmp_path: Path) -> None:
    smi = fake_command(tmp_path, "smi", "echo '0, 29101, 61, 98'")
    answer = run_module(gpu_watch.main, {"while_exists": str(tmp_path / "gone"), "nvidia_smi": str(smi)})
    (sample,) = answer["samples"]
    assert sample["gpus"] == {"0": {"memory_used_mib": 29101.0, "temperature_c": 61.0, "utilization_percent": 98.0}}
    assert (answer["changed"], answer["failed_looks"]) == (False, 0)


@pytest.mark.parametrize("script", ["echo 'NVIDIA-SMI has failed'; exit 9", None])
def test_a_host_without_a_driver_that_answers_gives_no_samples(tmp_path: Path, script: str | None) -> None:
    smi = fake_command(tmp_path, "smi", script) if script else tmp_path / "missing"
    answer = run_module(gpu_watch.main, {"while_exists": str(tmp_path / "gone"), "nvidia_smi": str(smi)})
    assert (answer["samples"], answer["failed_looks"]) == ([], 1)


def test_looks_as_long_as_the_file_exists(tmp_path: Path) -> None:
    flag = tmp_path / "running"
    flag.touch()
    # The third look ends the test.
    script = f"echo x >>{tmp_path}/looks; echo '0, 100, 40, 0'; [ $(wc -l <{tmp_path}/looks) -lt 3 ] || rm -f {flag}"
    smi = fake_command(tmp_path, "smi", script)
    answer = run_module(gpu_watch.main, {"while_exists": str(flag), "nvidia_smi": str(smi), "interval": 0.01})
    assert len(answer["samples"]) == 4
