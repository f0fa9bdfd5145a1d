# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role container_engine would do on RHEL and its rebuilds: every file and every command.

RENDERED ONLY: no such host was at hand, so these tests show tasks as they are written, and nothing of what dnf makes of
them.
"""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from rendering import rendered

HOST = {"containers": None, "distribution": {"id": "rocky", "version": "9.6"}}
PROXY_UNIT = "/etc/systemd/system/docker.service.d/gpustack-proxy.conf"
KEY, ENTRY = "/etc/pki/rpm-gpg/RPM-GPG-KEY-gpustack-docker", "/etc/yum.repos.d/gpustack-docker.repo"
CONTENT = f"""\
# Managed by Ansible (gpuops.gpustack.container_engine).
[docker]
name=docker
baseurl=https://mirror.example.org/docker/centos/9/$basearch/stable
enabled=1
gpgcheck=1
gpgkey=file://{KEY}
"""
SPECIFICATIONS = ["docker-ce-3:28.3.3-1.el9", "docker-ce-cli-1:28.3.3-1.el9", "containerd.io-1.7.27-3.1.el9"]
INSTALLED = {
    "docker-ce": "3:28.3.3-1.el9",
    "docker-ce-cli": "1:28.3.3-1.el9",
    "containerd.io": "1.7.27-3.1.el9",
    "iptables-nft": "1.8.10-11.el9",
    "python3-requests": "2.25.1-9.el9",
}
DAEMON = {
    "log-driver": "json-file",
    "log-opts": {"max-size": "50m", "max-file": "4"},
    "registry-mirrors": ["https://mirror.example.org"],
    "exec-opts": ["native.cgroupdriver=cgroupfs"],
    "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime", "runtimeArgs": []}},
}
MERGED = ("gpuops.gpustack.daemon_config", {"settings": DAEMON, "restart_allowed": True})
STARTED = (
    "ansible.builtin.systemd_service",
    {"name": "docker.service", "state": "started", "enabled": True},
)


@pytest.fixture(name="role")
def fixture_role(request) -> Path:
    return request.config.rootpath / "roles/container_engine"


def variables(**other: Any) -> dict[str, Any]:
    """A bare Rocky host: what the inventory says, what was found, and what the tasks before have registered."""
    return {
        "inventory_hostname": "rocky-a",
        "ansible_check_mode": False,
        "ansible_facts": {"gpustack_host": HOST, "packages": {}},
        "gpustack_container_engine_source": "docker",
        "gpustack_container_engine_version": "28.3.3",
        "gpustack_container_engine_repository_url": "https://mirror.example.org/docker",
        "gpustack_container_engine_registry_mirrors": ["https://mirror.example.org"],
        "__gpustack_container_engine_entries": {
            "files": [{"path": "/etc/yum.repos.d/docker-ce.repo", "checksum": "another"}]
        },
        "__gpustack_container_engine_rehearsal": {
            "signing_keys": {"docker": "a key"},
            "specifications": SPECIFICATIONS,
        },
        "__gpustack_container_engine_packages": {"changed": True},
        "__gpustack_container_engine_unit": {"stat": {"exists": False}},
        "__gpustack_container_engine_proxy": {"changed": False, "skipped": True},
        "__gpustack_container_engine_no_proxy": {"changed": False},
        "__gpustack_container_engine_daemon": {"changed": True, "apply": "restart"},
        **other,
    }


def test_everything_that_happens_to_a_bare_rocky_host(role):
    actions = rendered(role / "tasks/main.yml", variables())
    packages = [("docker-ce", "28.3.3"), ("docker-ce-cli", "28.3.3"), ("containerd.io", ""), ("iptables-nft", "")]
    mine = {"owner": "root", "group": "root", "mode": "0644"}
    assert actions == [
        MERGED,  # in check mode
        ("ansible.builtin.package_facts", None),
        (
            "ansible.builtin.find",
            {
                "paths": "/etc/yum.repos.d",
                "patterns": ["*.list", "*.sources", "*.repo"],
                "contains": r".*(download\.docker\.com|https://mirror\.example\.org/docker/)",
                "get_checksum": True,
            },
        ),
        actions[3],  # another one, shown further down
        (
            "gpuops.gpustack.package_rehearsal",
            {
                "repositories": [
                    {
                        "name": "docker",
                        "url": "https://mirror.example.org/docker/centos/9/$basearch/stable",
                        "key_url": "https://mirror.example.org/docker/centos/gpg",
                        "key_path": KEY,
                        "path": ENTRY,
                        "content": CONTENT,
                    }
                ],
                "keys": {},
                "fingerprints": [
                    "9DC858229FC7DD38854AE2D88D81803C0EBFCD88",
                    "060A61C51B558A7F742B77AAC52FEB6B621E9F35",
                ],
                "packages": [
                    *({"name": name, "version": version} for name, version in packages),
                    {"name": "python3-requests", "version": ""},
                ],
                "without_files": ["/etc/yum.repos.d/docker-ce.repo"],
            },
        ),
        actions[5],  # the refusal, which the next test shows
        ("ansible.builtin.file", {"path": "/etc/yum.repos.d/docker-ce.repo", "state": "absent"}),
        ("ansible.builtin.copy", {"dest": KEY, "content": "a key", **mine}),
        ("ansible.builtin.copy", {"dest": ENTRY, "content": CONTENT, **mine}),
        ("ansible.builtin.rpm_key", {"key": KEY, "state": "present"}),
        (
            "ansible.builtin.dnf",
            {
                "name": SPECIFICATIONS,
                "state": "present",
                "install_weak_deps": False,
                "allow_downgrade": True,
                "lock_timeout": 300,
            },
        ),
        ("ansible.builtin.stat", {"path": PROXY_UNIT}),
        actions[12],  # a proxy that would change under engines of models
        ("ansible.builtin.file", {"path": PROXY_UNIT, "state": "absent"}),
        MERGED,
        STARTED,
        ("ansible.builtin.meta", "flush_handlers"),
        ("ansible.builtin.set_fact", {"gpustack_container_engine_changed": True}),
    ]


def test_the_engine_is_not_changed_under_engines_of_models(role):
    engine = {"workload": "qwen", "state": "running"}
    host = {**HOST, "containers": {"qwen-0": engine}}
    actions = rendered(role / "tasks/main.yml", variables(ansible_facts={"gpustack_host": host, "packages": {}}))
    _other, refusal, _proxy = (arguments for module, arguments in actions if module == "ansible.builtin.assert")
    assert refusal["that"] == "_gpustack_container_engine_restart_allowed"
    assert refusal["fail_msg"].strip() == (
        "docker-ce, docker-ce-cli, containerd.io, iptables-nft, python3-requests would change, which restarts Docker"
        " and ends 1 engines. Drain the host first, or set gpustack_container_engine_interrupt_engines to true. The"
        " host was not touched."
    )
    assert dict(actions)["gpuops.gpustack.daemon_config"]["restart_allowed"] is False


def test_a_file_that_may_hold_entries_of_others_is_not_removed(role):
    files = [{"path": f"/etc/yum.repos.d/{name}.repo", "checksum": "another"} for name in ("docker-ce", "site")]
    actions = rendered(role / "tasks/main.yml", variables(__gpustack_container_engine_entries={"files": files}))
    refusal = dict(reversed(actions))["ansible.builtin.assert"]
    assert refusal["fail_msg"].startswith("/etc/yum.repos.d/site.repo has an entry for Docker's repository; wanted")


def test_a_host_that_has_everything_is_only_looked_at(role):
    packages = {name: [{"version": version}] for name, version in INSTALLED.items()}
    entry = {"path": ENTRY, "checksum": sha1(CONTENT.encode()).hexdigest()}
    actions = rendered(
        role / "tasks/main.yml",
        variables(
            ansible_facts={"gpustack_host": {**HOST, "containers": {}}, "packages": packages},
            __gpustack_container_engine_entries={"files": [entry]},
            __gpustack_container_engine_rehearsal={"changed": False, "skipped": True},
            __gpustack_container_engine_packages={"changed": False},
            __gpustack_container_engine_daemon={"changed": False, "apply": "none"},
        ),
    )
    assert [module.rpartition(".")[2] for module, _arguments in actions] == [
        "daemon_config", "package_facts", "find", "assert", "rpm_key", "dnf", "stat", "assert", "file", "daemon_config",
        "systemd_service",
        "meta", "set_fact",
    ]  # fmt: skip
    assert dict(actions)["ansible.builtin.dnf"]["name"] == list(INSTALLED)
    assert dict(actions)["ansible.builtin.set_fact"] == {"gpustack_container_engine_changed": False}


def test_check_mode_leaves_to_dnf_nothing_that_it_cannot_know(role):
    skipped = {"changed": False, "skipped": True}
    actions = rendered(
        role / "tasks/main.yml", variables(ansible_check_mode=True, __gpustack_container_engine_packages=skipped)
    )
    modules = {module.rpartition(".")[2] for module, _arguments in actions}
    assert not modules & {"rpm_key", "dnf", "systemd_service"}
    assert {"package_rehearsal", "daemon_config"} <= modules


def test_proxy_and_the_ca_of_a_registry(role):
    actions = rendered(
        role / "tasks/main.yml",
        variables(
            gpustack_container_engine_https_proxy="http://proxy.example.org:3128",
            gpustack_container_engine_no_proxy="10.0.0.0/8",
            gpustack_container_engine_registry_ca_files={"registry.example.org:5000": "files/ca.crt"},
            __gpustack_container_engine_version={"stdout": "Docker version 28.3.3, build 980b856"},
        ),
    )
    assert ("ansible.builtin.command", {"argv": ["dockerd", "--version"]}) in actions
    assert dict(actions)["gpuops.gpustack.daemon_config"]["settings"] == {
        **DAEMON,
        "proxies": {"https-proxy": "http://proxy.example.org:3128", "no-proxy": "10.0.0.0/8"},
    }
    place = "/etc/docker/certs.d/registry.example.org:5000"
    mine = {"owner": "root", "group": "root"}
    directory = ("ansible.builtin.file", {"path": place, "state": "directory", **mine, "mode": "0755"})
    certificate = (
        "ansible.builtin.copy",
        {"src": "files/ca.crt", "dest": f"{place}/ca.crt", **mine, "mode": "0644"},
    )
    assert actions.index(directory) + 1 == actions.index(certificate)


@pytest.mark.parametrize(("apply", "state"), [("restart", "restarted"), ("reload", "reloaded")])
def test_what_makes_a_change_of_the_configuration_count(role, apply, state):
    handlers = rendered(
        role / "handlers/main.yml", variables(__gpustack_container_engine_daemon={"changed": True, "apply": apply})
    )
    service = {"name": "docker.service"}
    assert handlers == [
        ("ansible.builtin.systemd_service", {**service, "state": state}),
        ("ansible.builtin.systemd_service", {**service, "state": "restarted", "daemon_reload": True}),
    ]
