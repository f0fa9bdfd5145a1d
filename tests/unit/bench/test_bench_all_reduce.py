# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the role nvidia_stack, with the bench's PyTorch in place of the real one: two hosts on this one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import all_reduce

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = PROJECT / "roles/nvidia_stack/files/all_reduce.py"
# Cards for the stand-in, which finds those of a container in its profile.
PATCH = "import torch.cuda; torch.cuda.get_device_name = lambda device: 'Tesla V100-PCIE-32GB'\n"


def hosts(tmp_path, **environment):
    """The outputs of two hosts with two GPUs each."""
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = f"{tmp_path}:{PROJECT / 'molecule/bench/stand_ins/engine'}"
    variables = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    started = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(first), "2", "4", "127.0.0.1", str(port), "1024", "65536"],
            env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for first in (0, 2)
    ]  # fmt: skip
    outputs = [host.communicate(timeout=60)[0] for host in started]
    return {
        name: {"rc": host.returncode, "timed_out": False, "seconds": 1.0, "output": output}
        for name, host, output in zip("ab", started, outputs)
    }


def test_four_ranks_agree_and_the_output_is_that_of_nccl_tests(tmp_path):
    runs = hosts(tmp_path)
    assert all_reduce.problems_of(runs, {"a": 2, "b": 2}) == []
    read = all_reduce.read(runs["a"]["output"])
    assert [row["size_bytes"] for row in read["rows"]] == [1024, 4096, 16384, 65536]
    assert (read["ranks"], read["verdict"]) == (4, "OK")
    assert "#wrong" in runs["a"]["output"]


def test_a_wrong_sum_is_seen(tmp_path):
    (problem,) = all_reduce.problems_of(hosts(tmp_path, BENCH_ALL_REDUCE="wrong"), {"a": 2, "b": 2})
    assert problem["code"] == "all_reduce_wrong"
    assert problem["found"] == "wrong or unchecked values at 1 KiB, 4 KiB, 16 KiB, 64 KiB"


@pytest.mark.parametrize("gpus", [{"a": 2, "b": 3}])
def test_a_gpu_that_did_not_take_part_is_missed(tmp_path, gpus):
    (problem,) = all_reduce.problems_of(hosts(tmp_path), gpus)
    assert problem["found"] == "4 GPUs took part"
