# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import all_reduce

GPUS = {"a": 2, "b": 2}
# The shape of a present all_reduce_perf over two hosts.
PRESENT = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid 895544 on          a device  0 [0000:3b:00] Tesla V100-PCIE-32GB
#  Rank  1 Group  0 Pid 895545 on          a device  1 [0000:af:00] Tesla V100-PCIE-32GB
#  Rank  2 Group  0 Pid 739786 on          b device  0 [0000:3b:00] Tesla V100-PCIE-32GB
#  Rank  3 Group  0 Pid 739787 on          b device  1 [0000:af:00] Tesla V100-PCIE-32GB
NCCL version 2.27.5+cuda12.9
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    12.90    0.00    0.00      0    12.87    0.00    0.00      0
   134217728      33554432     float     sum      -1   190417    0.70    1.06      0   191002    0.70    1.05      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.527925
#
"""
# Before the column root, with the largest error in place of a count, behind mpirun's --tag-output.
OLD = """\
[1,0]<stdout>:#   Rank  0 Pid   1320 on a device  0 [0x00] Tesla V100-SXM2-16GB
[1,0]<stdout>:#   Rank  1 Pid   2066 on b device  0 [0x00] Tesla V100-SXM2-16GB
[1,0]<stdout>:#       size       count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
[1,0]<stdout>:  1310720000   327680000   float     sum  1059831    1.24    1.24  0e+00  1059902    1.24    1.24  2e-07
[1,0]<stdout>:# Out of bounds values : 0 OK
[1,0]<stdout>:# Avg bus bandwidth    : 1.2367
"""


def run(output="", rc=0, timed_out=False):
    return {"rc": rc, "timed_out": timed_out, "seconds": 12.0, "output": output}


def found(output, gpus=GPUS, **other):
    problems = all_reduce.problems_of({"a": run(output), "b": run()}, gpus, **other)
    return [(one["severity"], one["code"], one["found"]) for one in problems]


def test_ranks_are_numbered_through_the_hosts():
    assert all_reduce.layout({"a": 2, "b": 1, "c": 4}) == {
        "a": {"first_rank": 0, "gpus": 2, "ranks": 7},
        "b": {"first_rank": 2, "gpus": 1, "ranks": 7},
        "c": {"first_rank": 3, "gpus": 4, "ranks": 7},
    }


def test_a_present_output():
    assert all_reduce.read(PRESENT) == {
        "ranks": 4,
        "rows": [
            {"size_bytes": 8, "time_us": 12.9, "bus_gb_per_s": 0.0, "wrong": 0.0},
            {"size_bytes": 134217728, "time_us": 191002.0, "bus_gb_per_s": 1.05, "wrong": 0.0},
        ],
        "verdict": "OK",
        "average_gb_per_s": 0.527925,
    }


def test_an_old_output_behind_mpirun():
    read = all_reduce.read(OLD)
    assert (read["ranks"], read["verdict"], len(read["rows"])) == (2, "OK", 1)
    assert read["rows"][0]["wrong"] == 2e-07


def test_a_right_sum_is_no_problem_however_slow():
    assert found(PRESENT) == []


def test_a_low_bandwidth_is_a_warning():
    assert found(PRESENT, minimum_gb_per_s=2) == [
        ("warning", "all_reduce_slow", "1.05 GB/s of bus bandwidth at 128 MiB"),
    ]


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (PRESENT.replace("1.06      0", "1.06     50"), "wrong or unchecked values at 128 MiB"),
        (PRESENT.replace("1.06      0", "1.06    N/A"), "wrong or unchecked values at 128 MiB"),
        (PRESENT.replace("0 OK", "50 FAILED"), "a verdict of wrong values"),
        (PRESENT[: PRESENT.index("# Out")], "no result in the output"),
        (PRESENT.replace("#  Rank  3", "#"), "3 GPUs took part"),
        ("", "no result in the output"),
    ],
)
def test_what_is_not_right_is_an_error(output, complaint):
    assert found(output) == [("error", "all_reduce_wrong", complaint)]


def test_a_host_that_fails_and_one_that_waits_for_it():
    runs = {
        "a": run("NCCL WARN connect to 192.0.2.12 failed", rc=124, timed_out=True),
        "b": run("no kernel image", rc=1),
    }
    assert [(one["hosts"], one["code"], one["found"]) for one in all_reduce.problems_of(runs, GPUS)] == [
        (["a"], "all_reduce_hangs", "no end after 12.0 s: NCCL WARN connect to 192.0.2.12 failed"),
        (["b"], "all_reduce_fails", "exit code 1: no kernel image"),
    ]


def test_the_result_as_a_person_reads_it():
    assert all_reduce.text({"a": run(PRESENT), "b": run()}, GPUS).splitlines() == [
        "All-reduce over 4 GPUs of a, b",
        "       8 B          13 us     0.00 GB/s  0 wrong",
        "   128 MiB      191002 us     1.05 GB/s  0 wrong",
    ]
