# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""200 declared models on a real GPUStack server: the module ``models`` against ``ansible.builtin.uri`` in a loop.

    make demo                                                  # any server will do, workers are not needed
    .venv/bin/python benchmarks/models_apply.py [models [of them for the loop]]

The models are stopped (``replicas: 0``), since what is measured is the server's API and not engines. Both do the same:
first apply, nothing to do, one change. The loop looks every model up by name and sends it where a field differs, which
is what people write by hand; its time grows with their number, so on a slow machine it can be given a part of them, and
is then counted up. Seconds are those of the tasks; requests are counted by a proxy between Ansible and the server.
Models that were there before stay; those of the benchmark are deleted at the end.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import requests

PROJECT = Path(__file__).resolve().parents[1]
SERVER = ("172.30.0.10", 30080)
PLAYBOOK = Path(__file__).with_suffix(".yml")
PREFIX = "bench-"


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the server and counts them by method."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.counts: Counter[str] = Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # Logging in only serves to tell a wrong password from a right one on the loopback interface.
        if self.path != "/auth/login":
            self.server.counts[self.command] += 1
        upstream = http.client.HTTPConnection(*SERVER, timeout=120)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        upstream.request(self.command, self.path, body or None, headers)
        answer = upstream.getresponse()
        content = answer.read()
        self.send_response_only(answer.status)
        for name in ("Content-Type", "Date"):
            if answer.headers[name]:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on

    def log_message(self, *_args: Any) -> None:
        """Keep the output to the figures."""


def password() -> str:
    return (PROJECT / ".bench/secrets/admin_password").read_text().strip()


def clean() -> None:
    """Delete the models of the benchmark."""
    session = requests.Session()
    session.auth = ("admin", password())
    url = f"http://{SERVER[0]}:{SERVER[1]}/v2/models"
    for model in session.get(url, params={"perPage": 1000, "search": PREFIX}, timeout=60).json()["items"]:
        session.delete(f"{url}/{model['id']}", timeout=60).raise_for_status()


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


def run(proxy: Proxy, way: str, declared: list[dict[str, Any]]) -> tuple[float, Counter[str]]:
    """Seconds of the tasks of one way, and the requests they sent; stops at a failure."""
    proxy.counts.clear()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as variables:
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        json.dump({"way": way, "declared": declared, "url": url, "password": password()}, variables)
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
    return seconds, Counter(proxy.counts)


def duration(span: dict[str, str]) -> float:
    start, end = (datetime.fromisoformat(span[key].rstrip("Z")) for key in ("start", "end"))
    return (end - start).total_seconds()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    part = int(sys.argv[2]) if len(sys.argv) > 2 else count
    proxy = Proxy()
    seconds: dict[tuple[str, str], float] = {}
    for way, number in (("module", count), ("loop", part)):
        clean()
        for what, changed in (("first apply", False), ("nothing to do", False), ("one change", True)):
            took, sent = run(proxy, way, models(number, changed))
            seconds[way, what] = took * count / number
            text = ", ".join(f"{times} {method}" for method, times in sorted(sent.items()))
            print(f"{way:<7} {number:4} models  {what:<14} {took:8.1f} s   {text}", flush=True)
    clean()
    for what in ("first apply", "nothing to do", "one change"):
        print(f"{what}: {seconds['loop', what] / seconds['module', what]:.0f} times faster than the loop")


if __name__ == "__main__":
    main()
