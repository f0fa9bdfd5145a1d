# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import socket

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import host_facts

PS_LINE = {
    "id": "ab" * 32,
    "name": "gpustack-worker",
    "image": "gpustack/gpustack:v2.1.1",
    "state": "running",
    "status": "Up 3 hours",
    "ports": "",
    "workload": "",
}


@pytest.fixture(name="bin_directory")
def fixture_bin_directory(tmp_path, monkeypatch):
    directory = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return directory


def facts(**arguments):
    result = run_module(host_facts.main, arguments)
    assert result["changed"] is False
    return result["ansible_facts"]["gpustack_host"]


@pytest.fixture(name="docker")
def fixture_docker(bin_directory, tmp_path):
    """A docker whose engine has one container; it writes down how it was called."""
    (tmp_path / "ps.json").write_text(json.dumps(PS_LINE) + "\n")
    return fake_command(bin_directory, "docker", f'echo "$@" >>{tmp_path}/calls; cat {tmp_path}/ps.json')


@pytest.mark.usefixtures("docker")
def test_this_machine(tmp_path):
    (tmp_path / "product_uuid").write_text("4C4C4544-0032-3510-8052-B7C04F4A3233\n")
    found = facts(product_uuid_path=str(tmp_path / "product_uuid"))
    assert found["hostname"] == socket.gethostname()
    assert found["product_uuid"] == "4c4c4544-0032-3510-8052-b7c04f4a3233"
    assert "127.0.0.1" in found["interfaces"]["lo"]
    assert found["interface_mtu"]["lo"] == 65536
    assert found["memory_total_mib"] > 100
    assert found["shm_size_mib"] > 0
    assert found["containers"] == {
        "gpustack-worker": {
            "id": "ab" * 32,
            "image": "gpustack/gpustack:v2.1.1",
            "state": "running",
            "status": "Up 3 hours",
            "ports": [],
            "workload": None,
        }
    }
    assert found["problems"] == []
    assert {key: found[key] for key in ("listening_ports", "paths", "model_directories", "disk_free_gib")} == {
        "listening_ports": {},
        "paths": {},
        "model_directories": {},
        "disk_free_gib": {},
    }


@pytest.mark.usefixtures("docker")
def test_docker_is_asked_once(tmp_path):
    facts()
    assert (tmp_path / "calls").read_text().startswith("ps --all --no-trunc --format {")
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_a_port_that_this_test_listens_on():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        listener = facts(ports=[str(port)])["listening_ports"][str(port)]
    assert listener["process"].startswith("python")
    assert listener["pid"] > 0


def test_a_published_port_belongs_to_its_container(bin_directory, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        line = {**PS_LINE, "name": "web", "ports": f"0.0.0.0:{port}->80/tcp"}
        (tmp_path / "ps.json").write_text(json.dumps(line))
        fake_command(bin_directory, "docker", f"cat {tmp_path}/ps.json")
        assert facts(ports=[str(port)])["listening_ports"][str(port)]["container"] == "web"


@pytest.mark.parametrize(
    ("listener", "container"),
    [
        ({"pid": 1, "process": "a", "container_id": "id-1"}, "one"),
        ({"pid": 1, "process": "a", "container_id": "id-2"}, "id-2"),
        ({"pid": 1, "process": "docker-proxy", "container_id": None}, "two"),
    ],
)
def test_the_container_behind_a_port(listener, container):
    present = {"one": {"id": "id-1", "ports": []}, "two": {"id": "id-9", "ports": [80]}}
    assert host_facts.name_containers({80: listener}, present) == {
        "80": {"pid": 1, "process": listener["process"], "container": container}
    }


def test_paths_disks_and_model_directories(tmp_path):
    (tmp_path / "file").write_text("12345")
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    missing = str(tmp_path / "missing/deeper")
    found = facts(
        paths=[str(tmp_path / "file"), str(tmp_path), missing],
        disk_paths=[str(tmp_path), missing],
        model_directories=[str(tmp_path), missing],
    )
    assert found["paths"] == {
        str(tmp_path / "file"): {"exists": True, "is_directory": False, "size_bytes": 5},
        str(tmp_path): {"exists": True, "is_directory": True, "size_bytes": None},
        missing: {"exists": False, "is_directory": False, "size_bytes": None},
    }
    assert found["disk_free_gib"][missing] == pytest.approx(found["disk_free_gib"][str(tmp_path)], abs=1)
    assert found["model_directories"][str(tmp_path)]["config"] == {"model_type": "qwen2"}
    assert found["model_directories"][missing]["problem"] == "does not exist"


def test_no_docker_is_no_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(host_facts.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    found = facts(product_uuid_path=str(tmp_path / "missing"))
    assert (found["containers"], found["problems"], found["product_uuid"]) == (None, [], None)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Cannot connect to the Docker daemon' >&2; exit 1", "Cannot connect to the Docker daemon"),
        ("exec sleep 30", "no answer within 1 seconds"),
    ],
)
def test_an_engine_that_does_not_answer_is_a_problem_and_no_error(bin_directory, script, message):
    fake_command(bin_directory, "docker", script)
    found = facts(timeout=1)
    assert found["containers"] is None
    assert [problem["code"] for problem in found["problems"]] == ["container_engine_unreachable"]
    assert message in found["problems"][0]["message"]


def test_what_is_no_port_is_refused():
    result = run_module(host_facts.main, {"ports": ["10150", "http"]})
    assert result["failed"] is True
    assert result["msg"].startswith("ports: 'http' is no port: ")


def test_a_system_without_files_to_read_is_a_host_of_which_little_is_known(monkeypatch, tmp_path, bin_directory):
    monkeypatch.setattr(host_facts, "PROC", tmp_path / "proc")
    monkeypatch.setattr(host_facts, "NETWORK_CLASS", tmp_path / "net")
    fake_command(bin_directory, "docker", "exit 1")
    found = facts(ports=["22"])
    assert (found["memory_total_mib"], found["memlock_limit_kib"], found["listening_ports"]) == (None, None, {})
    assert found["interface_mtu"] == {}


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (None, "/var/lib/docker"),
        ('{"data-root": "/"}', "/"),
        ("{}", "/var/lib/docker"),
        ("[]", "/var/lib/docker"),
        ("{", "/var/lib/docker"),
    ],
)
def test_where_docker_keeps_its_images(tmp_path, monkeypatch, content, path):
    monkeypatch.setattr(host_facts, "DAEMON_JSON", tmp_path / "daemon.json")
    if content is not None:
        (tmp_path / "daemon.json").write_text(content)
    storage = host_facts.container_storage()
    assert (storage["path"], storage["free_gib"]) == (path, host_facts.disk_free_gib(path))


def test_rdma_devices(tmp_path):
    assert host_facts.entries_of(tmp_path / "none") == []
    for name in ("mlx5_1", "mlx5_0"):
        (tmp_path / name).mkdir()
    assert host_facts.entries_of(tmp_path) == ["mlx5_0", "mlx5_1"]
