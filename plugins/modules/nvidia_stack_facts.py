#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_stack_facts
version_added: 1.0.0
short_description: Facts of a host that decide which driver, CUDA and NCCL it gets
description:
  - Gathers in one go what has to be known before the NVIDIA stack of a host is touched, its cards, kernel modules,
    packages and holds, Secure Boot, and who uses the GPUs, as C(gpustack_nvidia_stack).
  - Needs neither a driver nor C(pciutils). Changes nothing and judges nothing.
    P(gpuops.gpustack.nvidia_stack_plan#filter) tells from these facts what is to be done.
  - What cannot be found out is null or empty, never an error. The users of the GPUs need root.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
  - ansible.builtin.action_common_attributes.facts
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  facts:
    support: full
  platform:
    platforms: linux
options:
  sysfs_root:
    description:
      - Where sysfs is mounted.
    type: path
    default: /sys
seealso:
  - plugin: gpuops.gpustack.nvidia_stack_plan
    plugin_type: filter
  - module: gpuops.gpustack.gpu_facts
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Gather what decides the NVIDIA stack of the host
  gpuops.gpustack.nvidia_stack_facts:
  become: true

- name: Look at the sysfs of another root
  gpuops.gpustack.nvidia_stack_facts:
    sysfs_root: /mnt/root/sys
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  returned: always
  type: dict
  contains:
    gpustack_nvidia_stack:
      description: What has been found on the host.
      returned: always
      type: dict
      contains:
        distribution:
          description: C(id) and C(version_id) of C(/etc/os-release).
          type: dict
          sample: {id: debian, version_id: "12"}
        architecture:
          description: The machine's architecture as C(uname -m) tells.
          type: str
          sample: x86_64
        cards:
          description: The NVIDIA cards on the PCI bus, each with address, device id, name and architecture.
          type: list
          elements: dict
          sample:
            - {pci_bus_id: "00000000:3B:00.0", device_id: 7606, name: Tesla V100-PCIE-32GB, architecture: volta}
        nvswitches:
          description: How many NVSwitches there are on the PCI bus.
          type: int
          sample: 0
        kernel:
          description: C(release) of the running kernel, and whether its C(headers) are there.
          type: dict
          sample: {release: 6.1.0-40-amd64, headers: true}
        modules:
          description:
            - The version of the C(loaded) module nvidia and of the one C(installed) for the running kernel, null for
              none.
            - C(loaded_kind) and C(installed_kind) are V(proprietary) or V(open), null when unknown.
            - C(nouveau) tells whether that driver is loaded.
          type: dict
          sample:
            loaded: 580.95.05
            loaded_kind: proprietary
            installed: 580.95.05
            installed_kind: proprietary
            nouveau: false
        dkms_log:
          description: The end of the log of DKMS where no module is installed.
          type: list
          elements: str
          sample: []
        secure_boot:
          description: Whether the firmware enforces Secure Boot; false where there is no UEFI.
          type: bool
          sample: false
        packages:
          description: The installed packages with their versions.
          type: dict
          sample: {nvidia-driver-cuda: 580.95.05-1}
        held:
          description: The packages that their package manager holds.
          type: list
          elements: str
          sample: [nvidia-driver-cuda]
        module_stream:
          description: The enabled stream of dnf's module C(nvidia-driver), empty for none.
          type: str
          sample: 580-dkms
        gpu_processes:
          description:
            - Processes that have a GPU open, except for the driver's own daemons, each with C(pid) and C(name).
          type: list
          elements: dict
          sample: []
        driver_installer:
          description: The uninstaller that NVIDIA's C(.run) installer leaves behind, null for none.
          type: str
          sample: /usr/bin/nvidia-uninstall
        files:
          description: Entries and keys of NVIDIA's repositories, and the role's own files, each with its content.
          type: dict
          sample:
            /etc/apt/sources.list.d/cuda-debian12-x86_64.list: deb https://mirror.example.org/cuda/debian12/x86_64 /
        services:
          description: Those of the driver's units that run and are started at boot.
          type: list
          elements: str
          sample: [nvidia-persistenced.service]
        persistenced_command:
          description: The packaged command of nvidia-persistenced, empty where it is not installed.
          type: str
          sample: /usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose
        initramfs_tool:
          description: What rebuilds the initramfs, V(update-initramfs) or V(dracut); null for neither.
          type: str
          sample: update-initramfs
        nccl_version:
          description: What C(ncclGetVersion) of the installed library answers, null where there is none.
          type: int
          sample: 22705
"""

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import files, repositories
from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack.packages import UNITS
from ansible_collections.gpuops.gpustack.plugins.module_utils.package_database import list_packages
from ansible_collections.gpuops.gpustack.plugins.module_utils.pci_ids import VENDOR_ID, identify
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.pci import read_host

ROOT = Path("/")
NVSWITCH_CLASS = "0x068000"
SECURE_BOOT = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
INSTALLERS = ("/usr/bin/nvidia-uninstall", "/usr/bin/nvidia-installer")
ENTRIES = ("etc/apt/sources.list.d/*.list", "etc/apt/sources.list.d/*.sources", "etc/yum.repos.d/*.repo")
KEYS = ("etc/apt/keyrings/nvidia-*.asc", "etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-*")
OWN_ENTRIES = ("nvidia-cuda", "nvidia-container-toolkit")
DAEMONS = ("nvidia-persiste", "nv-hostengine", "nv-fabricmanage", "nvidia-smi")  # as comm cuts them
LOG_LINES = 3
ASK_NCCL = (
    "import ctypes; version = ctypes.c_int(); "
    "ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(version)); print(version.value)"
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"sysfs_root": {"type": "path", "default": "/sys"}}, supports_check_mode=True)
    sysfs = Path(module.params["sysfs_root"])
    host = read_host(str(sysfs))
    release = platform.release()
    installed, installed_kind = installed_module(module, release)
    packages, held = list_packages(module)
    facts: dict[str, Any] = {
        "distribution": distribution(),
        "architecture": platform.machine(),
        "cards": [describe(card.pci_bus_id, card.device_id) for card in host.cards],
        "nvswitches": count_nvswitches(sysfs),
        "kernel": {"release": release, "headers": (ROOT / f"lib/modules/{release}/build").exists()},
        "modules": {
            "loaded": host.module_version,
            "loaded_kind": loaded_kind(),
            "installed": installed,
            "installed_kind": installed_kind,
            "nouveau": (sysfs / "module/nouveau").exists(),
        },
        "dkms_log": [] if installed else dkms_log(),
        "secure_boot": secure_boot(sysfs),
        "packages": packages,
        "held": held,
        "module_stream": module_stream(),
        "gpu_processes": gpu_processes(),
        "driver_installer": next((path for path in INSTALLERS if (ROOT / path[1:]).exists()), None),
        "files": relevant_files(),
        "services": services(module),
        "persistenced_command": persistenced_command(),
        "initramfs_tool": next((tool for tool in ("update-initramfs", "dracut") if module.get_bin_path(tool)), None),
        "nccl_version": nccl_version(module),
    }
    module.exit_json(changed=False, ansible_facts={"gpustack_nvidia_stack": facts})


def text(path: Path) -> str:
    """The content of a small file; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def distribution() -> dict[str, str]:
    """What /etc/os-release says."""
    fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text(ROOT / "etc/os-release"), re.MULTILINE))
    return {"id": fields.get("ID", ""), "version_id": fields.get("VERSION_ID", "")}


def describe(pci_bus_id: str, device_id: int) -> dict[str, Any]:
    """A card by its PCI device id."""
    card = identify(device_id)
    return {"pci_bus_id": pci_bus_id, "device_id": device_id, "name": card.name, "architecture": card.architecture}


def count_nvswitches(sysfs: Path) -> int:
    """Bridges of NVIDIA's; the driver's own list of them is there only once it is loaded."""
    devices = sysfs.glob("bus/pci/devices/*")
    vendor = f"0x{VENDOR_ID:04x}"
    return sum(
        text(device / "vendor").strip() == vendor and text(device / "class").strip() == NVSWITCH_CLASS
        for device in devices
    )


def kind_of(description: str) -> str | None:
    """open or proprietary, from a licence or from the driver's own line about itself."""
    if re.search(r"MIT/GPL|Open Kernel Module", description):
        return "open"
    return "proprietary" if description.strip() else None


def loaded_kind() -> str | None:
    """The kind of the loaded module."""
    return kind_of(text(ROOT / "proc/driver/nvidia/version"))


def installed_module(module: AnsibleModule, release: str) -> tuple[str | None, str | None]:
    """Version and kind of the module that modprobe would load."""
    modinfo = module.get_bin_path("modinfo")
    if modinfo is None:
        return None, None
    rc, out, _err = module.run_command([modinfo, "-k", release, "nvidia"])
    fields = dict(re.findall(r"^(\w+):\s+(.*)$", out, re.MULTILINE))
    if rc != 0 or "version" not in fields:
        return None, None
    return fields["version"], kind_of(fields.get("license", ""))


def dkms_log() -> list[str]:
    """The last lines of the newest build log."""
    logs = sorted(
        (ROOT / "var/lib/dkms/nvidia").glob("*/build/make.log"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    return [line for log in logs[:1] for line in text(log).splitlines() if line.strip()][-LOG_LINES:]


def secure_boot(sysfs: Path) -> bool:
    """The last byte of the UEFI variable; before it are four bytes of attributes."""
    try:
        return (sysfs / SECURE_BOOT).read_bytes()[-1:] == b"\x01"
    except OSError:
        return False


def module_stream() -> str:
    """The stream of dnf's module nvidia-driver."""
    state = text(ROOT / "etc/dnf/modules.d/nvidia-driver.module")
    match = re.search(r"^stream\s*=\s*(\S+)", state, re.MULTILINE)
    return match[1] if match and re.search(r"^state\s*=\s*enabled", state, re.MULTILINE) else ""


def gpu_processes() -> list[dict[str, Any]]:
    """Who has a GPU open."""
    found = []
    for directory in sorted(ROOT.glob("proc/[0-9]*"), key=lambda path: int(path.name)):
        name = text(directory / "comm").strip()
        if name not in DAEMONS and any(map(is_gpu, open_files(directory))):
            found.append({"pid": int(directory.name), "name": name})
    return found


def open_files(process: Path) -> list[str]:
    """What a process has open; processes end while one looks at them."""
    try:
        return [os.readlink(entry) for entry in (process / "fd").iterdir()]
    except OSError:
        return []


def is_gpu(path: str) -> bool:
    """/dev/nvidia0 or the memory that CUDA maps; /dev/nvidiactl is held by whoever only looks."""
    return re.fullmatch(r"/dev/nvidia(?:\d+|-uvm)", path) is not None


def relevant_files() -> dict[str, str]:
    """Entries that name a repository of NVIDIA's, our own ones wherever they lead, keys, and what else is ours."""
    entries = [file for pattern in ENTRIES for file in ROOT.glob(pattern)]
    keys = [file for pattern in KEYS for file in ROOT.glob(pattern)]
    ours = [file for file in entries if file.stem in OWN_ENTRIES or repositories.OF_NVIDIA.search(text(file))]
    others = [ROOT / path[1:] for path in files.ALL if (ROOT / path[1:]).exists()]
    return {f"/{file.relative_to(ROOT)}": text(file) for file in sorted([*ours, *keys, *others])}


def services(module: AnsibleModule) -> list[str]:
    """The units of the driver's that run and are enabled."""
    systemctl = module.get_bin_path("systemctl")
    if systemctl is None:
        return []
    _rc, out, _err = module.run_command([systemctl, "show", "--property=Id,ActiveState,UnitFileState", *UNITS])
    units = [dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE)) for unit in out.split("\n\n")]
    return [
        unit["Id"] for unit in units if (unit.get("ActiveState"), unit.get("UnitFileState")) == ("active", "enabled")
    ]


def persistenced_command() -> str:
    """ExecStart of the packaged unit, without what has been laid over it."""
    for directory in ("usr/lib/systemd/system", "lib/systemd/system"):
        match = re.search(r"^ExecStart=(.+)$", text(ROOT / directory / "nvidia-persistenced.service"), re.MULTILINE)
        if match:
            return match[1].strip()
    return ""


def nccl_version(module: AnsibleModule) -> int | None:
    """Asked in a process of its own: a library that cannot be loaded may end it."""
    rc, out, _err = module.run_command([sys.executable, "-c", ASK_NCCL])
    return int(out) if rc == 0 and out.strip().isdigit() else None


if __name__ == "__main__":
    main()
