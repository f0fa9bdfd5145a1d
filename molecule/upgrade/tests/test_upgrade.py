# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From 2.1.1 to 2.3.0 while people ask, the backup on a bare host, and the end.

The tests are the steps of one story and run in the order written. They leave a fleet without GPUStack.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from demo_fleet import PROJECT, SERVER_URL, WORKERS, Fleet, admin_password, engine_containers, on_host, site, wait_for
from traffic import Traffic

SCENARIO = Path(__file__).resolve().parents[1]
DECLARED = yaml.safe_load((SCENARIO / "vars/two_replicas.yml").read_text())
SERVER, NEWEST = "gpustack-server", "2.3.0"
BACKUPS = "/var/backups/gpustack"
USER, USER_PASSWORD = "kim", "Kim_of_the_scenario_1"
REPORTS = PROJECT / "build"


def play(playbook: str, *arguments: str, release: str = "2.1.1", **variables: Any) -> subprocess.CompletedProcess:
    declared = json.dumps({**DECLARED, "gpustack_server_version": release, **variables})
    return site("-e", declared, *arguments, playbook=f"playbooks/{playbook}.yml", timeout_seconds=2700)


def releases() -> list[str]:
    """What the server and both workers say of themselves."""
    urls = [SERVER_URL, *(f"http://172.30.0.1{number}:10150" for number in (1, 2))]
    return [requests.get(f"{url}/version", timeout=10).json()["version"].removeprefix("v") for url in urls]


def containers() -> list[str]:
    """GPUStack's own containers with their ids, engines included, on all hosts."""
    return [on_host(host, "docker ps --all --no-trunc --quiet | sort") for host in (SERVER, *WORKERS)]


def backups() -> list[str]:
    return on_host(SERVER, f"ls {BACKUPS} 2>/dev/null || true").split()


def identities() -> dict[str, dict[str, Any]]:
    """What must outlive an upgrade and a restore, as GPUStack lists it."""
    fleet = Fleet()
    routes = {route["id"]: route["name"] for route in fleet.items("/v2/model-routes")}
    models = {model["id"]: model for model in fleet.items("/v2/models")}
    return {
        "clusters": {cluster["name"]: cluster["id"] for cluster in fleet.items("/v2/clusters")},
        "workers": {worker["name"]: worker["id"] for worker in fleet.items("/v2/workers")},
        "models": {
            model["name"]: (model["id"], model["backend_parameters"], model["env"]) for model in models.values()
        },
        "routes": {name: number for number, name in routes.items()},
        "targets": {
            (routes[target["route_id"]], models[target["model_id"]]["name"]): target["weight"]
            for target in fleet.items("/v2/model-route-targets")
        },
        "keys": {key["name"]: key["id"] for key in fleet.items("/v2/api-keys")},
        "users": {user["username"]: (user["id"], user["is_admin"]) for user in fleet.items("/v2/users")},
    }


def uuid(worker: str) -> str:
    """Who the worker is, from its data; GPUStack does not tell it."""
    return on_host(worker, "cat /var/lib/docker/volumes/gpustack-worker-data/_data/worker_uuid")


def asked_with(key: str) -> int:
    body = {"model": "pair", "max_tokens": 4, "messages": [{"role": "user", "content": "Hello?"}]}
    headers = {"Authorization": f"Bearer {key}"}
    return requests.post(f"{SERVER_URL}/v1/chat/completions", json=body, headers=headers, timeout=60).status_code


def logs_in(username: str, password: str) -> bool:
    form = {"username": username, "password": password}
    return requests.post(f"{SERVER_URL}/auth/login", data=form, timeout=30).status_code == 200


def steps(report: str, name: str) -> dict[str, float | None]:
    """Seconds that each step of a host took, as the report for machines tells."""
    entries = json.loads((REPORTS / report).read_text())["hosts"]
    return {step["step"]: step["seconds"] for step in entries[name]["steps"]}


def reached(report: str, hosts: Sequence[str], name: str) -> datetime:
    """When the last of the hosts had taken this step."""
    entries = json.loads((REPORTS / report).read_text())["hosts"]
    return max(
        datetime.fromisoformat(step["at"]) for host in hosts for step in entries[host]["steps"] if step["step"] == name
    )


def assert_refused(done: subprocess.CompletedProcess, *words: str) -> None:
    said = " ".join(done.stdout.split())
    assert done.returncode != 0, done.stdout[-3000:]
    for text in words:
        assert text in said, done.stdout[-3000:]


@pytest.fixture(scope="module", name="key")
def fixture_key() -> str:
    """An API key and a user, made as somebody makes them who knows nothing of this collection."""
    fleet = Fleet()
    fleet.request("POST", "/v2/users", json={"username": USER, "password": USER_PASSWORD}).raise_for_status()
    answer = fleet.request("POST", "/v2/api-keys", json={"name": "caller"})
    answer.raise_for_status()
    return answer.json()["value"]


@pytest.fixture(scope="module", name="before")
def fixture_before(key: str) -> dict[str, Any]:
    return identities()


@pytest.fixture(scope="module", name="secrets")
def fixture_secrets(key: str) -> list[str]:
    """What no output may hold."""
    fleet = Fleet()
    cluster = fleet.items("/v2/clusters")[0]["id"]
    token = fleet.request("GET", f"/v2/clusters/{cluster}/registration-token").json()["token"]
    return [admin_password(), token, key, USER_PASSWORD]


def test_way_that_is_known_to_break_is_refused_before_anything_is_touched(before: dict[str, Any]) -> None:
    untouched = containers()
    assert_refused(
        play("upgrade", release="2.2.0"),
        "runs GPUStack 2.1.1, and 2.2.0 is declared",
        "2.2.1 or later",
        "othing was changed",
    )
    assert_refused(
        play("upgrade", release=NEWEST, gpustack_worker_version="2.1.1"), "GPUStack 2.1.1 is declared for the worker"
    )
    assert containers() == untouched
    assert backups() == []


def test_check_mode_tells_and_changes_nothing(before: dict[str, Any]) -> None:
    untouched = containers()
    done = play("upgrade", "--check", "--diff", release=NEWEST)
    assert done.returncode == 0, done.stdout[-3000:]
    assert done.stdout.count(f"a server of {NEWEST} cannot hand it requests, so it changes at once") == 2
    assert "0 of 2 workers need a turn" in done.stdout
    assert "would change" in done.stdout
    assert (containers(), backups(), identities()) == (untouched, [], before)


def test_release_that_does_not_come_up_goes_back_to_the_container_and_data_from_before(before: dict[str, Any]) -> None:
    inspect = "docker inspect --format '{{.Id}} {{.Config.Image}} {{.Config.Cmd}}' gpustack-server"
    untouched = on_host(SERVER, inspect)
    done = play(
        "upgrade",
        release=NEWEST,
        gpustack_server_arguments=["--no-such-argument"],
        gpustack_server_start_timeout_seconds=60,
    )
    assert_refused(done, "GPUStack 2.3.0 did not come up", "The server runs v2.1.1 as before")
    assert (on_host(SERVER, inspect), identities(), releases()) == (untouched, before, ["2.1.1"] * 3)
    assert on_host(SERVER, "docker ps --all --quiet --filter name=previous; ls -d /etc/*.previous || true") == ""
    assert len(backups()) == 1


def test_upgrade_keeps_everything_and_loses_requests_only_until_the_workers_follow(
    key: str, before: dict[str, Any], secrets: list[str]
) -> None:
    uuids = [uuid(worker) for worker in WORKERS]
    with Traffic("pair") as traffic:
        done = play("upgrade", "-vvv", "--diff", release=NEWEST)
    assert done.returncode == 0, done.stdout[-5000:]
    server = steps("server/report.json", SERVER)
    print(f"{traffic}, failing for {traffic.failing_seconds:.1f} s\n{json.dumps(server, indent=1)}")
    print(json.dumps([steps("server/report.json", worker) for worker in WORKERS], indent=1))
    assert releases() == [NEWEST] * 3
    assert (identities(), [uuid(worker) for worker in WORKERS]) == (before, uuids)
    assert (asked_with(key), logs_in(USER, USER_PASSWORD)) == (200, True)
    # A server of 2.3.0 cannot hand requests to workers of 2.1.1; it knows within seconds that the others are there.
    assert traffic.last_failure_at < reached("server/report.json", WORKERS, "ready") + timedelta(seconds=15)
    assert traffic.sent - len(traffic.failures) > 100
    assert [secret for secret in secrets if secret in done.stdout + done.stderr] == []


def test_backup_is_complete_and_for_root_only() -> None:
    _of_the_try, name = backups()
    assert name.startswith("gpustack-server-data-v2.1.1-")
    assert on_host(SERVER, f"stat --format '%U %a' {BACKUPS} {BACKUPS}/{name}").splitlines() == ["root 700", "root 600"]
    assert "./gpuops-backup.json" in on_host(SERVER, f"tar --list --gzip --file {BACKUPS}/{name}").splitlines()


def test_second_upgrade_changes_nothing() -> None:
    untouched, kept = containers(), backups()
    done = play("upgrade", release=NEWEST)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Nothing changed: everything is as declared." in done.stdout
    assert (containers(), backups()) == (untouched, kept)


def test_way_back_is_refused_by_every_playbook_that_would_take_it() -> None:
    untouched = containers()
    for playbook in ("upgrade", "site"):
        assert_refused(
            play(playbook, release="2.1.1"), "runs GPUStack 2.3.0, and 2.1.1 is declared", "does not go back"
        )
    assert containers() == untouched


def test_restore_on_a_bare_host_brings_everything_back(
    key: str, before: dict[str, Any], secrets: list[str], tmp_path: Path
) -> None:
    name = backups()[-1]
    subprocess.run(["docker", "cp", f"{SERVER}:{BACKUPS}/{name}", tmp_path], check=True)
    subprocess.run(["docker", "rm", "--force", "--volumes", SERVER], check=True)
    subprocess.run(["docker", "volume", "rm", f"gpuops-bench-{SERVER}"], check=True)
    subprocess.run([sys.executable, PROJECT / "molecule/bench/bench.py", "up"], check=True, cwd=PROJECT)
    on_host(SERVER, "install --directory --mode 0700 /root/restore")
    whole, half = f"/root/restore/{name}", f"/root/restore/half-{name}"
    subprocess.run(["docker", "cp", tmp_path / name, f"{SERVER}:{whole}"], check=True)
    on_host(SERVER, f"head --bytes=1000000 {whole} > {half}")

    def restore(file: str, *arguments: str, **variables: Any) -> subprocess.CompletedProcess:
        return play("restore", *arguments, gpustack_server_restore_file=file, **variables)

    assert_refused(restore(half), f"{half} is no backup", "Nothing was changed")
    assert_refused(
        restore(whole), "gpustack_server_restore_confirm=gpustack-server-data", "2 workers", "of GPUStack v2.1.1"
    )
    assert_refused(restore(whole, release="2.1.0"), "The backup was made by 2.1.1, and 2.1.0 is declared")
    assert on_host(SERVER, "command -v docker || true") == ""
    done = restore(whole, "-vvv", gpustack_server_restore_confirm="gpustack-server-data")
    assert done.returncode == 0, done.stdout[-5000:]
    print(json.dumps(steps("server/report.json", SERVER), indent=1))
    assert releases()[0] == "2.1.1"
    assert identities() == before
    assert [secret for secret in secrets if secret in done.stdout + done.stderr] == []
    assert logs_in(USER, USER_PASSWORD)
    # The workers go back by the same declaration.
    done = play("site")
    assert done.returncode == 0, done.stdout[-5000:]
    assert releases() == ["2.1.1"] * 3
    assert identities() == before
    wait_for(lambda: asked_with(key) == 200, "an answer with the key from before", 120)


def teardown(hosts: str, *arguments: str, **variables: Any) -> subprocess.CompletedProcess:
    return play("teardown", *arguments, gpustack_teardown=hosts, **variables)


def test_teardown_asks_and_check_mode_tells() -> None:
    untouched = containers()
    assert_refused(teardown("gpu-worker-b"), "This removes gpu-worker-b", "gpustack_teardown_confirm=gpu-worker-b")
    assert_refused(teardown("gpu-worker-x"), "nothing: name hosts in gpustack_teardown")
    done = teardown("gpu-worker-b", "--check")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "would change" in done.stdout
    assert containers() == untouched


def test_teardown_of_one_worker_loses_no_request_and_keeps_its_data(secrets: list[str]) -> None:
    with Traffic("pair") as traffic:
        done = teardown("gpu-worker-b", "-vvv", gpustack_teardown_confirm="gpu-worker-b")
    assert done.returncode == 0, done.stdout[-5000:]
    print(f"{traffic}\n{json.dumps(steps('teardown/report.json', 'gpu-worker-b'), indent=1)}")
    assert traffic.failures == []
    assert traffic.sent > 20
    assert [worker["name"] for worker in Fleet().items("/v2/workers")] == ["gpu-worker-a"]
    assert on_host("gpu-worker-b", "docker ps --all --quiet; ls -d /etc/gpustack-worker* 2>/dev/null || true") == ""
    assert on_host("gpu-worker-b", "docker volume ls --quiet") == "gpustack-worker-data\n"
    assert [secret for secret in secrets if secret in done.stdout + done.stderr] == []
    again = teardown("gpu-worker-b", gpustack_teardown_confirm="gpu-worker-b")
    assert again.returncode == 0, again.stdout[-3000:]
    assert "Nothing changed" in again.stdout


def test_removed_worker_comes_back_by_site(before: dict[str, Any]) -> None:
    done = play("site")
    assert done.returncode == 0, done.stdout[-5000:]
    now = identities()
    assert (now["models"], now["targets"]) == (before["models"], before["targets"])


def test_worker_whose_host_is_gone_is_taken_off_the_server() -> None:
    subprocess.run(["docker", "stop", "gpu-worker-b"], check=True)
    try:
        done = teardown("gpu-worker-b", gpustack_teardown_confirm="gpu-worker-b", gpustack_teardown_dead=True)
    finally:
        subprocess.run(["docker", "start", "gpu-worker-b"], check=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "gpu-worker-b" not in [worker["name"] for worker in Fleet().items("/v2/workers")]


def test_teardown_of_everything_with_its_data_leaves_nothing_and_runs_twice() -> None:
    everything = {
        "gpustack_teardown_confirm": ",".join(sorted([SERVER, *WORKERS])),
        "gpustack_worker_remove_data": True,
        "gpustack_server_remove_data": True,
    }
    done = teardown("all", **everything)
    assert done.returncode == 0, done.stdout[-5000:]
    for host in (SERVER, *WORKERS):
        assert on_host(host, "docker ps --all --quiet; docker volume ls --quiet; ls -d /etc/gpustack-* || true") == ""
    assert engine_containers() == []
    again = teardown("all", **everything)
    assert again.returncode == 0, again.stdout[-3000:]
    assert "Nothing changed" in again.stdout
