# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.container_engine import plan

DEBIAN, UBUNTU, ROCKY = (
    {"id": "debian", "version": "12"},
    {"id": "ubuntu", "version": "24.04"},
    {"id": "rocky", "version": "9.6"},
)
DOCKER = {"source": "docker", "version": "28.3.3", "repository_url": "https://mirror.example.org/docker/"}
PROXY = {"https_proxy": "http://me:a%20b@proxy.example.org:3128", "no_proxy": "10.0.0.0/8,.example.org"}


def names(wanted):
    return [package["name"] for package in wanted["packages"]]


def test_docker_from_the_distribution_needs_no_repository():
    wanted = plan(DEBIAN, {})
    assert names(wanted) == ["docker.io", "iptables", "python3-requests"]
    assert (wanted["manager"], wanted["repositories"], wanted["entry_pattern"], wanted["daemon"]) == ("apt", [], "", {})


def test_docker_from_its_own_repository():
    wanted = plan(UBUNTU, DOCKER)
    assert wanted["packages"][:3] == [
        {"name": "docker-ce", "version": "28.3.3"},
        {"name": "docker-ce-cli", "version": "28.3.3"},
        {"name": "containerd.io", "version": ""},
    ]
    (repository,) = wanted["repositories"]
    assert repository["key_url"] == "https://mirror.example.org/docker/ubuntu/gpg"
    assert repository["path"] == "/etc/apt/sources.list.d/gpustack-docker.sources"
    assert repository["content"].splitlines()[1:] == [
        "Types: deb",
        "URIs: https://mirror.example.org/docker/ubuntu",
        "Suites: noble",
        "Components: stable",
        "Signed-By: /etc/apt/keyrings/gpustack-docker.asc",
    ]


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("deb [signed-by=/etc/apt/keyrings/docker.gpg] https://download.docker.com/linux/debian x stable", True),
        ("URIs: https://mirror.example.org/docker/debian", True),
        ("URIs: https://mirror.example.org/docker-registry/debian", False),
        ("URIs: https://mirror.example.org/debian", False),
    ],
)  # fmt: skip
def test_entries_for_the_same_repository_are_known_by_their_address(line, same):
    assert bool(re.match(plan(UBUNTU, DOCKER)["entry_pattern"], line)) is same


def test_docker_on_rocky_comes_from_the_directory_of_centos():
    wanted = plan(ROCKY, DOCKER)
    (repository,) = wanted["repositories"]
    assert wanted["manager"] == "dnf"
    assert repository["content"].splitlines()[1:] == [
        "[docker]",
        "name=docker",
        "baseurl=https://mirror.example.org/docker/centos/9/$basearch/stable",
        "enabled=1",
        "gpgcheck=1",
        "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-gpustack-docker",
    ]


@pytest.mark.parametrize(
    ("installed", "outdated"),
    [
        ({}, ["docker-ce", "docker-ce-cli", "containerd.io", "iptables", "python3-requests"]),
        ({"docker-ce": "5:28.3.3-1~debian.12~bookworm", "docker-ce-cli": "5:28.3.2-1~debian.12~bookworm"},
         ["docker-ce-cli", "containerd.io", "iptables", "python3-requests"]),
        ({"docker-ce": "5:28.3.3-1~x", "docker-ce-cli": "5:28.3.3-1~x", "containerd.io": "1.7.27-1",
          "iptables": "1.8.9-2", "python3-requests": "2.28.1"}, []),
    ],
)  # fmt: skip
def test_client_and_engine_are_wanted_at_one_version(installed, outdated):
    packages = {name: [{"version": version}] for name, version in installed.items()}
    assert plan(DEBIAN, DOCKER, packages)["outdated"] == outdated


def test_own_packages_in_place_of_the_sources():
    assert names(plan(DEBIAN, {"packages": ["moby-engine"]})) == ["moby-engine"]


def test_settings_of_the_daemon():
    settings = {
        "log_max_size": "50m",
        "log_max_files": 4,
        "live_restore": True,
        "registry_mirrors": ["https://mirror.example.org"],
        "insecure_registries": ["10.0.0.5:5000"],
        "nvidia": True,
        "nvidia_runtime_path": "/usr/bin/nvidia-container-runtime",
    }
    assert plan(DEBIAN, settings)["daemon"] == {
        "log-driver": "json-file",
        "log-opts": {"max-size": "50m", "max-file": "4"},
        "live-restore": True,
        "registry-mirrors": ["https://mirror.example.org"],
        "insecure-registries": ["10.0.0.5:5000"],
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime", "runtimeArgs": []}},
    }


@pytest.mark.parametrize("live_restore", [None, ""])
def test_what_is_not_said_is_left_as_it_is(live_restore):
    assert plan(DEBIAN, {"live_restore": live_restore})["daemon"] == {}


def test_a_present_engine_takes_its_proxy_in_the_daemons_file():
    wanted = plan(DEBIAN, PROXY, engine_version="Docker version 28.3.3, build 980b856")
    assert wanted["daemon"]["proxies"] == {
        "https-proxy": "http://me:a%20b@proxy.example.org:3128",
        "no-proxy": "10.0.0.0/8,.example.org",
    }
    assert wanted["proxy_unit"]["content"] == ""


@pytest.mark.parametrize("version", ["Docker version 20.10.24+dfsg1, build 297e128", ""])
def test_an_older_engine_would_not_start_with_it_and_gets_a_unit(version):
    wanted = plan(DEBIAN, PROXY, engine_version=version)
    assert "proxies" not in wanted["daemon"]
    assert wanted["proxy_unit"]["path"] == "/etc/systemd/system/docker.service.d/gpustack-proxy.conf"
    assert wanted["proxy_unit"]["content"].splitlines()[1:] == [
        "[Service]",
        'Environment="HTTPS_PROXY=http://me:a%%20b@proxy.example.org:3128"',
        'Environment="NO_PROXY=10.0.0.0/8,.example.org"',
    ]


def test_without_a_proxy_there_is_nothing_to_reach_without_it():
    wanted = plan(DEBIAN, {"no_proxy": "10.0.0.0/8"})
    assert (wanted["proxy_unit"]["content"], wanted["daemon"]) == ("", {})


@pytest.mark.parametrize(
    ("distribution", "settings", "message"),
    [
        (DEBIAN, {"sauce": "docker"}, "unknown settings sauce"),
        (DEBIAN, {"source": "snap"}, "source is 'snap': wanted is distribution or docker"),
        (DEBIAN, {"log_max_size": "50 MB"}, "wanted is a size such as 50m"),
        (ROCKY, {}, "rocky has no Docker of its own: wanted is the source docker"),
        ({"id": "arch", "version": "1"}, {}, "arch is not known"),
        ({"id": "debian", "version": "13"}, DOCKER, "Docker's repository for debian 13 is not known"),
    ],
)
def test_wrong_input_says_what_is_wanted(distribution, settings, message):
    with pytest.raises(ValueError, match=message):
        plan(distribution, settings)
