# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The all-reduce over both workers: program, containers and the TCP between them are real, PyTorch stands in."""

from __future__ import annotations

import json
import re
import subprocess

from demo_fleet import on_host, site

PLAYBOOK = "playbooks/all_reduce.yml"


def all_reduce(**variables: object) -> subprocess.CompletedProcess[str]:
    prefixed = {f"gpustack_nvidia_stack_all_reduce_{name}": value for name, value in variables.items()}
    return site("--extra-vars", json.dumps(prefixed), playbook=PLAYBOOK)


def containers() -> str:
    return on_host("gpu-worker-a", "docker ps --all --format '{{.Names}}'")


def test_all_gpus_agree_and_nothing_is_left() -> None:
    run = all_reduce(maximum_bytes=65536)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "All-reduce over 4 GPUs of gpu-worker-a, gpu-worker-b" in run.stdout
    assert len(re.findall(r"GB/s  0 wrong", run.stdout)) == 4
    assert "all-reduce" not in containers()
    assert "Nothing changed" in run.stdout


def test_a_wrong_sum_is_an_error() -> None:
    run = all_reduce(maximum_bytes=1024, env={"BENCH_ALL_REDUCE": "wrong"})
    assert run.returncode != 0
    assert "the all-reduce is not right [error: all_reduce_wrong]" in run.stdout
    assert "Do not serve models over these hosts." in run.stdout


def test_hosts_that_cannot_meet_are_told_by_the_time_out() -> None:
    rule = "INPUT -p tcp --dport 29500 -s 172.30.0.12 -j DROP"
    on_host("gpu-worker-a", f"iptables -I {rule}")
    try:
        run = all_reduce(timeout_seconds=20)
    finally:
        on_host("gpu-worker-a", f"iptables -D {rule}")
    assert run.returncode != 0
    assert run.stdout.count("the all-reduce did not end [error: all_reduce_hangs]") == 2
    assert "Look for a firewall between the hosts" in run.stdout
    assert "all-reduce" not in containers()
