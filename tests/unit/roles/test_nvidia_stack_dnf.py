# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role nvidia_stack would run on RHEL and Rocky 9.

RENDERED ONLY: no RHEL or Rocky host was at hand, so these tests show every command and option as they are written.
The commands themselves (streams, versionlock, repoquery) have been given by hand to the dnf 4.14 of Debian.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rendering
from stack_host import A100, SETTINGS, V100, stack_facts

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import plan

ROCKY = {"id": "rocky", "version_id": "9.6"}
KERNEL = {"release": "5.14.0-570.el9.x86_64", "headers": False}


@pytest.fixture(name="tasks")
def fixture_tasks(request) -> Path:
    return request.config.rootpath / "roles/nvidia_stack/tasks/install_dnf.yml"


def rendered(tasks: Path, *cards: dict[str, Any], **facts: Any) -> list[tuple[str, Any]]:
    """What would run on a Rocky host with these cards."""
    host = {"module_stream": "", "held": [], **stack_facts(*cards, distribution=ROCKY, kernel=KERNEL), **facts}
    variables = {
        "ansible_facts": {"gpustack_nvidia_stack": host},
        "ansible_check_mode": False,
        "_gpustack_nvidia_stack_plan": plan(host, SETTINGS, "a"),
        "__gpustack_nvidia_stack_rehearsal": {"specifications": ["nvidia-driver-3:580.95.05-1.el9"]},
    }
    return rendering.rendered(tasks, variables)


def test_a_bare_rocky_host_with_v100(tasks):
    assert rendered(tasks, V100) == [
        ("ansible.builtin.dnf", {"name": "python3-dnf-plugin-versionlock", "state": "present"}),
        ("ansible.builtin.rpm_key", {"key": "/etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-cuda", "state": "present"}),
        (
            "ansible.builtin.rpm_key",
            {"key": "/etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-container-toolkit", "state": "present"},
        ),
        ("ansible.builtin.command", {"argv": ["dnf", "--assumeyes", "module", "reset", "nvidia-driver"]}),
        ("ansible.builtin.command", {"argv": ["dnf", "--assumeyes", "module", "enable", "nvidia-driver:580-dkms"]}),
        (
            "ansible.builtin.dnf",
            {
                "name": ["nvidia-driver-3:580.95.05-1.el9"],
                "state": "present",
                "install_weak_deps": False,
                "allow_downgrade": True,
                "update_cache": True,
                "lock_timeout": 300,
            },
        ),
    ]


def test_the_right_stream_stays_and_locks_are_lifted_for_a_deliberate_change(tasks):
    commands = [
        arguments["argv"]
        for module, arguments in rendered(tasks, V100, module_stream="580-dkms", held=["nvidia-driver"])
        if module == "ansible.builtin.command"
    ]
    assert commands == [
        ["dnf", "versionlock", "delete", "*nvidia*", "libcuda1", "libcudadebugger1", "libnvcuvid1", "cuda-drivers*",
         "libnccl*", "datacenter-gpu-manager*", "*-12-9"],
    ]  # fmt: skip


def test_a_wrong_stream_is_left_first(tasks):
    streams = [
        arguments["argv"][-1]
        for module, arguments in rendered(tasks, A100, module_stream="latest-dkms")
        if module == "ansible.builtin.command"
    ]
    assert streams == ["nvidia-driver", "nvidia-driver:580-open"]


def test_every_package_of_a_bare_rocky_host():
    wanted = plan(stack_facts(V100, distribution=ROCKY, kernel=KERNEL), SETTINGS, "a")["packages"]
    assert [package["name"] for package in wanted] == [
        "kmod-nvidia-latest-dkms",
        "nvidia-driver",
        "nvidia-driver-cuda",
        "nvidia-driver-cuda-libs",
        "nvidia-persistenced",
        "kernel-devel-5.14.0-570.el9.x86_64",
        "kernel-devel-matched",
        "dkms",
        "cuda-libraries-12-9",
        "libnccl",
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
        "libnvidia-container-tools",
        "libnvidia-container1",
    ]
