# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in the package repositories of the bench: the names, versions and dependencies of NVIDIA's, and their traps.

The packages are small stand-ins, except for libnccl2 2.27.5, which holds the real library. {version} is the package's
own; a file that ends in .c is compiled to the library that it is the source of.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DRIVER = ("580.95.05-1", "580.105.08-1", "590.48.01-1")
CUDA = ("12.9.1-1", "12.9.2-1")
TOOLKIT = ("1.18.2-1", "1.19.0-1")


@dataclass(frozen=True)
class Package:
    """One package in some versions. ``files`` maps paths in it to files of files/; ``scripts`` likewise."""

    name: str
    versions: tuple[str, ...]
    depends: str = ""
    provides: str = ""
    conflicts: str = ""
    files: dict[str, str] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)


KERNEL_MODULES = {"postinst": "kernel-modules.postinst", "prerm": "kernel-modules.prerm"}


def driver_repository(kernel_release: str) -> list[Package]:
    """The CUDA repository for Debian 12, with headers for the kernel that the simulated hosts share."""
    return [
        # DKMS is where a host begins to have kernel modules of its own, so it brings the kernel's stand-in along.
        Package(
            "dkms",
            ("3.0.10-9~bench",),
            files={
                "/usr/lib/gpu-bench/kernel": "kernel",
                "/lib/systemd/system/bench-kernel.service": "bench-kernel.service",
                "/usr/local/sbin/modprobe": "modprobe",
                "/usr/sbin/update-initramfs": "update-initramfs",
            },
            scripts={"postinst": "dkms.postinst"},
        ),
        Package(f"linux-headers-{kernel_release}", ("1~bench",), scripts={"postinst": "linux-headers.postinst"}),
        Package(
            "nvidia-kernel-dkms",
            DRIVER,
            "dkms",
            "nvidia-kernel-any (= {version})",
            "nvidia-kernel-any",
            {"/usr/src/nvidia-{upstream}/nvidia.ko": "proprietary"},
            KERNEL_MODULES,
        ),
        Package(
            "nvidia-kernel-open-dkms",
            DRIVER,
            "dkms",
            "nvidia-kernel-any (= {version})",
            "nvidia-kernel-any",
            {"/usr/src/nvidia-{upstream}/nvidia.ko": "open"},
            KERNEL_MODULES,
        ),
        Package("libcuda1", DRIVER),
        Package("libnvidia-ml1", DRIVER, files={"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "nvml.c"}),
        Package(
            "nvidia-driver-cuda",
            DRIVER,
            "libcuda1 (= {version}), libnvidia-ml1 (= {version}), nvidia-kernel-any (= {version}), "
            "nvidia-persistenced (= {version})",
            files={"/usr/bin/nvidia-smi": "nvidia-smi"},
        ),
        Package(
            "nvidia-persistenced",
            DRIVER,
            files={
                "/usr/bin/nvidia-persistenced": "daemon",
                "/lib/systemd/system/nvidia-persistenced.service": "nvidia-persistenced.service",
            },
            scripts={"postinst": "nvidia-persistenced.postinst"},
        ),
        Package(
            "nvidia-fabricmanager",
            DRIVER,
            files={
                "/usr/bin/nv-fabricmanager": "daemon",
                "/lib/systemd/system/nvidia-fabricmanager.service": "nvidia-fabricmanager.service",
            },
        ),
        # The traps: names without a branch, and a CUDA package that brings the newest driver.
        Package("cuda-drivers", DRIVER, "nvidia-driver-cuda (= {version}), nvidia-kernel-dkms (= {version})"),
        Package("nvidia-open", DRIVER, "nvidia-driver-cuda (= {version}), nvidia-kernel-open-dkms (= {version})"),
        Package("cuda-runtime-12-9", CUDA, "cuda-libraries-12-9 (>= {version}), cuda-drivers (>= 575.57.08)"),
        Package("cuda-12-9", CUDA, "cuda-runtime-12-9 (>= {version}), cuda-toolkit-12-9 (>= {version})"),
        # The parts of a CUDA release have versions of their own.
        Package("cuda-cudart-12-9", ("12.9.79-1", "12.9.90-1")),
        Package("libcublas-12-9", ("12.9.1.4-1", "12.9.2.10-1")),
        Package("cuda-libraries-12-9", CUDA, "cuda-cudart-12-9 (>= 12.9.79), libcublas-12-9 (>= 12.9.1.4)"),
        Package("cuda-toolkit-12-9", CUDA, "cuda-libraries-12-9 (>= {version})"),
        Package("libnccl2", ("2.27.5-1+cuda12.9",), files={"/usr/lib/x86_64-linux-gnu/libnccl.so.2": "libnccl.so.2"}),
        Package("libnccl2", ("2.28.3-1+cuda13.0",)),
        Package(
            "datacenter-gpu-manager-4-cuda12",
            ("1:4.4.1-1",),
            files={
                "/usr/bin/nv-hostengine": "daemon",
                "/lib/systemd/system/nvidia-dcgm.service": "nvidia-dcgm.service",
            },
        ),
        Package(
            "cuda-keyring", ("1.1-1",), files={"/etc/apt/sources.list.d/cuda-debian12-x86_64.list": "keyring.list"}
        ),
    ]


def toolkit_repository() -> list[Package]:
    """The repository of the container toolkit."""
    return [
        Package("libnvidia-container1", TOOLKIT),
        Package("libnvidia-container-tools", TOOLKIT, "libnvidia-container1 (>= {version})"),
        Package(
            "nvidia-container-toolkit-base",
            TOOLKIT,
            files={"/usr/bin/nvidia-container-runtime": "nvidia-container-runtime"},
        ),
        Package(
            "nvidia-container-toolkit",
            TOOLKIT,
            "nvidia-container-toolkit-base (= {version}), libnvidia-container-tools (>= {version})",
        ),
    ]
