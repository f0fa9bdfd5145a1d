# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two replicas on two hosts, changed while callers ask all the time: not one question is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from demo_fleet import PROJECT, WORKERS, Fleet, engine_command_lines, on_host, site
from traffic import Traffic

SCENARIO = Path(__file__).resolve().parents[1]
DECLARED = yaml.safe_load((SCENARIO / "vars/two_replicas.yml").read_text())
REPORT = PROJECT / "build/rollout/report.json"
# What is declared here adds up from test to test, as it does in a repository.
state: dict[str, Any] = dict(DECLARED)


def roll() -> subprocess.CompletedProcess:
    return site("-e", json.dumps(state), playbook="playbooks/rolling_update.yml")


def with_parameters(*parameters: str) -> list[dict[str, Any]]:
    return [{**DECLARED["gpustack_models_declared"][0], "backend_parameters": list(parameters)}]


def worker_containers() -> list[str]:
    return [on_host(worker, "docker inspect --format '{{.Id}}' gpustack-worker") for worker in WORKERS]


def instances() -> list[str]:
    return sorted(row["name"] for row in Fleet().items("/v2/model-instances"))


def assert_all_serve() -> None:
    fleet = Fleet()
    assert [target["state"] for target in fleet.items("/v2/model-route-targets")] == ["active", "active"]
    assert {
        (worker["state"], worker["maintenance"]["message"] if worker["maintenance"] else None)
        for worker in fleet.items("/v2/workers")
    } == {("ready", None)}


def show(title: str, traffic: Traffic) -> None:
    """The figures of docs/rolling-updates.md."""
    report = json.loads(REPORT.read_text())
    steps = {
        name: [(step["step"], step["seconds"]) for step in entry["steps"]]
        for name, entry in {**report["hosts"], **report["models"]}.items()
    }
    print(f"{title}: {traffic}\n{json.dumps(steps, indent=1)}")


def test_nothing_to_do_takes_nobody_out() -> None:
    before = (worker_containers(), instances())
    done = roll()
    assert done.returncode == 0, done.stdout[-3000:]
    assert "0 of 2 workers need a turn" in done.stdout
    assert "Nothing changed: everything is as declared." in done.stdout
    assert (worker_containers(), instances()) == before


def test_worker_argument_reaches_all_workers_without_a_lost_request() -> None:
    before = worker_containers()
    state["gpustack_worker_arguments"] = ["--worker-metrics-port=10151"]  # what it is anyway
    with Traffic("pair") as traffic:
        done = roll()
    assert done.returncode == 0, done.stdout[-3000:]
    show("worker argument", traffic)
    assert traffic.failures == []
    assert traffic.sent > 100
    assert set(before).isdisjoint(worker_containers())
    assert_all_serve()


def test_model_parameter_reaches_all_replicas_without_a_lost_request() -> None:
    before = instances()
    state["gpustack_models_declared"] = with_parameters("--max-num-seqs=64")
    with Traffic("pair") as traffic:
        done = roll()
    assert done.returncode == 0, done.stdout[-3000:]
    show("model parameter", traffic)
    assert traffic.failures == []
    assert set(before).isdisjoint(instances())
    lines = engine_command_lines("pair")
    assert [line.count("--max-num-seqs=64") for line in lines] == [1, 1]
    assert_all_serve()


def test_parameter_that_kills_the_engine_goes_back_and_says_so() -> None:
    good = state["gpustack_models_declared"]
    # More than the cards hold: vLLM refuses it when it starts, and the planner is told to let it pass.
    state["gpustack_models_declared"] = with_parameters("--max-num-seqs=64", "--load-format=nonsense")
    with Traffic("pair") as traffic:
        done = roll()
    state["gpustack_models_declared"] = good
    assert done.returncode != 0
    show("wrong parameter", traffic)
    assert "It runs as before." in done.stdout
    assert traffic.failures == []
    assert not [line for line in engine_command_lines("pair") if "--load-format=nonsense" in line]
    assert_all_serve()
    again = roll()
    assert again.returncode == 0, again.stdout[-3000:]
