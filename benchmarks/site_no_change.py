# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of ``site.yml`` costs when there is nothing to do, against bare fact gathering over the same hosts.

    make demo                                              # the fleet, in its declared state
    .venv/bin/python benchmarks/site_no_change.py [rounds]

Both commands run in turn; the ratio is taken round by round, so that it holds when the machine's speed drifts. The last
run also tells how many tasks went to each host and where the time went.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
INVENTORY = "inventories/demo"
BIN = PROJECT / ".venv/bin"
SITE = [str(BIN / "ansible-playbook"), "site.yml", "-i", INVENTORY]
FACTS = [str(BIN / "ansible"), "gpustack_servers:gpustack_workers", "-i", INVENTORY, "-m", "ansible.builtin.setup"]
# Actions that run on the controller and send nothing to the host.
LOCAL_ACTIONS = {
    "ansible.builtin.assert",
    "ansible.builtin.include_role",
    "ansible.builtin.include_tasks",
    "ansible.builtin.set_fact",
    "ansible.builtin.validate_argument_spec",
    "gpuops.gpustack.report",
    "meta",
}


def run(command: list[str], **environment: str) -> tuple[float, str]:
    """Wall seconds and standard output; stops at a failure."""
    variables = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), **environment}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds, done.stdout


def seconds_between(duration: dict[str, str]) -> float:
    start, end = (datetime.fromisoformat(duration[key].rstrip("Z")) for key in ("start", "end"))
    return (end - start).total_seconds()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    run(SITE)
    run(FACTS)
    ratios = []
    for _ in range(rounds):
        site, output = run(SITE)
        if "Nothing changed" not in output:
            sys.exit("site.yml had something to do: bring the fleet to its declared state first (make demo)")
        facts, _output = run(FACTS)
        ratios.append(site / facts)
        print(f"site.yml {site:5.1f} s   fact gathering {facts:5.1f} s   ratio {site / facts:.2f}")
    print(f"ratio: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")

    _seconds, output = run(SITE, ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    report, _end = json.JSONDecoder().raw_decode(output[output.index("{") :])
    remote: Counter[str] = Counter()
    longest = []
    for play in report["plays"]:
        for task in play["tasks"]:
            if "end" in task["task"]["duration"]:
                longest.append((seconds_between(task["task"]["duration"]), task["task"]["name"]))
            for host, result in task["hosts"].items():
                local = result.get("action") in LOCAL_ACTIONS or "_ansible_delegated_vars" in result
                if not (local or result.get("skipped") or host == "localhost"):
                    remote[host] += 1
    print("remote tasks: " + ", ".join(f"{host} {count}" for host, count in sorted(remote.items())))
    for seconds, name in sorted(longest, reverse=True)[:8]:
        print(f"{seconds:6.2f} s  {name}")


if __name__ == "__main__":
    main()
