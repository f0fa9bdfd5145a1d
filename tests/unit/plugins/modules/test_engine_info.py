# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import engine_info


def ps(name, workload="", number=0):
    return json.dumps(
        {
            "id": f"id{number}",
            "name": name,
            "image": "i",
            "state": "running",
            "status": "Up",
            "ports": "",
            "workload": workload,
        }
    )


def inspect(name, workload=None, component="run"):
    labels = {"runtime.gpustack.ai/workload": workload, "runtime.gpustack.ai/component": component} if workload else {}
    return {
        "Name": f"/{name}",
        "Path": "vllm",
        "Args": ["serve"],
        "Config": {"Labels": labels, "Env": ["GPUSTACK_TOKEN=t0psecret"]},
        "HostConfig": {"ShmSize": 67108864},
        "State": {"Status": "running"},
    }


@pytest.fixture(name="docker")
def fixture_docker(tmp_path, monkeypatch):
    """An engine with a worker, two instances and a foreign container; it writes down how it was called."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    lines = [
        ps("gpustack-worker", number=1),
        ps("foreign", number=2),
        ps("m-aaaaa-run-0", "m-aaaaa", number=3),
        ps("m-bbbbb-f0-run-0", "m-bbbbb-f0", number=4),
    ]
    objects = [
        inspect("gpustack-worker"),
        inspect("m-aaaaa-run-0", "m-aaaaa"),
        inspect("m-bbbbb-f0-run-0", "m-bbbbb-f0"),
    ]
    (tmp_path / "ps").write_text("\n".join(lines))
    (tmp_path / "inspect").write_text(json.dumps(objects))
    fake_command(tmp_path / "bin", "docker", f'echo "$@" >>{tmp_path}/calls; cat "{tmp_path}/$1"')
    return tmp_path


def test_engines_and_worker(docker):
    result = run_module(engine_info.main, {})
    assert result["changed"] is False
    assert list(result["instances"]) == ["m-aaaaa", "m-bbbbb"]
    assert result["instances"]["m-bbbbb"]["containers"][0]["workload"] == "m-bbbbb-f0"
    assert (result["worker"]["name"], result["worker"]["shm_size_mib"]) == ("gpustack-worker", 64)
    assert "t0psecret" not in json.dumps(result)
    assert (docker / "calls").read_text().splitlines()[1] == "inspect --type container id1 id3 id4"


def test_only_the_wanted_instances_are_read(docker):
    run_module(engine_info.main, {"instances": ["m-bbbbb"]})
    assert (docker / "calls").read_text().splitlines()[1] == "inspect --type container id1 id4"


def test_a_worker_of_another_name(docker):
    run_module(engine_info.main, {"worker_container": "foreign", "instances": ["none"]})
    assert (docker / "calls").read_text().splitlines()[1] == "inspect --type container id2"


def test_nothing_runs(docker):
    (docker / "ps").write_text("")
    result = run_module(engine_info.main, {})
    assert (result["instances"], result["worker"]) == ({}, None)
    assert len((docker / "calls").read_text().splitlines()) == 1


def test_a_container_that_ended_meanwhile_is_left_out(docker):
    fake_command(
        docker / "bin",
        "docker",
        f'cat "{docker}/$1"; if [ "$1" = inspect ]; then echo "Error: No such container: id4" >&2; exit 1; fi',
    )
    assert list(run_module(engine_info.main, {})["instances"]) == ["m-aaaaa", "m-bbbbb"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'permission denied' >&2; exit 1", "docker ps failed: permission denied."),
        ("exec sleep 30", "docker ps failed: no answer within 1 seconds."),
    ],
)
def test_an_engine_that_does_not_answer_is_one_clear_error(docker, script, message):
    fake_command(docker / "bin", "docker", script)
    result = run_module(engine_info.main, {"timeout": 1})
    assert result["failed"] is True
    assert result["msg"].startswith(message)


def test_no_docker_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(engine_info.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    assert run_module(engine_info.main, {})["msg"].startswith("docker is not installed on this host")
