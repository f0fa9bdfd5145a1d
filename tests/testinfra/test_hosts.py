# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every host, and the secrets on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

testinfra_hosts = ["docker://gpustack-server", "docker://gpu-worker-a", "docker://gpu-worker-b"]

TOKEN_FILE = {"gpustack-server": "/etc/gpustack-server/config.yaml"}


def configuration_file(host: Any) -> str:
    return TOKEN_FILE.get(host.check_output("hostname"), "/etc/gpustack-worker/config.yaml")


def secret_of(host: Any) -> str:
    name = "bootstrap_password" if "server" in configuration_file(host) else "token"
    line = host.check_output("grep ^%s: %s", name, configuration_file(host))
    return line.partition(":")[2].strip().strip("'\"")


def test_container_engine_runs_and_starts_at_boot(host: Any) -> None:
    docker = host.service("docker")
    assert docker.is_running
    assert docker.is_enabled


def test_daemon_configuration_is_valid_json_with_the_registry(host: Any) -> None:
    daemon = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert daemon["insecure-registries"] == ["172.30.0.2:5000"]


def test_configuration_with_the_secret_is_for_root_only(host: Any) -> None:
    configuration = host.file(configuration_file(host))
    assert (configuration.user, configuration.group, configuration.mode) == ("root", "root", 0o600)
    assert len(secret_of(host)) > 10


def test_secret_is_in_no_argument_list(host: Any) -> None:
    arguments = host.check_output("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; true")
    assert secret_of(host) not in arguments


@pytest.mark.parametrize("container", ["gpustack-server", "gpustack-worker"])
def test_secret_is_in_no_container_definition(host: Any, container: str) -> None:
    definition = host.run("docker inspect %s", container)
    assert secret_of(host) not in definition.stdout


def test_secret_is_in_no_world_readable_file(host: Any) -> None:
    found = host.run(
        "find /etc /tmp /home /root /var/log /var/tmp -xdev -type f -perm -o+r -exec grep -lF -- %s {} +",
        secret_of(host),
    )
    assert found.stdout == ""
