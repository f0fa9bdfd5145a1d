# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import containers

PREFIX = "runtime.gpustack.ai/"


def labels(workload, component, name=None):
    return {f"{PREFIX}workload": workload, f"{PREFIX}component": component} | (
        {f"{PREFIX}component-name": name} if name else {}
    )


def inspected(name, **parts):
    """One object of docker inspect."""
    entry = {
        "Name": f"/{name}",
        "Path": "vllm",
        "Args": ["serve", "/m", "--api-key", "s3cret"],
        "RestartCount": 0,
        "State": {
            "Status": "running",
            "ExitCode": 0,
            "OOMKilled": False,
            "Error": "no such runtime",
            "StartedAt": "2026-01-31T12:00:00Z",
        },
        "Config": {"Image": "runner:1", "Entrypoint": None, "Env": ["A=1=2", "HF_TOKEN=hf", "EMPTY="], "Labels": {}},
        "HostConfig": {
            "IpcMode": "container:ff",
            "NetworkMode": "container:ff",
            "Privileged": True,
            "ShmSize": 68719476736,
            "Runtime": "nvidia",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        },
        "Mounts": [
            {"Type": "bind", "Source": "/models", "Destination": "/models", "RW": False},
            {"Type": "volume", "Name": "data", "Source": "/var/lib/docker/x", "Destination": "/data", "RW": True},
        ],
    }
    for part, values in parts.items():
        entry[part].update(values)
    return entry


def test_describe_reduces_and_masks():
    assert containers.describe(inspected("gpustack-worker")) == {
        "name": "gpustack-worker",
        "role": None,
        "workload": None,
        "image": "runner:1",
        "command": ["vllm", "serve", "/m", "--api-key", "********"],
        "entrypoint": [],
        "env": {"A": "1=2", "HF_TOKEN": "********", "EMPTY": ""},
        "ipc_mode": "container:ff",
        "network_mode": "container:ff",
        "privileged": True,
        "shm_size_mib": 65536,
        "runtime": "nvidia",
        "restart_policy": "no",
        "mounts": [
            {"type": "volume", "source": "data", "destination": "/data", "read_only": False},
            {"type": "bind", "source": "/models", "destination": "/models", "read_only": True},
        ],
        "state": "running",
        "exit_code": 0,
        "oom_killed": False,
        "error": "no such runtime",
        "started_at": "2026-01-31T12:00:00Z",
        "restart_count": 0,
    }


def test_command_holds_no_secret_of_the_environment():
    entry = {**inspected("planted"), "Args": ["-c", "echo my-hf-token; serve"]}
    entry["Config"] |= {"Env": ["HF_TOKEN=my-hf-token"], "Entrypoint": ["sh", "-c", "login my-hf-token"]}
    described = containers.describe(entry)
    assert described["command"][-2:] == ["-c", "echo ********; serve"]
    assert described["entrypoint"] == ["sh", "-c", "login ********"]


def test_describe_survives_an_object_without_anything():
    described = containers.describe({"Config": None, "HostConfig": {}, "State": None, "Mounts": None})
    assert (described["name"], described["role"], described["shm_size_mib"], described["env"]) == ("", None, None, {})


@pytest.mark.parametrize(
    ("container_labels", "role"),
    [
        (labels("m-aB3dE", "pause"), "pause"),
        (labels("m-aB3dE", "run", "default"), "default"),
        (labels("m-aB3dE", "run", "ray-head"), "ray-head"),
        (labels("m-aB3dE-f0", "run", "default"), "follower"),
        (labels("m-aB3dE-f0", "pause"), "pause"),
        (labels("m-aB3dE", "unhealthy-restart"), "unhealthy-restart"),
        ({}, None),
        (None, None),
    ],
)
def test_roles(container_labels, role):
    assert containers.describe(inspected("x", Config={"Labels": container_labels}))["role"] == role


@pytest.mark.parametrize(
    ("workload", "instance"),
    [
        ("qwen-aB3dE", "qwen-aB3dE"),
        ("qwen-aB3dE-f0", "qwen-aB3dE"),
        ("qwen-aB3dE-f12", "qwen-aB3dE"),
        ("qwen-f1234", "qwen-f1234"),  # the five random characters may look like a follower
        ("model-f0-aB3dE", "model-f0-aB3dE"),
        ("f0", "f0"),
    ],
)
def test_instance_of_a_workload(workload, instance):
    assert containers.instance_of(workload) == instance


def test_containers_are_grouped_by_instance_and_sorted():
    grouped = containers.group_by_instance(
        [
            inspected("b-aaaaa-f0-run-0", Config={"Labels": labels("b-aaaaa-f0", "run", "default")}),
            inspected("gpustack-worker"),
            inspected("a-bbbbb-run-0", Config={"Labels": labels("a-bbbbb", "run", "default")}),
            inspected("a-bbbbb-pause", Config={"Labels": labels("a-bbbbb", "pause")}),
        ]
    )
    names = {instance: [one["name"] for one in content["containers"]] for instance, content in grouped.items()}
    assert names == {"a-bbbbb": ["a-bbbbb-pause", "a-bbbbb-run-0"], "b-aaaaa": ["b-aaaaa-f0-run-0"]}
    assert list(grouped) == ["a-bbbbb", "b-aaaaa"]


def test_list_skips_warnings_and_reads_published_ports():
    lines = [
        "WARNING: something",
        json.dumps(
            {"id": "f1", "name": "web", "image": "i", "state": "running", "status": "Up", "workload": "",
             "ports": "0.0.0.0:8080->80/tcp, [::]:8080->80/tcp, 127.0.0.1:9000-9001->9000-9001/tcp, 443/tcp"}
        ),
        json.dumps(
            {"id": "f2", "name": "m-aB3dE-run-0", "image": "i", "state": "exited", "status": "Exited (1)", "ports": "",
             "workload": "m-aB3dE"}
        ),
        "[]",
        "",
    ]  # fmt: skip
    assert containers.parse_list("\n".join(lines)) == {
        "web": {
            "id": "f1", "image": "i", "state": "running", "status": "Up", "workload": None, "ports": [8080, 9000, 9001],
        },
        "m-aB3dE-run-0": {
            "id": "f2", "image": "i", "state": "exited", "status": "Exited (1)", "workload": "m-aB3dE", "ports": [],
        },
    }  # fmt: skip
