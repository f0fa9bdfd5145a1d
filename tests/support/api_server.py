# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real GPUStack servers of several releases, each a container with nothing beside it: no fleet, no worker, no GPU."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import requests

PROJECT = Path(__file__).resolve().parents[2]
NAME = "gpuops-api-test"
PASSWORD = "Correct_Horse1"
PORT = 30080
ARGUMENTS = ("--gateway-mode=disabled", "--disable-builtin-observability", "--disable-update-check")
START_SECONDS = 600


def images() -> dict[str, str]:
    """Release (`v2.1.1`) → image, built where it is missing."""
    command = [sys.executable, "molecule/bench/bench.py", "gpustack"]
    output = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in output.splitlines() if line.startswith("v"))


def docker(*arguments: str, check: bool = True) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=check).stdout.strip()


class ApiServer:
    """One server. `start()` returns at once; `wait()` until it answers."""

    def __init__(self, release: str, image: str) -> None:
        self.release = release
        self.name = f"{NAME}-{release}"
        self._image = image
        self._session = requests.Session()
        self._session.auth = ("admin", PASSWORD)
        self._session.trust_env = False

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(map(int, self.release.removeprefix("v").split(".")))

    def start(self) -> None:
        self.remove()
        docker(
            *("run", "--detach", "--name", self.name, "--label", NAME, "--publish", f"127.0.0.1::{PORT}"),
            *("--env", f"GPUSTACK_BOOTSTRAP_PASSWORD={PASSWORD}", self._image, *ARGUMENTS),
        )

    def remove(self) -> None:
        docker("rm", "--force", "--volumes", self.name, check=False)

    def restart(self) -> None:
        """Stop it without warning and start it again on the same data; the port may be another one afterwards."""
        docker("kill", self.name)
        docker("start", self.name)

    @property
    def is_running(self) -> bool:
        return docker("inspect", "--format", "{{.State.Running}}", self.name, check=False) == "true"

    @property
    def url(self) -> str:
        return "http://" + docker("port", self.name, f"{PORT}/tcp").splitlines()[0]

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if time.monotonic() > deadline or not self.is_running:
                raise AssertionError(f"GPUStack {self.release} did not start:\n{docker('logs', self.name)[-3000:]}")
            time.sleep(0.5)

    def _is_ready(self) -> bool:
        """The built-in backends are there last of all."""
        if not self.is_running:
            return False
        try:
            answer = self._session.get(self.url + "/v2/inference-backends/backend_name/vLLM", timeout=10)
        except requests.RequestException:
            return False
        return answer.status_code == 200

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self._session.request(method, self.url + path, json=body, timeout=60, **options)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def items(self, path: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.request("GET", path, params={"page": 1, "perPage": 1000, **query})["items"]
        return found

    def names(self, path: str, field: str = "name") -> list[str]:
        return sorted(item[field] for item in self.items(path))

    def register_worker(self, name: str, cluster_id: int) -> dict[str, Any]:
        """A worker as its container would register it; nothing runs there."""
        token = self.request("GET", f"/v2/clusters/{cluster_id}/registration-token")["token"]
        body = {
            "name": name,
            "hostname": name,
            "ip": "192.0.2.11",
            "ifname": "eth0",
            "port": 10150,
            "worker_uuid": f"uuid-{name}",
            "cluster_id": cluster_id,
            "status": {},
            "labels": {"os": "Linux", "arch": "amd64", "worker-name": name},
        }
        answer = requests.post(
            self.url + "/v2/workers", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        answer.raise_for_status()
        return answer.json()
