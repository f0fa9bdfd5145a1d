# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role nvidia_stack would do on RHEL and Rocky 9: every file and every command.

RENDERED ONLY: no RHEL or Rocky host was at hand, so these tests show tasks as they are written. What dnf makes of them
is tried by molecule/nvidia_stack_dnf, on Debian.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rendering
from stack_host import A100, V100, stack_facts

ROCKY = {"id": "rocky", "version_id": "9.6"}
KERNEL = {"release": "5.14.0-570.el9.x86_64", "headers": False}
REPOSITORIES = {
    "nvidia-cuda": "https://mirror.example.org/cuda/rhel9/x86_64",
    "nvidia-container-toolkit": "https://mirror.example.org/libnvidia-container/stable/rpm/x86_64",
}
HELD = ["*nvidia*", "libcuda1", "libcudadebugger1", "libnvcuvid1", "cuda-drivers*", "libnccl*"]
HELD += ["datacenter-gpu-manager*", "*-12-9"]
PERSISTENCED = "/usr/bin/nvidia-persistenced --user nvidia-persistenced"
MINE = {"owner": "root", "group": "root", "mode": "0644"}


@pytest.fixture(name="role")
def fixture_role(request) -> Path:
    return request.config.rootpath / "roles/nvidia_stack"


def rendered(file: Path, *cards: dict[str, Any], **facts: Any) -> list[tuple[str, Any]]:
    """What would run on a Rocky host with these cards."""
    host = {
        **stack_facts(*cards, distribution=ROCKY, kernel=KERNEL),
        "module_stream": "",
        "initramfs_tool": "dracut",
        "persistenced_command": f"{PERSISTENCED} --no-persistence-mode --verbose",
        **facts,
    }
    variables = {
        "inventory_hostname": "rocky-a",
        "ansible_check_mode": False,
        "ansible_facts": {"gpustack_nvidia_stack": host},
        "gpustack_nvidia_stack_cuda_repository_url": "https://mirror.example.org/cuda",
        "gpustack_nvidia_stack_container_toolkit_repository_url": "https://mirror.example.org/libnvidia-container/",
        "gpustack_nvidia_stack_cuda_version": "12.9.1",
        "gpustack_nvidia_stack_dcgm": True,
        "__gpustack_nvidia_stack_rehearsal": {
            "signing_keys": {name: f"the key of {name}" for name in REPOSITORIES},
            "specifications": ["nvidia-driver-3:580.95.05-1.el9"],
        },
        "__gpustack_nvidia_stack_rebooted": {"changed": False},
    }
    return rendering.rendered(file, variables)


def commands(actions: list[tuple[str, Any]]) -> list[list[str]]:
    return [arguments["argv"] for module, arguments in actions if module == "ansible.builtin.command"]


def test_a_bare_rocky_host_with_v100(role):
    keys = {name: f"/etc/pki/rpm-gpg/RPM-GPG-KEY-{name}" for name in REPOSITORIES}
    entries = {
        name: f"# Managed by Ansible (gpuops.gpustack.nvidia_stack).\n[{name}]\nname={name}\nbaseurl={url}\n"
        f"enabled=1\ngpgcheck=1\ngpgkey=file://{keys[name]}\n"
        for name, url in REPOSITORIES.items()
    }
    assert rendered(role / "tasks/install.yml", V100) == [
        *(
            ("ansible.builtin.copy", {"dest": key, "content": f"the key of {name}", **MINE})
            for name, key in keys.items()
        ),
        *(
            ("ansible.builtin.copy", {"dest": f"/etc/yum.repos.d/{name}.repo", "content": entry, **MINE})
            for name, entry in entries.items()
        ),
        ("ansible.builtin.dnf", {"name": "python3-dnf-plugin-versionlock", "state": "present"}),
        *(("ansible.builtin.rpm_key", {"key": key, "state": "present"}) for key in keys.values()),
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
        ("gpuops.gpustack.package_holds", {"patterns": HELD}),
    ]


def test_what_is_rehearsed_first(role):
    actions = rendered(role / "tasks/preflight.yml", V100)
    assert [module.rpartition(".")[2] for module, _arguments in actions] == [
        "nvidia_stack_facts", "assert", "package_rehearsal", "set_fact",
    ]  # fmt: skip
    rehearsed = dict(actions)["gpuops.gpustack.package_rehearsal"]
    assert [one["key_url"] for one in rehearsed["repositories"]] == [
        "https://mirror.example.org/cuda/rhel9/x86_64/D42D0685.pub",
        "https://mirror.example.org/libnvidia-container/gpgkey",
    ]
    assert (rehearsed["preferences"], rehearsed["driver_version"]) == ("", "580.95.05")


def test_files_and_services_of_a_rocky_host(role):
    nouveau, directory, persistence = rendered(role / "tasks/configure.yml", V100)[2:]
    managed = "# Managed by Ansible (gpuops.gpustack.nvidia_stack).\n"
    assert nouveau == (
        "ansible.builtin.copy",
        {
            "dest": "/etc/modprobe.d/gpustack-nouveau.conf",
            "content": f"{managed}blacklist nouveau\noptions nouveau modeset=0\n",
            **MINE,
        },
    )
    place = "/etc/systemd/system/nvidia-persistenced.service.d"
    assert directory == ("ansible.builtin.file", {"path": place, "state": "directory", **MINE, "mode": "0755"})
    command = f"{PERSISTENCED} --persistence-mode --verbose"
    assert persistence == (
        "ansible.builtin.copy",
        {"dest": f"{place}/gpustack.conf", "content": f"{managed}[Service]\nExecStart=\nExecStart={command}\n", **MINE},
    )
    service = "ansible.builtin.systemd_service"
    assert rendered(role / "tasks/service.yml", V100) == [
        ("ansible.builtin.meta", "flush_handlers"),
        (service, {"name": "nvidia-persistenced.service", "state": "started", "enabled": True}),
        (service, {"name": "nvidia-dcgm.service", "state": "started", "enabled": True}),
    ]
    assert rendered(role / "handlers/main.yml", V100) == [
        ("ansible.builtin.command", {"argv": ["dracut", "--force", "--regenerate-all"]}),
        (service, {"name": "nvidia-persistenced.service", "state": "restarted", "daemon_reload": True}),
    ]


def test_a_new_module_is_loaded_and_in_place_of_another_the_host_reboots(role):
    installed = {"installed": "580.95.05", "installed_kind": "proprietary", "nouveau": False}
    fresh = {**installed, "loaded": None, "loaded_kind": None}
    assert commands(rendered(role / "tasks/service.yml", V100, modules=fresh)) == [["modprobe", "nvidia"]]
    old = {**installed, "loaded": "570.86.15", "loaded_kind": "proprietary"}
    reboots = [
        arguments
        for module, arguments in rendered(role / "tasks/service.yml", V100, modules=old)
        if module == "ansible.builtin.reboot"
    ]
    assert [one["reboot_timeout"] for one in reboots] == [900]
    assert "570.86.15" in reboots[0]["msg"]


def test_the_right_stream_stays_and_locks_are_lifted_for_a_deliberate_change(role):
    actions = rendered(role / "tasks/install_dnf.yml", V100, module_stream="580-dkms", held=["nvidia-driver"])
    assert commands(actions) == [["dnf", "versionlock", "delete", *HELD]]


def test_a_wrong_stream_is_left_first(role):
    actions = rendered(role / "tasks/install_dnf.yml", A100, module_stream="latest-dkms")
    assert [command[-1] for command in commands(actions)] == ["nvidia-driver", "nvidia-driver:580-open"]


def test_every_package_of_a_bare_rocky_host(role):
    rehearsed = dict(rendered(role / "tasks/preflight.yml", V100))["gpuops.gpustack.package_rehearsal"]
    assert [(package["name"], package["version"]) for package in rehearsed["packages"]] == [
        ("kmod-nvidia-latest-dkms", "580.95.05"),
        ("nvidia-driver", "580.95.05"),
        ("nvidia-driver-cuda", "580.95.05"),
        ("nvidia-driver-cuda-libs", "580.95.05"),
        ("nvidia-persistenced", "580.95.05"),
        ("kernel-devel", "5.14.0-570.el9"),
        ("kernel-devel-matched", ""),
        ("dkms", ""),
        ("cuda-libraries-12-9", "12.9.1"),
        ("libnccl", "2.27.5-1+cuda12.9"),
        ("datacenter-gpu-manager-4-cuda12", ""),
        ("nvidia-container-toolkit", "1.18.2"),
        ("nvidia-container-toolkit-base", "1.18.2"),
        ("libnvidia-container-tools", "1.18.2"),
        ("libnvidia-container1", "1.18.2"),
    ]
