# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gpustack-worker container and the engines beside it, as the container engine tells them."""

from __future__ import annotations

from typing import Any, Callable

testinfra_hosts = ["docker://gpu-worker-a", "docker://gpu-worker-b"]

GIB = 1 << 30
MODEL = "qwen2.5-14b-instruct"

Inspect = Callable[[str], dict[str, Any]]
Engines = Callable[[str], list[dict[str, Any]]]


def test_nvidia_runtime_is_registered_with_the_cgroup_driver_that_keeps_devices(host: Any) -> None:
    runtimes = host.check_output("docker info --format '{{json .Runtimes}} {{.CgroupDriver}}'")
    assert '"nvidia"' in runtimes
    assert runtimes.endswith("cgroupfs")


def test_worker_container_has_the_flags_of_the_field_report(inspect: Inspect) -> None:
    settings = inspect("gpustack-worker")["HostConfig"]
    assert settings["Privileged"] is True
    assert settings["NetworkMode"] == "host"
    assert settings["IpcMode"] == "host"
    assert settings["ShmSize"] == 64 * GIB
    assert settings["Runtime"] == "nvidia"
    assert settings["RestartPolicy"]["Name"] == "unless-stopped"


def test_worker_container_mounts_socket_data_and_models(inspect: Inspect) -> None:
    mounts = {mount["Destination"]: mount for mount in inspect("gpustack-worker")["Mounts"]}
    assert mounts["/var/run/docker.sock"]["Source"] == "/var/run/docker.sock"
    assert mounts["/var/lib/gpustack"]["Name"] == "gpustack-worker-data"
    assert mounts["/var/lib/models"]["Source"] == "/var/lib/models"


def test_worker_is_pinned_to_name_address_and_interface(host: Any, inspect: Inspect) -> None:
    arguments = inspect("gpustack-worker")["Config"]["Cmd"]
    name = host.check_output("hostname")
    assert f"--worker-name={name}" in arguments
    assert "--worker-ifname=eth0" in arguments
    address = next(argument.partition("=")[2] for argument in arguments if argument.startswith("--worker-ip="))
    assert address in host.interface("eth0").addresses


def test_worker_knows_its_own_container(inspect: Inspect) -> None:
    assert "GPUSTACK_RUNTIME_DEPLOY_MIRRORED_NAME=gpustack-worker" in inspect("gpustack-worker")["Config"]["Env"]


def test_every_engine_has_64_gib_of_shared_memory(engine_containers: Engines) -> None:
    pauses = [engine for engine in engine_containers(MODEL) if engine["Name"].endswith("-pause")]
    assert [pause["HostConfig"]["ShmSize"] for pause in pauses] == [64 * GIB]
    assert [pause["HostConfig"]["IpcMode"] for pause in pauses] == ["shareable"]


def test_every_engine_has_the_environment_of_the_plan(engine_containers: Engines) -> None:
    engines = [engine for engine in engine_containers(MODEL) if not engine["Name"].endswith("-pause")]
    assert engines
    for engine in engines:
        assert "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1" in engine["Config"]["Env"]
        assert not any(variable.startswith("RAY_CGRAPH_get_timeout") for variable in engine["Config"]["Env"])
