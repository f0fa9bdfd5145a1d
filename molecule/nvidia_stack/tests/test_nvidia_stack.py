# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to the NVIDIA stack of hosts, as one story after the fresh install; the tests run in the order written.

Nothing here comes from the role under test: what is installed is read with dpkg, modinfo and ctypes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
SCENARIO = "molecule/nvidia_stack"
DRIVER, NEXT_DRIVER, NEXT_BRANCH = "580.95.05", "580.105.08", "590.48.01"
FROZEN = {
    "nvidia-kernel-dkms": f"{DRIVER}-1",
    "nvidia-driver-cuda": f"{DRIVER}-1",
    "nvidia-persistenced": f"{DRIVER}-1",
    "libcuda1": f"{DRIVER}-1",
    "libnvidia-ml1": f"{DRIVER}-1",
    "cuda-libraries-12-9": "12.9.1-1",
    "libnccl2": "2.27.5-1+cuda12.9",
    "nvidia-container-toolkit": "1.18.2-1",
    "nvidia-container-toolkit-base": "1.18.2-1",
    "libnvidia-container-tools": "1.18.2-1",
    "libnvidia-container1": "1.18.2-1",
}
V100, A100, B200, NVSWITCH = "0x1db6 0x030200", "0x20b5 0x030200", "0x2901 0x030200", "0x22a3 0x068000"
# Everything that a role could leave behind: packages, holds, configuration, package lists, units, modules.
STATE = (
    "dpkg-query -W; apt-mark showhold; find /etc /var/lib/apt/lists /usr/local /lib/systemd /lib/modules /var/lib/dkms"
    " -type f -exec md5sum {} + 2>/dev/null | sort -k 2"
)
NCCL = (
    "python3 -c 'import ctypes; v = ctypes.c_int(); "
    'ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(v)); print(v.value)\''
)


def on(host: str, command: str) -> str:
    """What a command prints as root on a host; it has to succeed."""
    result = subprocess.run(["docker", "exec", host, "sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def play(*arguments: str, playbook: str = "converge.yml") -> subprocess.CompletedProcess:
    """The role, with further arguments."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    command = ["ansible-playbook", f"{SCENARIO}/{playbook}", "-i", f"{SCENARIO}/inventory/hosts.yml", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def versions(host: str) -> dict[str, str]:
    """Every installed package with its version."""
    lines = on(host, "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n'").splitlines()
    return {line.split()[1]: line.split()[2] for line in lines if line[1] == "i"}


def show(host: str, *devices: str) -> None:
    """Puts PCI devices (device id and class) of NVIDIA's into the host, in place of those that were there."""
    script = "rm -rf /run/gpu-bench-pci/*; cd /run/gpu-bench-pci"
    for bus, device in zip(("3b", "af", "c1"), devices):
        identifier, pci_class = device.split()
        slot = f"0000:{bus}:00.0"
        script += f"; mkdir {slot}; echo 0x10de >{slot}/vendor; echo {identifier} >{slot}/device"
        script += f"; echo {pci_class} >{slot}/class"
    on(host, script)


def refused(*arguments: str) -> str:
    """The output of a run on stack-bare that has to fail and must leave everything as it was."""
    before = on("stack-bare", STATE)
    run = play("--limit", "stack-bare", "-e", "stack_hosts=stack-bare", *arguments)
    assert run.returncode != 0, run.stdout[-3000:]
    assert "Traceback" not in run.stdout
    assert on("stack-bare", STATE) == before
    return run.stdout


@pytest.mark.parametrize("host", ["stack-a", "stack-b"])
def test_everything_is_at_the_declared_version_and_held(host: str) -> None:
    assert FROZEN.items() <= versions(host).items()
    assert set(FROZEN) <= set(on(host, "apt-mark showhold").split())
    module = on(host, "modinfo nvidia")
    assert f"version:        {DRIVER}\n" in module
    assert "license:        NVIDIA\n" in module  # the proprietary one, also beside the A100 of stack-b
    assert on(host, "cat /sys/module/nvidia/version").strip() == DRIVER
    assert on(host, NCCL).strip() == "22705"
    assert on(host, "cat /var/log/update-initramfs.log") == "-u -k all\n"
    assert '"nvidia-"' in on(host, "apt-config dump Unattended-Upgrade::Package-Blacklist")
    assert "--persistence-mode" in on(
        host, "tr '\\0' ' ' </proc/$(pgrep -of nvidia-persistenced)/cmdline; journalctl -u nvidia-persistenced"
    )


def test_a_full_upgrade_moves_nothing_that_is_frozen() -> None:
    # Of NVIDIA's repositories only: Debian's own updates take minutes and are no part of this.
    upgrade = "DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dir::Etc::SourceList=/dev/null"
    without_freeze = "--simulate --ignore-hold --allow-change-held-packages -o Dir::Etc::PreferencesParts=/dev/null"
    unfrozen = on("stack-a", f"{upgrade} {without_freeze} dist-upgrade")
    assert "Inst nvidia-kernel-dkms [580.95.05-1] (590.48.01-1" in unfrozen
    assert "Inst libnccl2 [2.27.5-1+cuda12.9] (2.28.3-1+cuda13.0" in unfrozen
    on("stack-a", f"{upgrade} dist-upgrade")
    assert FROZEN.items() <= versions("stack-a").items()


def test_packages_that_bring_a_driver_along_cannot_be_installed() -> None:
    command = "apt-get -s install cuda-runtime-12-9 cuda-drivers nvidia-open 2>&1; true"
    assert on("stack-a", command).count("has no installation candidate") == 3


def test_verification_alone_changes_nothing_and_counts_cards() -> None:
    right = play(playbook="verify_alone.yml")
    assert right.returncode == 0, right.stdout[-3000:]
    assert "2 hosts ready: no problems found" in right.stdout
    assert set(re.findall(r"changed=(\d+)", right.stdout)) == {"0"}
    lacking = play("-e", "gpustack_worker_expected_gpus=3", playbook="verify_alone.yml")
    assert lacking.returncode != 0
    assert "stack-a: the number of GPUs is not as it should be [error: gpu_count_differs]" in lacking.stdout
    assert "3, as the inventory declares" in lacking.stdout


def move(host: str, driver: str) -> str:
    """What verification tells when somebody has moved a host's driver, past holds and pins."""
    packages = " ".join(f"{name}={driver}-1" for name, version in FROZEN.items() if version == f"{DRIVER}-1")
    past = "--allow-change-held-packages --allow-downgrades -o Dir::Etc::PreferencesParts=/dev/null"
    on(host, f"apt-get -y -q {past} install {packages}")
    told = play(playbook="verify_alone.yml")
    assert told.returncode != 0
    return told.stdout


def test_what_has_moved_anyway_is_told_and_taken_back() -> None:
    told = move("stack-a", NEXT_DRIVER)
    assert "stack-a: packages are not at the declared versions [error: packages_moved]" in told
    assert "stack-a: the loaded kernel module is not the installed one [error: module_not_loaded]" in told
    assert "NVML: Driver/library version mismatch" in told
    differ = "stack-a, stack-b: hosts have different versions of the driver"
    assert f"{differ} [warning: driver_versions_differ]" in told
    assert f"{differ} [error: driver_versions_differ]" in move("stack-a", NEXT_BRANCH)
    healed = play()
    assert healed.returncode == 0, healed.stdout[-3000:]
    assert FROZEN.items() <= versions("stack-a").items()
    assert set(FROZEN) <= set(on("stack-a", "apt-mark showhold").split())


@pytest.fixture(name="gpu_process")
def fixture_gpu_process() -> Iterator[None]:
    """A process on stack-b that has a GPU open."""
    on("stack-b", "touch /dev/nvidia0; nohup sleep 600 3</dev/nvidia0 >/dev/null 2>&1 & echo $! >/run/gpu-process")
    yield
    on("stack-b", "kill $(cat /run/gpu-process); rm /dev/nvidia0")


@pytest.mark.usefixtures("gpu_process")
def test_the_driver_is_not_changed_under_a_running_process() -> None:
    before = on("stack-b", STATE)
    run = play("--limit", "stack-b", "-e", f"gpustack_nvidia_stack_driver_version={NEXT_DRIVER}")
    assert run.returncode != 0
    assert "the driver is in use [error: gpu_in_use]" in run.stdout
    assert on("stack-b", STATE) == before


def test_a_changed_variable_lifts_upgrades_reboots_one_by_one_and_freezes_again() -> None:
    boots = {host: on(host, "cat /proc/sys/kernel/random/boot_id") for host in ("stack-a", "stack-b")}
    run = play("-e", f"gpustack_nvidia_stack_driver_version={NEXT_DRIVER}")
    assert run.returncode == 0, run.stdout[-5000:]
    started = []
    for host, boot in boots.items():
        assert on(host, "cat /proc/sys/kernel/random/boot_id") != boot
        assert on(host, "cat /sys/module/nvidia/version").strip() == NEXT_DRIVER
        assert versions(host)["libcuda1"] == f"{NEXT_DRIVER}-1"
        assert set(FROZEN) <= set(on(host, "apt-mark showhold").split())
        inspected = subprocess.run(["docker", "inspect", host], capture_output=True, check=True).stdout
        state = json.loads(inspected)[0]["State"]
        started.append((state["StartedAt"], state["FinishedAt"]))
    (first_up, _first_down), (_second_up, second_down) = sorted(started)
    assert first_up < second_down  # the second went down only when the first had come back


def test_a_container_sees_the_gpus_and_still_does_after_systemd_was_reloaded() -> None:
    # The reload is real; the GPUs in the container are the bench's, so that no device can be lost.
    on("stack-a", """mkdir -p /etc/docker; echo '{"labels": ["rack=7"]}' >/etc/docker/daemon.json""")
    bring = (
        "docker tag $(docker images -q gpuops-bench/base | head -n 1) gpuops-bench/smoke; "
        "docker save gpuops-bench/smoke | docker exec -i stack-a sh -c 'cat >/var/tmp/image.tar'; "
        "docker rmi gpuops-bench/smoke"
    )
    subprocess.run(["sh", "-ec", bring], check=True, capture_output=True)
    run = play(playbook="containers.yml")
    assert run.returncode == 0, run.stdout[-5000:]
    daemon = json.loads(on("stack-a", "cat /etc/docker/daemon.json"))
    assert daemon["labels"] == ["rack=7"]
    assert daemon["runtimes"]["nvidia"]["path"] == "/usr/bin/nvidia-container-runtime"
    assert "nvidia-container-toolkit-base" in on("stack-a", "dpkg -S /usr/bin/nvidia-container-runtime")


def test_no_card() -> None:
    assert "the host has no NVIDIA card [error: gpu_missing]" in refused()


def test_cards_that_no_driver_drives_together() -> None:
    show("stack-bare", V100, B200)
    output = refused()
    assert "Tesla V100-PCIE-32GB, which only the proprietary kernel modules drive" in output
    assert "NVIDIA B200, which only the open ones drive" in output


def test_a_branch_without_volta() -> None:
    show("stack-bare", V100, A100)
    output = refused("-e", "gpustack_nvidia_stack_driver_version=590.48.01")
    assert "driver branch 590 for Tesla V100-PCIE-32GB, which it does not drive any more" in output


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "driver_version=580.999.99",
            "nvidia-kernel-dkms 580.999.99 is not there; there are 590.48.01-1, 580.105.08-1",
        ),
        ("cuda_repository_url=http://172.30.0.3/nowhere", "There is no key for the repository nvidia-cuda"),
        ("cuda_repository_url=http://172.30.0.3/tampered", "A package repository cannot be used"),
        ("cuda_repository_url=http://172.30.0.39/cuda", "There is no key for the repository nvidia-cuda"),
    ],
)
def test_a_repository_that_is_not_as_it_should_be(setting: str, message: str) -> None:
    output = refused("-e", f"gpustack_nvidia_stack_{setting}")
    assert message in output
    assert "The host was not touched." in output


def test_a_key_with_another_fingerprint() -> None:
    expected = "EB693B3035CD5710E231E123A4B469963BF863CC"
    output = refused("-e", json.dumps({"gpustack_nvidia_stack_key_fingerprints": [expected]}))
    assert "The key of the repository nvidia-cuda is not the expected one" in output
    assert expected in output


def test_secure_boot() -> None:
    variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    mount = f"mount -t tmpfs tmpfs /sys/firmware; mkdir -p $(dirname {variable}); printf '\\6\\0\\0\\0\\1' >{variable}"
    on("stack-bare", mount)
    try:
        assert "Secure Boot would reject the kernel module [error: secure_boot]" in refused()
    finally:
        on("stack-bare", "umount /sys/firmware")


def test_an_air_gapped_host_with_nvswitch_and_leftovers_of_a_keyring(tmp_path: Path) -> None:
    show("stack-bare", V100, V100, NVSWITCH)
    profile = on("stack-a", "cat /etc/gpu-bench/profile.json")  # what nvidia-smi shows there
    on("stack-bare", f"echo '{profile}' >/etc/gpu-bench/profile.json; : >/etc/apt/sources.list; ip route del default")
    leftover = "/etc/apt/sources.list.d/cuda-debian12-x86_64.list"
    on("stack-bare", f"echo 'deb http://172.30.0.39/compute/cuda/repos/debian12/x86_64/ /' >{leftover}")
    key = tmp_path / "key.asc"
    key.write_text(on("gpuops-bench-packages", "cat /srv/repository/libnvidia-container/gpgkey"))
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    settings: dict[str, object] = {
        f"gpustack_nvidia_stack_{name}_key_file": str(key) for name in ("cuda", "container_toolkit")
    }
    settings["gpustack_nvidia_stack_dcgm"] = True
    run = play("-e", "stack_hosts=stack-bare", "-e", json.dumps(settings))
    assert run.returncode == 0, run.stdout[-5000:]
    installed = versions("stack-bare")
    assert installed["nvidia-fabricmanager"] == installed["nvidia-kernel-dkms"] == f"{DRIVER}-1"
    for service in ("nvidia-fabricmanager", "nvidia-dcgm", "nvidia-persistenced"):
        assert on("stack-bare", f"systemctl is-active {service}; systemctl is-enabled {service}") == "active\nenabled\n"
    assert on("stack-bare", f"test -e {leftover} || echo gone").strip() == "gone"
    log = subprocess.run(
        ["docker", "logs", "--since", since, "gpuops-bench-packages"], capture_output=True, text=True, check=True
    )
    assert ".deb HTTP" in log.stderr
    assert "gpgkey" not in log.stderr
    assert "3bf863cc.pub" not in log.stderr
