# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every problem that a host or a card can have: its stable code, what to say, what to do. Data only."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """``message`` may name {line}, the text that told of it, and {where}, the card; ``remedy`` may name <bus id>.

    The flags are those of ``reading.Problem``.
    """

    message: str
    remedy: str
    blocking: bool = False
    configured: bool = False
    lacks: str = ""


_INSTALL_DRIVER = (
    "Install and load the NVIDIA driver of a branch that supports the card (Volta: 580 or older, proprietary kernel "
    "modules). Where it is installed, look at dmesg, `dkms status`, Secure Boot, and whether nouveau holds the card."
)
_REBOOT = (
    "Drain the host and reboot it. A card that is lost again needs its seat, power and cooling checked, or replacing."
)
_XID = (
    "Look for Xid lines of this card in dmesg, then reset it (`nvidia-smi --gpu-reset -i <bus id>`) or reboot the host."
)

CATALOGUE: dict[str, Entry] = {
    # The driver as a whole
    "no_gpu": Entry(
        "No NVIDIA GPU was found: {line}",
        "Take the host out of the group of GPU hosts, or check the card's seat and power, and PCI in the firmware.",
        blocking=True,
    ),
    "nvidia_smi_missing": Entry("nvidia-smi was not found: {line}", _INSTALL_DRIVER, blocking=True),
    "driver_not_loaded": Entry("The NVIDIA kernel driver does not answer: {line}", _INSTALL_DRIVER, blocking=True),
    "driver_library_mismatch": Entry(
        "The loaded NVIDIA kernel module and the installed libraries have different versions: {line}",
        "Reboot the host, or unload and load the nvidia kernel modules; pin the driver's packages, so that no "
        "unattended upgrade replaces the libraries alone.",
        blocking=True,
    ),
    "nvml_library_missing": Entry(
        "nvidia-smi found no libnvidia-ml.so: {line}",
        "Install the driver's compute libraries and run ldconfig. A LD_LIBRARY_PATH that only login shells set does "
        "not reach Ansible.",
        blocking=True,
    ),
    "insufficient_permissions": Entry(
        "The GPU devices may not be opened: {line}",
        "Run as root (become). As root already: check the mode of /dev/nvidia* and their SELinux labels (restorecon).",
        blocking=True,
    ),
    "gpu_access_blocked": Entry(
        "The operating system blocks access to the GPU: {line}",
        "Under WSL update the NVIDIA driver of Windows and WSL itself (`wsl --update`).",
        blocking=True,
    ),
    "nvml_unknown_error": Entry(
        "The driver's library cannot reach the devices: {line}",
        "In a container: recreate it (`systemctl daemon-reload` on the host took its devices away) and pass devices by "
        "CDI. On a host: look for Xid lines in dmesg and reboot.",
        blocking=True,
    ),
    "nvml_failed": Entry(
        "The driver's library cannot start: {line}",
        "Look for NVRM and Xid lines in dmesg; reinstall the driver or reboot the host.",
        blocking=True,
    ),
    "no_devices": Entry(
        "The driver is loaded and drives no card: {line}",
        "Compare `lspci -d 10de:` with what the driver supports: branches above 580 do not drive Volta and older, open "
        "kernel modules drive only Turing and newer. dmesg tells why a card was refused.",
        blocking=True,
    ),
    "cuda_unavailable": Entry(
        "The driver offers no CUDA: {line}",
        "A vGPU manager's host driver cannot compute: install the data-centre driver, or gather in the guest.",
        blocking=True,
    ),
    # One card
    "gpu_lost": Entry("GPU {where} has fallen off the bus: {line}", _REBOOT, blocking=True),
    "gpu_not_listed": Entry("GPU {where} is on the bus and not shown by the driver: {line}", _REBOOT, blocking=True),
    "gpu_requires_reset": Entry(
        "GPU {where} must be reset before it works again: {line}",
        "Stop everything on the card and run `nvidia-smi --gpu-reset -i <bus id>`, or reboot the host.",
        blocking=True,
    ),
    "gpu_unreachable": Entry("GPU {where} does not answer: {line}", _XID, blocking=True),
    "gpu_error": Entry("GPU {where} answers with errors: {line}", _XID, blocking=True),
    "gpu_not_driven": Entry("GPU {where} is not held by the NVIDIA driver: {line}", _INSTALL_DRIVER, blocking=True),
    "driver_too_new": Entry(
        "The installed driver no longer supports GPU {where}: {line}",
        "Install the last branch that drives the card, and pin it.",
        blocking=True,
    ),
    "gpu_passed_through": Entry(
        "GPU {where} is reserved for a virtual machine: {line}",
        "Give it back to the nvidia driver (unbind it from its present one) if this host shall compute with it.",
        blocking=True,
        configured=True,
    ),
    "mig_enabled": Entry(
        "GPU {where} is divided by MIG: {line}",
        "Engines that take whole cards leave it out; `nvidia-smi -i <bus id> -mig 0` makes it a whole card again.",
        blocking=True,
        configured=True,
    ),
    "mig_without_instances": Entry(
        "GPU {where} is in MIG mode without an instance, so that nothing can run on it: {line}",
        "Disable MIG with `nvidia-smi -i <bus id> -mig 0`, or create instances with `nvidia-smi mig -cgi … -C`.",
        blocking=True,
    ),
    "fabric_not_ready": Entry(
        "GPU {where} waits for its NVSwitch fabric, and CUDA fails with error 802: {line}",
        "Install the fabric manager of exactly the driver's version and start it (nvidia-fabricmanager).",
        blocking=True,
    ),
    "memory_denied": Entry(
        "The memory size of GPU {where} may not be read: {line}",
        "Gather on the host instead of inside a MIG instance's container, and as root.",
        blocking=True,
        lacks="memory_total_mib",
    ),
    "memory_not_reported": Entry(
        "GPU {where} reports no memory size of its own: {line}",
        "An integrated card shares the system's memory; for any other update the driver.",
        blocking=True,
        lacks="memory_total_mib",
    ),
    "sensor_error": Entry(
        "A sensor of GPU {where} cannot be read: {line}",
        "The card computes. Check its fan and power cables, and reboot at the next maintenance.",
    ),
    "inforom_corrupted": Entry(
        "The infoROM of GPU {where} is corrupted: {line}",
        "The card computes, but ECC and power data may be wrong: have the infoROM restored or the card replaced.",
    ),
    "memory_errors": Entry(
        "GPU {where} had errors in its memory that ECC could not correct: {line}",
        "What computed on the card then has failed or cannot be trusted. Drain the host, run "
        "`nvidia-smi --gpu-reset -i <bus id>` or reboot it; have the card replaced when errors come again.",
    ),
    "memory_worn": Entry(
        "GPU {where} can hardly replace bad memory any more: {line}",
        "Have the card replaced: the next bad cell stays in use.",
    ),
    "memory_repair_pending": Entry(
        "GPU {where} replaces bad memory at its next reset: {line}",
        "Drain the host at the next maintenance and run `nvidia-smi --gpu-reset -i <bus id>`, or reboot it.",
    ),
    "slowed_by_heat": Entry(
        "GPU {where} is slowed because it is too hot: {line}",
        "Look at air flow, fans and dust of the host (`nvidia-smi -q -d TEMPERATURE -i <bus id>`); passively cooled "
        "cards need the chassis' fans.",
    ),
    "slowed_by_power": Entry(
        "GPU {where} is slowed by the host's power supply: {line}",
        "The host pulls the card's power brake: look at power supplies, their cables and their redundancy.",
    ),
    "mig_change_pending": Entry(
        "GPU {where} changes its MIG mode at the next reset: {line}",
        "Decide now: `nvidia-smi -i <bus id> -mig 0` keeps a whole card, a reset in a maintenance makes the change.",
    ),
    # One run of nvidia-smi
    "query_field_unsupported": Entry(
        "This driver does not know a field that was asked for: {line}",
        "Update the driver (compute_cap came with branch 510); until then PCI id or name tell the capability.",
        lacks="devices",
    ),
    "topology_unavailable": Entry(
        "The driver does not tell how the cards are connected: {line}",
        "Links count as unknown. Try `nvidia-smi topo -m` on the host; Windows, WSL and some hypervisors have none.",
        lacks="links",
    ),
    "output_incomplete": Entry(
        "The output ends too early: {line}",
        "Run the command on the host and look at its end; where it breaks off, look for Xid lines in dmesg.",
        lacks="devices",
    ),
    "output_unrecognised": Entry(
        "The output is not understood: {line}",
        "Run the command on the host: a wrapper, a shell's message or a very new driver may be in the way.",
        lacks="devices",
    ),
    "nvidia_smi_failed": Entry(
        "nvidia-smi failed: {line}",
        "Run the command on the host as root, and look for NVRM and Xid lines in dmesg.",
        lacks="devices",
    ),
    "nvidia_smi_timeout": Entry(
        "nvidia-smi did not answer: {line}",
        "A card hangs: look for Xid lines in dmesg and reboot. On a slow but healthy host start nvidia-persistenced or "
        "raise timeout_seconds.",
    ),
}
