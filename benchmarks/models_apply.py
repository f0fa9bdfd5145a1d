# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""200 declared models on a real GPUStack server: the module ``models`` against ``ansible.builtin.uri`` in a loop.

    .venv/bin/python benchmarks/models_apply.py [models [of them for the loop]]

It starts a server of its own, as `make api` does, and needs no fleet: the models are stopped (``replicas: 0``), since
what is measured is the server's API and not engines. Both do the same: first apply, nothing to do, one change. The loop
looks every model up by name and sends it where a field differs, which is what people write by hand; its time grows with
their number, so on a slow machine it can be given a part of them, and is then counted up. Seconds are those of the
tasks; requests are counted by a proxy between Ansible and the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "tests/support"))

from api_server import PASSWORD, ApiServer, images
from fault_proxy import FaultProxy

RELEASE = "v2.1.1"
PLAYBOOK = Path(__file__).with_suffix(".yml")
PREFIX = "bench-"


@contextlib.contextmanager
def running_server() -> Iterator[ApiServer]:
    """A server with a cluster; one of the tests that was kept is used, and left running."""
    server = ApiServer(RELEASE, images()[RELEASE])
    kept = server.is_running
    try:
        if not kept:
            server.start()
        server.wait()
        if not server.items("/v2/clusters"):
            made = server.request("POST", "/v2/clusters", {"name": "racks", "provider": "Docker"})
            server.request("POST", f"/v2/clusters/{made['id']}/set-default", {})
        yield server
    finally:
        clean(server)
        if not kept:
            server.remove()


def clean(server: ApiServer) -> None:
    """Delete the models of the benchmark."""
    for model in server.items("/v2/models", search=PREFIX):
        server.request("DELETE", f"/v2/models/{model['id']}")


def models(count: int, changed: bool) -> list[dict[str, Any]]:
    declared = [
        {
            "name": f"{PREFIX}{number:03d}",
            "local_path": "/var/lib/models/Qwen2.5-14B-Instruct",
            "replicas": 0,
            "backend_version": "0.17.1",
            "backend_parameters": ["--tensor-parallel-size=2", "--max-model-len=16384"],
        }
        for number in range(count)
    ]
    if changed:
        declared[count // 2]["backend_parameters"][1] = "--max-model-len=8192"
    return declared


def run(proxy: FaultProxy, way: str, declared: list[dict[str, Any]]) -> tuple[float, Counter[str]]:
    """Seconds of the tasks of one way, and the requests they sent; stops at a failure."""
    proxy.reset()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as variables:
        json.dump({"way": way, "declared": declared, "url": proxy.url, "password": PASSWORD}, variables)
        variables.flush()
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        }
        command = [PROJECT / ".venv/bin/ansible-playbook", "-i", "localhost,", PLAYBOOK, "-e", f"@{variables.name}"]
        done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{way} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    report, _end = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{") :])
    seconds = sum(
        duration(task["task"]["duration"])
        for play in report["plays"]
        for task in play["tasks"]
        if not all(result.get("skipped") for result in task["hosts"].values())
    )
    # Logging in only serves to tell a wrong password from a right one on the loopback interface.
    return seconds, Counter(request.method for request in proxy.passed if request.path != "/auth/login")


def duration(span: dict[str, str]) -> float:
    start, end = (datetime.fromisoformat(span[key].rstrip("Z")) for key in ("start", "end"))
    return (end - start).total_seconds()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    part = int(sys.argv[2]) if len(sys.argv) > 2 else count
    seconds: dict[tuple[str, str], float] = {}
    with running_server() as server, FaultProxy(server.url) as proxy:
        for way, number in (("module", count), ("loop", part)):
            clean(server)
            for what, changed in (("first apply", False), ("nothing to do", False), ("one change", True)):
                took, sent = run(proxy, way, models(number, changed))
                seconds[way, what] = took * count / number
                text = ", ".join(f"{times} {method}" for method, times in sorted(sent.items()))
                print(f"{way:<7} {number:4} models  {what:<14} {took:8.1f} s   {text}", flush=True)
    for what in ("first apply", "nothing to do", "one change"):
        print(f"{what}: {seconds['loop', what] / seconds['module', what]:.0f} times faster than the loop")


if __name__ == "__main__":
    main()
