# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import nvidia_stack_facts

RELEASE = "6.1.0-40-amd64"
UNIT = "ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode\n"


def write(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(name="root")
def fixture_root(tmp_path, monkeypatch):
    """An empty Debian host; its commands are in bin."""
    root = tmp_path / "root"
    write(root / "etc/os-release", 'PRETTY_NAME="Debian"\nID=debian\nVERSION_ID="12"\n')
    monkeypatch.setattr(nvidia_stack_facts, "ROOT", root)
    monkeypatch.setattr(nvidia_stack_facts.platform, "release", lambda: RELEASE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    fake_command(tmp_path / "bin", "dpkg-query", "true")
    fake_command(tmp_path / "bin", "modinfo", "exit 1")
    fake_command(tmp_path / "bin", "systemctl", "exit 1")
    return root


def pci(root, address, device, pci_class="0x030200"):
    for name, value in (("vendor", "0x10de"), ("device", device), ("class", pci_class)):
        write(root / "sys/bus/pci/devices" / address / name, f"{value}\n")


def facts(root):
    answer = run_module(nvidia_stack_facts.main, {"sysfs_root": str(root / "sys")})
    assert answer["changed"] is False
    return answer["ansible_facts"]["gpustack_nvidia_stack"]


def test_a_bare_host(root):
    found = facts(root)
    assert found["distribution"] == {"id": "debian", "version_id": "12"}
    assert found["kernel"] == {"release": RELEASE, "headers": False}
    assert (found["cards"], found["nvswitches"], found["packages"], found["held"]) == ([], 0, {}, [])
    assert found["modules"] == {
        "loaded": None,
        "loaded_kind": None,
        "installed": None,
        "installed_kind": None,
        "nouveau": False,
    }
    assert (found["secure_boot"], found["driver_installer"], found["files"], found["nccl_version"]) == (
        False,
        None,
        {},
        None,
    )


def test_cards_and_switches_need_no_driver(root):
    pci(root, "0000:3b:00.0", "0x1db6")
    pci(root, "0000:af:00.0", "0x20b5")
    pci(root, "0000:c1:00.0", "0x22a3", "0x068000")
    found = facts(root)
    assert [(card["name"], card["architecture"], card["device_id"]) for card in found["cards"]] == [
        ("Tesla V100-PCIE-32GB", "volta", 0x1DB6),
        ("NVIDIA A100 80GB PCIe", "ampere", 0x20B5),
    ]
    assert found["nvswitches"] == 1


def test_loaded_and_installed_module(root, tmp_path):
    script = f'[ "$*" = "-k {RELEASE} nvidia" ] && printf "license:        Dual MIT/GPL\\nversion:        580.95.05\\n"'
    fake_command(tmp_path / "bin", "modinfo", script)
    write(root / "sys/module/nvidia/version", "580.82.07\n")
    write(root / "sys/module/nouveau/refcnt", "0\n")
    write(root / "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07\n")
    write(root / f"lib/modules/{RELEASE}/build/Makefile")
    found = facts(root)
    assert found["modules"] == {
        "loaded": "580.82.07",
        "loaded_kind": "proprietary",
        "installed": "580.95.05",
        "installed_kind": "open",
        "nouveau": True,
    }
    assert found["kernel"]["headers"] is True


def test_why_dkms_has_built_nothing(root):
    write(root / "var/lib/dkms/nvidia/580.95.05/build/make.log", "one\n\ntwo\nthree\ncc1: error: four\n")
    assert facts(root)["dkms_log"] == ["two", "three", "cc1: error: four"]


@pytest.mark.parametrize(("value", "on"), [(b"\x06\x00\x00\x00\x01", True), (b"\x06\x00\x00\x00\x00", False)])
def test_secure_boot(root, value, on):
    write(root / "sys" / nvidia_stack_facts.SECURE_BOOT, value)
    assert facts(root)["secure_boot"] is on


def test_packages_and_holds(root, tmp_path):
    fake_command(tmp_path / "bin", "dpkg-query", 'printf "ii |bash|5.2\\nhi |libnccl2|2.27.5-1\\nrc |dkms|3\\n"')
    found = facts(root)
    assert found["packages"] == {"bash": "5.2", "libnccl2": "2.27.5-1"}
    assert found["held"] == ["libnccl2"]


def test_who_uses_a_gpu(root):
    for pid, name, target in (
        ("812", "vllm", "/dev/nvidia0"),
        ("813", "nvidia-persiste", "/dev/nvidia0"),
        ("814", "python3", "/dev/nvidia-uvm"),
        ("815", "watcher", "/dev/nvidiactl"),
        ("9", "sh", "/dev/null"),
    ):
        write(root / "proc" / pid / "comm", f"{name}\n")
        (root / "proc" / pid / "fd").mkdir()
        (root / "proc" / pid / "fd" / "3").symlink_to(target)
    assert facts(root)["gpu_processes"] == [{"pid": 812, "name": "vllm"}, {"pid": 814, "name": "python3"}]


def test_files_that_count(root):
    write(
        root / "etc/apt/sources.list.d/cuda.list",
        "deb https://mirror.example.org/compute/cuda/repos/debian12/x86_64 /\n",
    )
    write(root / "etc/apt/sources.list.d/nvidia-cuda.sources", "Types: deb\nURIs: https://elsewhere.example.org/\n")
    write(root / "etc/apt/sources.list.d/debian.sources", "Types: deb\n")
    write(root / "etc/apt/keyrings/nvidia-cuda.asc", "a key\n")
    write(root / "etc/apt/preferences.d/gpustack-nvidia-stack", "pins\n")
    write(root / "usr/bin/nvidia-uninstall")
    write(root / "usr/lib/systemd/system/nvidia-persistenced.service", UNIT)
    found = facts(root)
    assert found["files"] == {
        "/etc/apt/keyrings/nvidia-cuda.asc": "a key\n",
        "/etc/apt/preferences.d/gpustack-nvidia-stack": "pins\n",
        "/etc/apt/sources.list.d/cuda.list": "deb https://mirror.example.org/compute/cuda/repos/debian12/x86_64 /\n",
        "/etc/apt/sources.list.d/nvidia-cuda.sources": "Types: deb\nURIs: https://elsewhere.example.org/\n",
    }
    assert found["driver_installer"] == "/usr/bin/nvidia-uninstall"
    assert found["persistenced_command"] == (
        "/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode"
    )


def test_the_stream_of_dnf(root):
    write(root / "etc/dnf/modules.d/nvidia-driver.module", "[nvidia-driver]\nstream=580-dkms\nstate=enabled\n")
    assert facts(root)["module_stream"] == "580-dkms"
    write(root / "etc/dnf/modules.d/nvidia-driver.module", "[nvidia-driver]\nstream=580-dkms\nstate=disabled\n")
    assert facts(root)["module_stream"] == ""


def test_services_that_run_and_start_at_boot(root, tmp_path):
    states = (("nvidia-persistenced", "active", "enabled"), ("nvidia-fabricmanager", "active", "disabled"))
    blocks = [f"Id={name}.service\nActiveState={active}\nUnitFileState={enabled}" for name, active, enabled in states]
    blocks.append("Id=nvidia-dcgm.service\nActiveState=inactive\nUnitFileState=")
    shown = "\n\n".join(blocks)
    fake_command(tmp_path / "bin", "systemctl", f"cat <<'END'\n{shown}\nEND")
    assert facts(root)["services"] == ["nvidia-persistenced.service"]
