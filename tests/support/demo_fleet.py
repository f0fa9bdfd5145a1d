# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo fleet as a test sees it: GPUStack's API, the engines on the hosts, and the project's own commands.

Nothing here comes from the collection, so that a fault there cannot hide itself.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

PROJECT = Path(__file__).resolve().parents[2]
SERVER_URL = "http://172.30.0.10:30080"
WORKERS = ("gpu-worker-a", "gpu-worker-b")
MODELS = "/var/lib/models"
# The field report's "before" column.
REPORTED_PARAMETERS = [
    "--tensor-parallel-size=2",
    "--pipeline-parallel-size=2",
    "--distributed-executor-backend=ray",
    "--max-model-len=32768",
    "--generation-config=vllm",
]


def admin_password() -> str:
    return (PROJECT / ".bench/secrets/admin_password").read_text().strip()


class Fleet:
    """GPUStack's API with the administrator's credentials."""

    def __init__(self) -> None:
        self.session = requests.Session()
        self.session.auth = ("admin", admin_password())

    def request(self, method: str, path: str, timeout_seconds: float = 30, **options: Any) -> requests.Response:
        return self.session.request(method, SERVER_URL + path, timeout=timeout_seconds, **options)

    def items(self, path: str, **query: Any) -> list[dict[str, Any]]:
        answer = self.request("GET", path, params={"page": 1, "perPage": 100, **query})
        answer.raise_for_status()
        return answer.json()["items"]

    def model(self, name: str) -> dict[str, Any] | None:
        return next((model for model in self.items("/v2/models") if model["name"] == name), None)

    def instances(self, name: str) -> list[dict[str, Any]]:
        model = self.model(name)
        return self.items("/v2/model-instances", model_id=model["id"]) if model else []

    def delete_all_models(self) -> None:
        for model in self.items("/v2/models"):
            self.request("DELETE", f"/v2/models/{model['id']}").raise_for_status()
        wait_for(lambda: not self.items("/v2/model-instances"), "all instances to be gone", 120)
        # GPUStack forgets an instance before its containers are removed.
        wait_for(lambda: not engine_containers(), "all containers of engines to be gone", 60)

    def deploy(self, name: str, directory: str, **fields: Any) -> None:
        """Deploy as somebody would who has never heard of this collection."""
        body = {
            "name": name,
            "source": "local_path",
            "local_path": f"{MODELS}/{directory}",
            "backend": "vLLM",
            "backend_version": "0.17.1",
            "replicas": 1,
            "enable_model_route": True,
            "cluster_id": self.items("/v2/clusters")[0]["id"],
            **fields,
        }
        self.request("POST", "/v2/models", json=body).raise_for_status()

    def wait_until_running(self, name: str, timeout_seconds: float = 240) -> dict[str, Any]:
        wait_for(
            lambda: any(instance["state"] == "running" for instance in self.instances(name)),
            f"an instance of {name} to run",
            timeout_seconds,
        )
        return self.instances(name)[0]

    def log(self, instance: dict[str, Any]) -> str:
        path = f"/v2/model-instances/{instance['id']}/logs"
        return self.request("GET", path, params={"tail": 400, "follow": "false"}).text

    def chat(self, model: str, question: str, max_tokens: int = 64, timeout_seconds: float = 300) -> requests.Response:
        body = {"model": model, "max_tokens": max_tokens, "messages": [{"role": "user", "content": question}]}
        return self.request("POST", "/v1/chat/completions", json=body, timeout_seconds=timeout_seconds)

    def chat_when_routed(self, model: str, question: str, **options: Any) -> requests.Response:
        """A chat, asked again while GPUStack does not know the new route yet (404 for some seconds)."""
        wait_for(
            lambda: model in {entry["id"] for entry in self.request("GET", "/v1/models").json()["data"]}, model, 90
        )
        return self.chat(model, question, **options)

    def concurrent_chats(self, model: str, questions: list[str], **options: Any) -> list[requests.Response]:
        with ThreadPoolExecutor(len(questions)) as pool:
            return list(pool.map(lambda question: self.chat(model, question, **options), questions))


def wait_for(condition: Callable[[], Any], what: str, timeout_seconds: float, interval_seconds: float = 2) -> Any:
    """Poll until the condition holds; fail with what was waited for."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(interval_seconds)
    raise AssertionError(f"waited {timeout_seconds:.0f} s for {what}")


def site(
    *arguments: str,
    playbook: str = "site.yml",
    inventory: str = "inventories/demo",
    timeout_seconds: float = 900,
) -> subprocess.CompletedProcess:
    """The user's command, word for word, with further arguments."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    return subprocess.run(
        ["ansible-playbook", playbook, "-i", inventory, *arguments],
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )


def on_host(name: str, command: str) -> str:
    """A command as root on one simulated host."""
    return subprocess.run(
        ["docker", "exec", name, "sh", "-c", command], capture_output=True, text=True, check=True
    ).stdout


def engine_containers() -> list[str]:
    """The containers of all instances, running or not, on all workers."""
    listing = "docker ps --all --format '{{.Names}}' | grep -v -e ^gpustack-worker$ || true"
    return [name for worker in WORKERS for name in on_host(worker, listing).split()]


def engine_command_lines(model: str) -> list[list[str]]:
    """The command lines of a model's running ``vllm serve`` processes, as the workers' container engines tell them."""
    lines = []
    for worker in WORKERS:
        listing = on_host(
            worker,
            f"docker ps --filter name={model} --format '{{{{.Names}}}}' | grep -e -run-0$ "
            "| xargs -r docker inspect --format '{{.Path}}{{range .Args}}\t{{.}}{{end}}'",
        )
        lines += [line.split("\t") for line in listing.splitlines() if "serve" in line.split("\t")]
    return lines
