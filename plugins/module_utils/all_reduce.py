# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An all-reduce over the GPUs of several hosts: who takes which ranks, what was printed, whether it was right.

The output is that of nccl-tests' ``all_reduce_perf``; the program of the role nvidia_stack prints it too. Text and
dictionaries only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .nvidia_stack.problem import problem

_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]\d+)?)"
_WRONG = r"(\d+(?:\.\d*)?(?:e[+-]\d+)?|N/A)"
# mpirun may put the rank before each line; a column "root" came later than the others.
_ROW = re.compile(
    r"^(?:\[[\d,]+\](?:<stdout>)?:)?\s*(\d+)\s+\d+\s+\w+\s+\w+(?:\s+-?\d+)?"
    + rf"\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_WRONG}" * 2
    + r"\s*$",
    re.MULTILINE,
)
_RANK = re.compile(r"^.*#\s+Rank\s+(\d+)\s.*\bon\s+(\S+)\s+device\b", re.MULTILINE)
_VERDICT = re.compile(r"# Out of bounds values : (\d+) (OK|FAILED)")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*([\d.]+)")
_SAID_LINES = 4


def layout(gpus: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Host → ``{"first_rank", "gpus", "ranks"}`` for the number of usable GPUs of each host, in their order."""
    ranks = sum(gpus.values())
    places, first = {}, 0
    for host, count in gpus.items():
        places[host] = {"first_rank": first, "gpus": count, "ranks": ranks}
        first += count
    return places


def read(output: str) -> dict[str, Any]:
    """What an output tells: ``{"ranks", "rows", "verdict", "average_gb_per_s"}``.

    ``rows`` are ``{"size_bytes", "time_us", "bus_gb_per_s", "wrong"}``, of out-of-place and in-place the worse one;
    ``wrong`` is None where nothing was checked, ``verdict`` None where the output ends before it.
    """
    verdict, average = _VERDICT.search(output), _AVERAGE.search(output)
    return {
        "ranks": len(set(_RANK.findall(output))),
        "rows": [_row(*match) for match in _ROW.findall(output)],
        "verdict": verdict[2] if verdict else None,
        "average_gb_per_s": float(average[1]) if average else None,
    }


def _row(size: str, *columns: str) -> dict[str, Any]:
    halves = columns[:4], columns[4:]
    wrong = [None if half[3] == "N/A" else float(half[3]) for half in halves]
    return {
        "size_bytes": int(size),
        "time_us": max(float(half[0]) for half in halves),
        "bus_gb_per_s": min(float(half[2]) for half in halves),
        "wrong": None if None in wrong else max(float(count or 0) for count in wrong),
    }


def problems_of(
    runs: Mapping[str, Mapping[str, Any]], gpus: Mapping[str, int], minimum_gb_per_s: float = 0
) -> list[dict[str, Any]]:
    """What is wrong with an all-reduce, in the shape of preflight's problems; correctness is an error.

    ``runs`` are ``{"rc", "timed_out", "seconds", "output"}`` by host, ``gpus`` the usable GPUs by host. A bus bandwidth
    at the largest size below ``minimum_gb_per_s`` is a warning.
    """
    ended = [*_hosts_that_failed(runs)]
    return ended or [*_results(runs, gpus, minimum_gb_per_s)]


def text(runs: Mapping[str, Mapping[str, Any]], gpus: Mapping[str, int]) -> str:
    """The result as a person reads it."""
    found = read(_output(runs))
    lines = [f"All-reduce over {sum(gpus.values())} GPUs of {', '.join(gpus)}"]
    for row in found["rows"]:
        wrong = "not checked" if row["wrong"] is None else f"{row['wrong']:g} wrong"
        lines.append(
            f"  {_size(row['size_bytes']):>8}  {row['time_us']:>10.0f} us  {row['bus_gb_per_s']:>7.2f} GB/s  {wrong}"
        )
    return "\n".join(lines)


def _output(runs: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(str(run["output"]) for run in runs.values())


def _hosts_that_failed(runs: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for host, run in runs.items():
        said = " / ".join(line.strip() for line in str(run["output"]).splitlines()[-_SAID_LINES:] if line.strip())
        if run["timed_out"]:
            yield problem(
                "all_reduce_hangs",
                "the all-reduce did not end",
                found=f"no end after {run['seconds']} s" + (f": {said}" if said else ""),
                wanted="an end within the time-out",
                remedy="Look for a firewall between the hosts (NCCL takes ports as it likes), for different MTUs, and\n"
                "for an interface that gpustack_worker_interface does not name; NCCL_DEBUG=INFO tells more.",
                hosts=[host],
            )
        elif run["rc"] != 0:
            yield problem(
                "all_reduce_fails",
                "the all-reduce failed",
                found=f"exit code {run['rc']}" + (f": {said}" if said else ""),
                wanted="the same sum on all GPUs",
                remedy="The last lines tell why; where they do not, NCCL_DEBUG=INFO does.",
                hosts=[host],
            )


def _results(
    runs: Mapping[str, Mapping[str, Any]], gpus: Mapping[str, int], minimum_gb_per_s: float
) -> Iterator[dict[str, Any]]:
    found, ranks = read(_output(runs)), sum(gpus.values())
    wrong = [row for row in found["rows"] if row["wrong"] != 0]
    complaint = (
        "no result in the output"
        if not found["rows"] or found["verdict"] is None
        else f"{found['ranks']} GPUs took part"
        if found["ranks"] != ranks
        else f"wrong or unchecked values at {', '.join(_size(row['size_bytes']) for row in wrong)}"
        if wrong
        else "a verdict of wrong values"
        if found["verdict"] != "OK"
        else ""
    )
    if complaint:
        yield problem(
            "all_reduce_wrong",
            "the all-reduce is not right",
            found=complaint,
            wanted=f"the right sum on all {ranks} GPUs",
            remedy="Do not serve models over these hosts. Try each host alone, then NCCL_P2P_DISABLE=1: a difference\n"
            "there points to IOMMU or ACS settings, or to a riser or bridge.",
            hosts=list(runs),
        )
        return
    reached = found["rows"][-1]["bus_gb_per_s"]
    if reached < minimum_gb_per_s:
        yield problem(
            "all_reduce_slow",
            "the all-reduce is slower than expected",
            found=f"{reached:g} GB/s of bus bandwidth at {_size(found['rows'][-1]['size_bytes'])}",
            wanted=f"{minimum_gb_per_s:g} GB/s, as gpustack_nvidia_stack_all_reduce_minimum_gb_per_s says",
            remedy="Compare with each host alone; over Ethernet look at speed, MTU and the interface taken.",
            hosts=list(runs),
            severity="warning",
        )


def _size(size_bytes: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:g} {unit}"
    return f"{size_bytes} B"
