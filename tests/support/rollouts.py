# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fleet that is declared and rolled: two replicas on two hosts, what was asked of them, and how long it took."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from demo_fleet import PROJECT, WORKERS, Fleet, on_host, site, wait_for
from traffic import Traffic

PLAYBOOK = "playbooks/rolling_update.yml"
REPORT = PROJECT / "build/rollout/report.json"
TWO_REPLICAS = yaml.safe_load((PROJECT / "molecule/rolling/vars/two_replicas.yml").read_text(encoding="utf-8"))
NAME = "pair"


class Declared:
    """What is declared adds up from test to test, as it does in a repository."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = json.loads(json.dumps(TWO_REPLICAS))

    @property
    def model(self) -> dict[str, Any]:
        return self.variables["gpustack_models_declared"][0]

    def roll(self, *arguments: str, playbook: str = PLAYBOOK, **once: Any) -> subprocess.CompletedProcess:
        """Run the playbook; `once` is declared for this run only."""
        return site("-e", json.dumps({**self.variables, **once}), *arguments, playbook=playbook)

    def roll_well(self, *arguments: str, **once: Any) -> subprocess.CompletedProcess:
        done = self.roll(*arguments, **once)
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-1000:]}"
        return done

    def roll_until(self, said: str, then: Callable[[subprocess.Popen], object], log: Path) -> int:
        """Run the playbook, do something when its output has this, and return how the playbook ended."""
        environment = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        command = ["ansible-playbook", PLAYBOOK, "-i", "inventories/demo", "-e", json.dumps(self.variables)]
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                wait_for(lambda: said in log.read_text() or process.poll() is not None, said, 600, interval_seconds=0.3)
                then(process)
                return process.wait(timeout=900)
            finally:
                kill(process)


def kill(process: subprocess.Popen) -> None:
    """With everything that it has started, as when the controller loses its power."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def worker_containers() -> list[str]:
    return [on_host(worker, "docker inspect --format '{{.Id}}' gpustack-worker") for worker in WORKERS]


def instances() -> list[str]:
    return sorted(row["name"] for row in Fleet().items("/v2/model-instances"))


def labels() -> dict[str, dict[str, str]]:
    return {worker["name"]: worker["labels"] for worker in Fleet().items("/v2/workers")}


def maintained() -> dict[str, str | None]:
    """The messages of workers in maintenance."""
    workers = {worker["name"]: worker["maintenance"] or {} for worker in Fleet().items("/v2/workers")}
    return {name: maintenance["message"] for name, maintenance in workers.items() if maintenance.get("enabled")}


def assert_all_serve(targets: int = 2) -> None:
    """Every target gets requests, every worker is there, and nothing of a turn is left."""
    fleet = Fleet()
    assert [target["state"] for target in fleet.items("/v2/model-route-targets")] == ["active"] * targets
    workers = fleet.items("/v2/workers")
    assert {worker["state"] for worker in workers} <= {"ready", "maintenance"}
    assert not [worker for worker in workers if "gpuops turn" in str((worker["maintenance"] or {}).get("message"))]
    assert {instance["state"] for instance in fleet.items("/v2/model-instances")} == {"running"}


def report() -> dict[str, Any]:
    return json.loads(REPORT.read_text(encoding="utf-8"))


def show(title: str, traffic: Traffic) -> None:
    """The figures of docs/rolling-updates.md."""
    entries = {**report()["hosts"], **report()["models"]}
    figures = {name: {**entry["seconds"], "cut": entry.get("requests_cut")} for name, entry in entries.items()}
    print(f"{title}: {traffic}\n{json.dumps(figures, indent=1)}\n{traffic.failures[:5]}")
