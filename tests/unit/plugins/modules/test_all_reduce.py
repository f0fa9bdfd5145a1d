# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import all_reduce

ARGUMENTS = {"image": "runner", "program": "print(1)", "arguments": ["0", "2"], "env": {"NCCL_SOCKET_IFNAME": "=eth0"}}


@pytest.fixture(name="docker")
def fixture_docker(tmp_path, monkeypatch):
    """A docker that notes its arguments and its input, and does what ``body`` says."""

    def install(body):
        script = f'echo "$@" >>{tmp_path}/calls; if [ "$1" = run ]; then cat >{tmp_path}/program; {body}; fi'
        fake_command(tmp_path / "bin", "docker", script)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        return tmp_path

    return install


def test_the_program_runs_with_all_gpus_on_the_hosts_network(docker):
    place = docker("echo said; echo complained >&2; exit 3")
    answer = run_module(all_reduce.main, ARGUMENTS)
    assert (answer["changed"], answer["rc"], answer["timed_out"]) == (False, 3, False)
    assert answer["output"] == "said\ncomplained"
    started, removed = (place / "calls").read_text().splitlines()
    for option in (
        "--network host",
        "--ipc host",
        "--ulimit memlock=-1",
        "--runtime nvidia",
        "NVIDIA_VISIBLE_DEVICES=all",
    ):
        assert option in started
    assert "--env NCCL_SOCKET_IFNAME==eth0" in started
    assert started.endswith("0 2")
    assert removed.startswith("rm --force gpustack-all-reduce-")
    assert (place / "program").read_text() == "print(1)\n"


def test_a_program_that_does_not_end_is_removed_and_told(docker):
    place = docker("trap '' TERM; exec sleep 30")
    answer = run_module(all_reduce.main, {**ARGUMENTS, "timeout": 1})
    assert (answer["timed_out"], answer["failed"]) == (True, False)
    assert (place / "calls").read_text().splitlines()[-1].startswith("rm --force")


def test_nothing_is_started_in_check_mode(docker):
    place = docker("exit 0")
    assert run_module(all_reduce.main, ARGUMENTS, check_mode=True)["changed"] is False
    assert not (place / "calls").exists()
