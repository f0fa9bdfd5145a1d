# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two replicas on two hosts, changed while callers ask all the time: not one question is lost.

The tests are the steps of one story and run in the order written.
"""

from __future__ import annotations

import pytest
import requests
from demo_fleet import WORKERS, Fleet, engine_command_lines, on_host
from rollouts import (
    NAME,
    Declared,
    assert_all_serve,
    instances,
    labels,
    maintained,
    report,
    show,
    worker_containers,
)
from traffic import Traffic

REGISTRY = "172.30.0.2:5000"
PERSONS_MESSAGE = "New power supply"


@pytest.fixture(scope="module", name="declared")
def fixture_declared() -> Declared:
    return Declared()


def tag_again(tag: str) -> str:
    """The worker's image under another tag, as a new build would have."""
    manifests = f"http://{REGISTRY}/v2/gpustack/gpustack/manifests"
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = requests.get(f"{manifests}/v2.1.1", headers={"Accept": kind}, timeout=30)
    manifest.raise_for_status()
    requests.put(
        f"{manifests}/{tag}", data=manifest.content, headers={"Content-Type": kind}, timeout=30
    ).raise_for_status()
    return f"{REGISTRY}/gpustack/gpustack:{tag}"


def assert_both_workers_had_turns() -> None:
    """A run that found nothing to do loses no request either."""
    assert {host: entry["outcome"] for host, entry in report()["hosts"].items()} == dict.fromkeys(WORKERS, "done")


def test_nothing_to_do_takes_nobody_out(declared: Declared) -> None:
    before = (worker_containers(), instances())
    with Traffic(NAME) as traffic:
        done = declared.roll_well()
    assert "0 of 2 workers need a turn" in done.stdout
    assert "Nothing changed: everything is as declared." in done.stdout
    assert (worker_containers(), instances()) == before
    assert traffic.failures == []
    assert (report()["hosts"], report()["models"]) == ({}, {})


def test_worker_argument_and_maintenance_that_a_person_has_set(declared: Declared) -> None:
    fleet = Fleet()
    worker = next(row for row in fleet.items("/v2/workers") if row["name"] == "gpu-worker-b")
    kept = {"enabled": True, "message": PERSONS_MESSAGE}
    fleet.request(
        "PUT",
        f"/v2/workers/{worker['id']}",
        json={**worker, "labels": {**worker["labels"], "row": "7"}, "maintenance": kept},
    ).raise_for_status()
    before = (worker_containers(), labels(), instances())
    assert before[1]["gpu-worker-b"]["row"] == "7"
    declared.variables["gpustack_worker_arguments"] = ["--worker-metrics-port=10151"]  # what it is anyway
    with Traffic(NAME) as traffic:
        declared.roll_well()
    show("worker argument", traffic)
    assert_both_workers_had_turns()
    assert traffic.failures == []
    assert traffic.sent > 100
    assert set(before[0]).isdisjoint(worker_containers())
    assert (labels(), maintained()) == (before[1], {"gpu-worker-b": PERSONS_MESSAGE})
    assert_all_serve()
    worker = next(row for row in fleet.items("/v2/workers") if row["name"] == "gpu-worker-b")
    fleet.request("PUT", f"/v2/workers/{worker['id']}", json={**worker, "maintenance": None}).raise_for_status()


def test_worker_image_reaches_all_workers_without_a_lost_request(declared: Declared) -> None:
    before = (worker_containers(), instances())
    declared.variables["gpustack_worker_image"] = tag_again("v2.1.1-again")
    with Traffic(NAME) as traffic:
        declared.roll_well()
    show("worker image", traffic)
    assert_both_workers_had_turns()
    assert traffic.failures == []
    assert set(before[0]).isdisjoint(worker_containers())
    assert (
        on_host("gpu-worker-a", "docker inspect --format '{{.Config.Image}}' gpustack-worker")
        .strip()
        .endswith("-again")
    )
    assert_all_serve()


def test_model_parameter_reaches_all_replicas_without_a_lost_request(declared: Declared) -> None:
    before = instances()
    declared.model["backend_parameters"] = ["--max-num-seqs=64"]
    with Traffic(NAME) as traffic:
        declared.roll_well()
    show("model parameter", traffic)
    assert traffic.failures == []
    assert set(before).isdisjoint(instances())
    assert [line.count("--max-num-seqs=64") for line in engine_command_lines(NAME)] == [1, 1]
    assert_all_serve()
    for entry in report()["models"].values():
        assert entry["outcome"] == "done"
        assert {"drain", "change", "ready", "first_answer", "back", "total", "overhead"} == set(entry["seconds"])


def test_setting_of_the_container_engine_takes_its_engines_along_and_no_request(declared: Declared) -> None:
    declared.variables["gpustack_container_engine_daemon"] = {
        "insecure-registries": [REGISTRY],
        "max-concurrent-downloads": 4,
        "default-ulimits": {"nofile": {"Name": "nofile", "Hard": 65536, "Soft": 65536}},
    }
    with Traffic(NAME) as traffic:
        declared.roll_well()
    show("setting of the container engine", traffic)
    assert_both_workers_had_turns()
    assert traffic.failures == []
    assert '"default-ulimits"' in on_host("gpu-worker-b", "cat /etc/docker/daemon.json")
    assert_all_serve()


def test_one_replica_gets_another_beside_it_while_cards_are_free(declared: Declared) -> None:
    declared.model.update(replicas=1)
    declared.roll_well(playbook="site.yml")
    declared.model["backend_parameters"] = ["--max-num-seqs=48"]
    with Traffic(NAME) as traffic:
        done = declared.roll_well()
    show("one replica, cards free", traffic)
    assert traffic.failures == []
    assert "[pair-surge] serves again" in done.stdout
    assert [line.count("--max-num-seqs=48") for line in engine_command_lines(NAME)] == [1]
    assert [model["name"] for model in Fleet().items("/v2/models")] == [NAME]
    assert_all_serve(targets=1)


def test_one_replica_in_place_has_a_gap_as_long_as_its_start(declared: Declared) -> None:
    declared.model["backend_parameters"] = ["--max-num-seqs=40"]
    declared.model["rollout"] = "gap"
    with Traffic(NAME) as traffic:
        done = declared.roll_well()
    show(f"one replica, gap of {traffic.failing_seconds:.1f} s", traffic)
    assert "pair does not answer meanwhile: it has no other replica" in done.stdout
    assert traffic.failures
    assert traffic.failing_seconds < report()["models"][NAME]["seconds"]["ready"] + 10
    assert_all_serve(targets=1)
