# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/drift.yml on the running fleet, while people click in GPUStack. The tests build on each other in order."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from demo_fleet import SERVER_URL, WORKERS, Fleet, site, wait_for
from fault_proxy import FaultProxy

MODEL = "qwen2.5-14b-instruct"
BY_HAND = "GPUStack's page or API"
MARKER = "GPUOPS_CONFIGURATION"

Drift = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture(name="before", scope="module")
def fixture_before() -> dict[str, Any]:
    """The model as site.yml has left it."""
    model = Fleet().model(MODEL)
    assert model is not None
    return model


@pytest.fixture(name="fleet", scope="module")
def fixture_fleet(before: dict[str, Any]) -> Iterator[Fleet]:
    """The fleet, which is as before when the tests are done."""
    fleet = Fleet()
    yield fleet
    for worker in WORKERS:
        maintain(fleet, worker, False)
    for model in fleet.items("/v2/models"):
        if model["id"] != before["id"]:
            fleet.request("DELETE", f"/v2/models/{model['id']}").raise_for_status()
    edit(fleet, before["id"], **{field: before[field] for field in ("name", "backend_parameters", "env")})
    for instance in fleet.instances(MODEL):
        if instance["state"] != "running":  # GPUStack looks at one that waits every 180 s, at a new one at once
            fleet.request("DELETE", f"/v2/model-instances/{instance['id']}").raise_for_status()
    fleet.wait_until_running(MODEL)


@pytest.fixture(name="drift")
def fixture_drift(tmp_path: Path) -> Drift:
    """Exit code, JSON and output of the playbook."""

    def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
        file = tmp_path / "drift.json"
        done: subprocess.CompletedProcess[str] = site(
            "--extra-vars", f"gpustack_models_drift_file={file}", *arguments, playbook="playbooks/drift.yml"
        )
        assert file.exists(), done.stdout[-3000:] + done.stderr
        return done.returncode, json.loads(file.read_text()), done.stdout

    return run


def edit(fleet: Fleet, number: int, **fields: Any) -> None:
    """As GPUStack's page does it: the whole model is sent again."""
    model = fleet.request("GET", f"/v2/models/{number}").json()
    fleet.request("PUT", f"/v2/models/{number}", json={**model, **fields}).raise_for_status()


def maintain(fleet: Fleet, name: str, enabled: bool) -> None:
    (worker,) = (worker for worker in fleet.items("/v2/workers") if worker["name"] == name)
    body = {"name": name, "labels": worker["labels"], "maintenance": {"enabled": enabled, "message": None}}
    fleet.request("PUT", f"/v2/workers/{worker['id']}", json=body).raise_for_status()


def findings(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["name"], finding["code"]): finding for row in found["models"] for finding in row["findings"]}


def state(fleet: Fleet) -> Any:
    models = [{key: model[key] for key in ("name", "env", "backend_parameters")} for model in fleet.items("/v2/models")]
    return models, [(i["name"], i["created_at"], i["state"]) for i in fleet.items("/v2/model-instances")]


def test_fleet_as_declared_has_no_drift_and_looking_writes_nothing(fleet: Fleet, drift: Drift) -> None:
    before = state(fleet)
    with FaultProxy(SERVER_URL) as proxy:
        code, found, output = drift("--extra-vars", f"gpustack_server_url={proxy.url}")
        assert proxy.writes() == []
        assert len(proxy.passed) < 20
    assert (code, found["drifted"], findings(found)) == (0, False, {})
    assert "No drift: 1 declared model, configured and running as in git" in output
    assert "Nothing changed" in output
    assert state(fleet) == before


def test_edit_and_foreign_model_are_told_apart_in_check_mode_too(
    fleet: Fleet, before: dict[str, Any], drift: Drift
) -> None:
    changed = [item.replace("--max-model-len=65536", "--max-model-len=8192") for item in before["backend_parameters"]]
    edit(fleet, before["id"], backend_parameters=changed)
    fleet.deploy("try-out", "Qwen2.5-14B-Instruct", replicas=0)
    code, found, output = drift("--check")
    (instance,) = fleet.instances(MODEL)
    assert (code, found["drifted"]) == (2, True)
    assert set(findings(found)) == {(MODEL, "edited"), (MODEL, "engine_differs"), ("try-out", "foreign")}
    edited, engine = findings(found)[MODEL, "edited"], findings(found)[MODEL, "engine_differs"]
    values = {"name": "--max-model-len", "declared": 65536, "configured": 8192, "running": 65536}
    assert edited["settings"] == engine["settings"] == [values]
    assert (edited["who"], engine["subject"]) == (BY_HAND, instance["name"])
    assert edited["since"] < edited["until"]
    assert "Drift: 1 of 1 declared model, 1 model that is not declared" in output


def test_instance_that_is_older_than_the_configuration(fleet: Fleet, before: dict[str, Any], drift: Drift) -> None:
    """A run that wrote the model, and was ended before it came to the instance."""
    fingerprint = before["env"][MARKER].split()[0]
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    env = {**before["env"], MARKER: f"{fingerprint} {written}"}
    edit(fleet, before["id"], backend_parameters=before["backend_parameters"], env=env)
    code, found, _output = drift("--extra-vars", '{"gpustack_models_drift_ignored": ["foreign"]}')
    (instance,) = fleet.instances(MODEL)
    assert code == 2
    assert set(findings(found)) == {(MODEL, "old_instance"), ("try-out", "foreign")}
    old = findings(found)[MODEL, "old_instance"]
    assert (old["subject"], old["who"]) == (instance["name"], "a run that did not finish")


def test_model_that_was_renamed(fleet: Fleet, before: dict[str, Any], drift: Drift) -> None:
    edit(fleet, before["id"], name="chatty")
    code, found, _output = drift()
    assert code == 2
    renamed = findings(found)[MODEL, "renamed"]
    assert (renamed["other"], renamed["who"]) == ("chatty", BY_HAND)
    assert (MODEL, "missing") not in findings(found)
    edit(fleet, before["id"], name=MODEL)


def test_instance_that_was_deleted(fleet: Fleet, drift: Drift) -> None:
    (instance,) = fleet.instances(MODEL)
    for worker in WORKERS:  # so that its replacement finds no place
        maintain(fleet, worker, True)
    fleet.request("DELETE", f"/v2/model-instances/{instance['id']}").raise_for_status()
    wait_for(lambda: [i for i in fleet.instances(MODEL) if i["id"] != instance["id"]], "a replacement", 60)
    code, found, _output = drift()
    assert code == 2
    missing = findings(found)[MODEL, "instance_not_running"]
    assert missing["subject"] != instance["name"]
    assert missing["settings"][0]["running"].startswith(("pending", "analyzing"))
