# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to Docker on a host, as one story after the fresh install; the tests run in the order written.

Nothing here comes from the role under test: what is installed and running is asked of dpkg, systemd and Docker.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
SCENARIO = "molecule/container_engine"
HOST = "engine-a"
REGISTRY = "172.30.0.4"
IMAGE = f"{REGISTRY}/site/sleeper:1"
OLD, NEW = "5:20.10.23-1~debian.12~bookworm", "5:20.10.24-1~debian.12~bookworm"
DAEMON = "/etc/docker/daemon.json"
# Everything that a role could leave behind, and what a restart of the engine would change.
STATE = (
    "dpkg-query -W; systemctl show --property=MainPID docker; docker ps --all --format '{{.ID}} {{.State}}'; "
    "find /etc /var/lib/apt/lists /lib/systemd -type f -exec md5sum {} + 2>/dev/null | sort -k 2"
)


def on(command: str, *, succeeds: bool = True) -> str:
    """What a command prints as root on the host, errors included."""
    inside = ["docker", "exec", HOST, "sh", "-c", f"exec 2>&1; {command}"]
    result = subprocess.run(inside, capture_output=True, text=True, check=False)
    assert (result.returncode == 0) is succeeds, result.stdout
    return result.stdout


def play(*arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
    """The role as it is after the upgrade, with these of its variables changed."""
    changed = {"version": "20.10.24", **variables}
    prefixed = {f"gpustack_container_engine_{name}": value for name, value in changed.items()}
    environment = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    command = ["ansible-playbook", f"{SCENARIO}/converge.yml", "-i", f"{SCENARIO}/inventory/hosts.yml", *arguments]
    command += ["--extra-vars", json.dumps(prefixed)]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def done(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr
    return run.stdout


def refused(**variables: object) -> str:
    """The output, on one line, of a run that has to fail and must leave everything as it was."""
    before = on(STATE)
    run = play(**variables)
    assert run.returncode != 0, run.stdout[-3000:]
    assert "Traceback" not in run.stdout
    assert on(STATE) == before
    return re.sub(r"\s+", " ", run.stdout)


def version(package: str) -> str:
    return on(f"dpkg-query -W -f '${{Version}}' {package}")


def daemon() -> dict[str, object]:
    return json.loads(on(f"cat {DAEMON}"))


def engine_process() -> str:
    return on("systemctl show --property=MainPID docker")


@pytest.fixture(name="engine")
def fixture_engine() -> Iterator[str]:
    """A container that looks like the engine of a model."""
    label = "runtime.gpustack.ai/workload=qwen"
    on(f"docker run --detach --name qwen-run-0 --label {label} {IMAGE} /bin/sleep 3600")
    yield "docker inspect --format '{{.State.Running}} {{.State.StartedAt}}' qwen-run-0"
    on("docker rm --force qwen-run-0")


def test_docker_comes_from_its_repository_at_one_version() -> None:
    assert (version("docker-ce"), version("docker-ce-cli")) == (OLD, OLD)  # and not 28, which is there too
    entries = on("grep -l docker /etc/apt/sources.list.d/*").split()
    assert entries == ["/etc/apt/sources.list.d/gpustack-docker.sources"]  # the one of others is gone
    assert on("systemctl is-active docker; systemctl is-enabled docker") == "active\nenabled\n"


def test_settings_that_others_have_made_are_kept() -> None:
    assert daemon() == {
        "labels": ["rack=7"],
        "dns": ["172.30.0.1"],
        "log-driver": "json-file",
        "log-opts": {"max-size": "50m", "max-file": "4"},
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime", "runtimeArgs": []}},
    }
    running = json.loads(on("docker info --format '{{json .}}'"))
    assert running["Labels"] == ["rack=7"]
    assert (running["CgroupDriver"], running["LoggingDriver"]) == ("cgroupfs", "json-file")
    assert "nvidia" in running["Runtimes"]


def test_client_and_engine_move_together_by_variable() -> None:
    done(play(version="20.10.24"))
    assert (version("docker-ce"), version("docker-ce-cli")) == (NEW, NEW)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"version": "20.10.99"}, f"docker-ce 20.10.99 is not there; there are 5:28.3.3-1~debian.12~bookworm, {NEW}"),
        (
            {"version": "20.10.23", "key_fingerprints": ["9DC858229FC7DD38854AE2D88D81803C0EBFCD88"]},
            "The key of the repository docker is not the expected one",
        ),
    ],
)
def test_a_repository_that_is_not_as_it_should_be(variables: dict[str, object], message: str) -> None:
    output = refused(**variables)
    assert message in output
    assert "The host was not touched." in output


def test_a_registry_with_a_private_ca() -> None:
    before = engine_process()
    assert "x509: certificate signed by unknown authority" in on(f"docker pull {IMAGE}", succeeds=False)
    done(play(registry_ca_files={REGISTRY: str(PROJECT / ".bench/site/ca.crt")}))
    on(f"docker pull {IMAGE}")
    assert engine_process() == before


def test_nothing_that_takes_a_restart_happens_under_the_engines_of_models(engine: str) -> None:
    before = on(engine)
    for variables in (
        {"log_max_size": "10m"},
        {"version": "20.10.23"},
        {"https_proxy": "http://proxy.example.org:3128"},
    ):
        output = refused(**variables)
        assert "restart" in output
        assert "rain the host" in output
    assert on(engine) == before


def test_a_reload_is_enough_for_what_docker_takes_over_while_it_runs(engine: str) -> None:
    before, process = on(engine), engine_process()
    done(play(registry_mirrors=["https://mirror.example.org"], live_restore=True))
    assert (on(engine), engine_process()) == (before, process)
    running = json.loads(on("docker info --format '{{json .}}'"))
    assert running["RegistryConfig"]["Mirrors"] == ["https://mirror.example.org/"]
    assert running["LiveRestoreEnabled"] is True
    # What live-restore is for:
    on("systemctl restart docker")
    assert engine_process() != process
    assert on(engine) == before


def test_the_engine_pulls_through_a_proxy_and_past_it() -> None:
    proxy = "http://pull:s3cret%2Fword@172.30.0.39:3128"  # where nobody is
    output = done(play("--diff", https_proxy=proxy, no_proxy=REGISTRY))
    assert "s3cret" not in output
    running = json.loads(on("docker info --format '{{json .}}'"))
    assert "172.30.0.39:3128" in running["HttpsProxy"]
    assert running["NoProxy"] == REGISTRY
    unit = "/etc/systemd/system/docker.service.d/gpustack-proxy.conf"  # 20.10 has no place for it in daemon.json
    assert on(f"stat -c %a {unit}").strip() == "600"
    on(f"docker rmi --force {IMAGE}; docker pull {IMAGE}")
    assert "proxyconnect tcp: dial tcp 172.30.0.39:3128" in on("docker pull 172.30.0.38/site/sleeper:1", succeeds=False)
    again = done(play("--diff", https_proxy=proxy, no_proxy=REGISTRY))
    assert re.findall(r"changed=(\d+)", again) == ["0"]
    done(play("--diff"))
    assert json.loads(on("docker info --format '{{json .}}'"))["HttpsProxy"] == ""
    on(f"test ! -e {unit}")


def test_a_configuration_that_is_none_is_refused_before_packages_change() -> None:
    on(f"""cp {DAEMON} /root/daemon.json; echo '{{"labels": ["rack=7"],}}' >{DAEMON}""")
    try:
        assert f"{DAEMON} cannot be merged: invalid JSON at line 1, column 23" in refused(version="20.10.23")
    finally:
        on(f"mv /root/daemon.json {DAEMON}")
