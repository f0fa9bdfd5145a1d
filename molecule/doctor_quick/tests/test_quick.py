# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy fleet gives nothing and is left alone; the quickest faults; no planted secret is in the support bundle."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from demo_fleet import WORKERS, Fleet, admin_password, on_host
from doctor_faults import QUICK, A, Fault, doctor, now

KEY_LIKE = "q7Zx2LmV9sKd4TpR8wYc3NbH6gFj1AeU"
PLANTED = {
    "environment": "planted-in-environment-1",
    "configuration": "planted-in-configuration-2",
    "log": "planted-in-log-3",
    "kernel": "planted-in-kernel-4",
}
LINES = [
    f"HF_TOKEN={PLANTED['log']}",
    f"Authorization: Bearer {KEY_LIKE}",
    f"pulling https://robot:{PLANTED['log']}@registry.example.org/v2/",
    "sent by jane.doe@example.org",
    f"found {KEY_LIKE[::-1]} in a file",
]


def state_of_the_fleet() -> dict[str, object]:
    """Everything that a run could have changed."""
    look = "docker inspect $(docker ps -aq) --format '{{.Name}} {{.Id}} {{.State.StartedAt}}' | sort; "
    look += "find /etc /var/lib/models /root -newermt @0 -type f -printf '%p %T@ %s\\n' | sort | sha256sum"
    models = [(model["name"], model["env"], model["updated_at"]) for model in Fleet().items("/v2/models")]
    return {"hosts": {host: on_host(host, look) for host in WORKERS}, "models": models}


@pytest.mark.parametrize("arguments", [(), ("--check",)], ids=["run", "check"])
def test_healthy_fleet_gives_nothing_and_is_left_alone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    before = state_of_the_fleet()
    run, result = doctor(tmp_path, *arguments, since=now())
    assert (run.returncode, result["exit_code"], result["findings"]) == (0, 0, []), run.stdout[-3000:]
    assert "Healthy: nothing found on 3 hosts and the server." in run.stdout
    assert state_of_the_fleet() == before
    assert {path.name for path in tmp_path.iterdir()} == {"doctor.html", "doctor.json", "support.tar.gz"}


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_staged_cause_is_the_first_finding(fault: Fault, tmp_path: Path) -> None:
    since = now()
    with fault.staged():
        run, result = doctor(tmp_path, *fault.arguments, since=since)
    assert run.returncode == 2, run.stdout[-3000:]
    first = result["findings"][0]
    assert (first["code"], first["hosts"]) == (fault.code, fault.hosts), run.stdout[-3000:]


@contextmanager
def planted_secrets() -> Iterator[None]:
    """A container that GPUStack would have made, with secrets in its environment, its command and its log."""
    said = [*LINES, f"the environment has {PLANTED['environment']}"]
    echo = "; ".join(f"echo '{line}'" for line in said)
    on_host(
        A,
        f"docker run --detach --name planted --label runtime.gpustack.ai/workload=planted-aaaaa "
        f"--env HF_TOKEN={PLANTED['environment']} --entrypoint sh "
        "$(docker inspect --format '{{.Image}}' gpustack-worker) "
        f'-c "{echo}; sleep 600" --api-key={PLANTED["configuration"]}',
    )
    on_host(A, f"logger --tag kernel 'usb: password={PLANTED['kernel']}'")
    try:
        yield
    finally:
        on_host(A, "docker rm --force planted")


def test_support_bundle_holds_no_planted_secret(tmp_path: Path) -> None:
    with planted_secrets():
        doctor(tmp_path)
    with tarfile.open(tmp_path / "support.tar.gz") as archive:
        texts = {member.name: archive.extractfile(member).read().decode() for member in archive.getmembers()}
    assert "the environment has ********" in texts[f"support/{A}/logs/planted.log"]
    everything = "\n".join(texts.values())
    secrets = [*PLANTED.values(), KEY_LIKE, KEY_LIKE[::-1], "jane.doe", admin_password()]
    assert [secret for secret in secrets if secret in everything] == []
