# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role container_engine would run on RHEL and its rebuilds.

RENDERED ONLY: no such host was at hand, so these tests show every file and every command as they are written.
"""

from __future__ import annotations

from typing import Any

import pytest
from rendering import rendered

from ansible_collections.gpuops.gpustack.plugins.module_utils.container_engine import plan

ROCKY = {"id": "rocky", "version": "9.6"}
SETTINGS = {"source": "docker", "version": "28.3.3", "repository_url": "https://mirror.example.org/docker"}
KEY, ENTRY = "/etc/pki/rpm-gpg/RPM-GPG-KEY-gpustack-docker", "/etc/yum.repos.d/gpustack-docker.repo"


@pytest.fixture(name="variables")
def fixture_variables() -> dict[str, Any]:
    wanted = plan(ROCKY, SETTINGS)
    return {
        "ansible_check_mode": False,
        "_gpustack_container_engine_plan": wanted,
        "_gpustack_container_engine_key": {},
        "_gpustack_container_engine_restart_allowed": True,
        "_gpustack_container_engine_engines": [],
        "gpustack_container_engine_key_fingerprints": ["060A61C51B558A7F742B77AAC52FEB6B621E9F35"],
        "__gpustack_container_engine_rehearsal": {
            "keys": {"docker": "a key"},
            "specifications": ["docker-ce-3:28.3.3-1.el9", "docker-ce-cli-1:28.3.3-1.el9"],
        },
    }


def test_every_package_comes_by_its_exact_version(request, variables):
    tasks = request.config.rootpath / "roles/container_engine/tasks/install_dnf.yml"
    assert rendered(tasks, variables) == [
        ("ansible.builtin.rpm_key", {"key": KEY, "state": "present"}),
        (
            "ansible.builtin.dnf",
            {
                "name": ["docker-ce-3:28.3.3-1.el9", "docker-ce-cli-1:28.3.3-1.el9"],
                "state": "present",
                "install_weak_deps": False,
                "lock_timeout": 300,
            },
        ),
    ]


def test_packages_and_entry_of_rocky(variables):
    wanted = variables["_gpustack_container_engine_plan"]
    assert [(one["name"], one["version"]) for one in wanted["packages"]] == [
        ("docker-ce", "28.3.3"),
        ("docker-ce-cli", "28.3.3"),
        ("containerd.io", ""),
        ("iptables-nft", ""),
        ("python3-requests", ""),
    ]
    assert [(one["path"], one["key_path"], one["key_url"]) for one in wanted["repositories"]] == [
        (ENTRY, KEY, "https://mirror.example.org/docker/centos/gpg")
    ]
    assert wanted["stale_files"] == ["/etc/yum.repos.d/docker-ce.repo"]
