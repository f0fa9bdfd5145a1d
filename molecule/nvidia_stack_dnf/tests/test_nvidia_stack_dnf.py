# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What dnf makes of the role's streams and locks, as one story after the fresh install; the tests run in this order."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
SCENARIO = "molecule/nvidia_stack_dnf"
HOST = "stack-dnf"
DRIVER, NEXT_DRIVER = "580.95.05-1.el9", "580.105.08-1.el9"
OF_THE_DRIVER = (
    "kmod-nvidia-latest-dkms", "nvidia-driver", "nvidia-driver-cuda", "nvidia-driver-cuda-libs", "nvidia-persistenced",
)  # fmt: skip
FROZEN = {
    **dict.fromkeys(OF_THE_DRIVER, DRIVER),
    "cuda-libraries-12-9": "12.9.1-1",
    "libnccl": "2.27.5-1+cuda12.9",
    "nvidia-container-toolkit": "1.18.2-1",
    "libnvidia-container1": "1.18.2-1",
}
NCCL = (
    "python3 -c 'import ctypes; v = ctypes.c_int(); "
    'ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(v)); print(v.value)\''
)


def on(command: str) -> str:
    """What a command prints as root on the host; it has to succeed."""
    inside = ["docker", "exec", HOST, "sh", "-c", command]
    result = subprocess.run(inside, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def play(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The role, with further arguments."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    command = ["ansible-playbook", f"{SCENARIO}/converge.yml", "-i", f"{SCENARIO}/inventory/hosts.yml", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def versions() -> dict[str, str]:
    """Version and release of every package that rpm knows."""
    lines = on("rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE}\n'").splitlines()
    return dict(line.split() for line in lines)


def locked() -> str:
    return on("dnf -q versionlock list")


def test_everything_is_at_the_declared_version_and_locked() -> None:
    assert FROZEN.items() <= versions().items()
    assert [name for name in FROZEN if f"{name}-" not in locked()] == []
    stream = on("cat /etc/dnf/modules.d/nvidia-driver.module").split()
    assert {"stream=580-dkms", "state=enabled"} <= set(stream)
    assert on("cat /sys/module/nvidia/version").strip() == "580.95.05"
    assert on(NCCL).strip() == "22705"


def test_an_upgrade_moves_nothing_that_is_locked() -> None:
    unlocked = on("dnf --assumeno --disableplugin=versionlock upgrade 2>&1; true")
    assert NEXT_DRIVER in unlocked  # inside the stream; 590 is in another one
    assert "590.48.01" not in unlocked
    on("dnf -q -y upgrade")
    assert FROZEN.items() <= versions().items()


def test_a_version_that_is_not_there() -> None:
    before = on("rpm -qa | sort; find /etc -type f -exec md5sum {} + | sort -k 2")
    run = play("-e", "gpustack_nvidia_stack_driver_version=580.999.99")
    assert run.returncode != 0
    assert "nvidia-driver 580.999.99 is not there; there are 3:590.48.01-1.el9, 3:580.105.08-1.el9" in run.stdout
    assert on("rpm -qa | sort; find /etc -type f -exec md5sum {} + | sort -k 2") == before


def test_a_changed_variable_lifts_the_locks_upgrades_and_locks_again() -> None:
    run = play("-e", "gpustack_nvidia_stack_driver_version=580.105.08")
    assert run.returncode == 0, run.stdout[-5000:]
    moved = dict.fromkeys(OF_THE_DRIVER, NEXT_DRIVER)
    assert {**FROZEN, **moved}.items() <= versions().items()
    assert on("cat /sys/module/nvidia/version").strip() == "580.105.08"
    locks = locked().split()
    assert [
        name for name in OF_THE_DRIVER if not any(f"{name}-" in lock and NEXT_DRIVER in lock for lock in locks)
    ] == []
    assert DRIVER not in locked()
    again = play("-e", "gpustack_nvidia_stack_driver_version=580.105.08")
    assert "changed=0" in again.stdout, again.stdout[-3000:]
