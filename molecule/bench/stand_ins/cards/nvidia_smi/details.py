# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""-q as text and as XML: one tree, written in two ways."""

from __future__ import annotations

import time
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .state import Gpu, Host

LABEL_COLUMN = 42


@dataclass(frozen=True)
class Node:
    """A line of the text form and an element of the XML form. A child without a label is for the XML form only."""

    label: str
    tag: str
    value: str = ""
    children: tuple[Node, ...] = ()


def as_text(host: Host, chosen: tuple[Gpu, ...]) -> str:
    """-q."""
    lines = ["", "==============NVSMI LOG==============", ""]
    head = [("Timestamp", _timestamp()), ("Driver Version", host.driver_version), ("CUDA Version", host.cuda_version)]
    lines += [f"{label:<{LABEL_COLUMN}}: {value}" for label, value in head]
    lines += ["", f"{'Attached GPUs':<{LABEL_COLUMN}}: {len(host.gpus)}"]
    for gpu in chosen:
        lines.append(f"GPU {gpu.pci_bus_id}")
        for node in tree(host, gpu):
            lines += _text(node, 4)
        lines.append("")
    return "\n".join(lines) + "\n"


def as_xml(host: Host, chosen: tuple[Gpu, ...]) -> str:
    """-q -x."""
    lines = ['<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', "<nvidia_smi_log>"]
    head = [("timestamp", _timestamp()), ("driver_version", host.driver_version), ("cuda_version", host.cuda_version)]
    lines += [f"\t<{tag}>{value}</{tag}>" for tag, value in [*head, ("attached_gpus", str(len(host.gpus)))]]
    for gpu in chosen:
        lines.append(f'\t<gpu id="{gpu.pci_bus_id}">')
        for node in tree(host, gpu):
            lines += _xml(node, 2)
        lines.append("\t</gpu>\n")
    return "\n".join([*lines, "</nvidia_smi_log>", ""])


def tree(host: Host, gpu: Gpu) -> tuple[Node, ...]:
    """Everything that is said about one card."""
    pci = gpu.pci
    watts = f"{gpu.power_limit_w:.2f} W"
    return (
        Node("Product Name", "product_name", gpu.name),
        Node("Product Brand", "product_brand", gpu.brand),
        Node("Product Architecture", "product_architecture", gpu.architecture),
        Node("Display Mode", "display_mode", "Requested functionality has been deprecated"),
        Node("Display Attached", "display_attached", "No"),
        Node("Display Active", "display_active", "Disabled"),
        Node("Persistence Mode", "persistence_mode", "Enabled" if host.persistence else "Disabled"),
        Node("Addressing Mode", "addressing_mode", "HMM"),
        _group("MIG Mode", "mig_mode", ("Current", "current_mig", gpu.mig), ("Pending", "pending_mig", gpu.mig)),
        Node("Accounting Mode", "accounting_mode", "Disabled"),
        Node("Serial Number", "serial", "N/A"),
        Node("GPU UUID", "uuid", gpu.uuid),
        Node("Minor Number", "minor_number", str(gpu.index)),
        Node("VBIOS Version", "vbios_version", "88.00.80.00.01"),
        Node("MultiGPU Board", "multigpu_board", "No"),
        Node("GSP Firmware Version", "gsp_firmware_version", "N/A"),
        _group(
            "PCI",
            "pci",
            ("Bus", "pci_bus", f"0x{gpu.pci_bus_id[9:11]}"),
            ("Device", "pci_device", f"0x{gpu.pci_bus_id[12:14]}"),
            ("Domain", "pci_domain", f"0x{gpu.pci_bus_id[4:8]}"),
            ("Device Id", "pci_device_id", f"0x{pci['device'][2:]}{pci['vendor'][2:]}".upper().replace("0X", "0x")),
            ("Bus Id", "pci_bus_id", gpu.pci_bus_id),
        ),
        Node("Fan Speed", "fan_speed", "N/A"),
        Node("Performance State", "performance_state", "P0"),
        _group(
            "FB Memory Usage",
            "fb_memory_usage",
            ("Total", "total", f"{gpu.memory_total_mib} MiB"),
            ("Reserved", "reserved", f"{gpu.reserved_mib} MiB"),
            ("Used", "used", f"{gpu.used_mib} MiB"),
            ("Free", "free", f"{gpu.free_mib} MiB"),
        ),
        Node("Compute Mode", "compute_mode", "Default"),
        _clocks_event_reasons(gpu),
        _group("Utilization", "utilization", ("GPU", "gpu_util", "0 %"), ("Memory", "memory_util", "0 %")),
        _group("ECC Mode", "ecc_mode", ("Current", "current_ecc", "Enabled"), ("Pending", "pending_ecc", "Enabled")),
        _ecc_errors(gpu),
        _group("Temperature", "temperature", ("GPU Current Temp", "gpu_temp", f"{gpu.temperature_c} C")),
        _group(
            "GPU Power Readings",
            "gpu_power_readings",
            ("Instantaneous Power Draw", "instant_power_draw", f"{gpu.power_w:.2f} W"),
            ("Current Power Limit", "current_power_limit", watts),
            ("Default Power Limit", "default_power_limit", watts),
        ),
        _processes(gpu),
    )


def _clocks_event_reasons(gpu: Gpu) -> Node:
    reasons = ("HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown")
    told = [(name, f"clocks_event_reason_{name.lower().replace(' ', '_')}") for name in reasons]
    return _group(
        "Clocks Event Reasons",
        "clocks_event_reasons",
        *((name, tag, "Active" if name == gpu.slowed_by else "Not Active") for name, tag in told),
    )


def _ecc_errors(gpu: Gpu) -> Node:
    """As cards before Turing have them."""
    kinds = (
        _group("Single Bit", "single_bit", ("Total", "total", "0")),
        _group("Double Bit", "double_bit", ("Total", "total", str(gpu.uncorrected_errors))),
    )
    return Node(
        "ECC Errors",
        "ecc_errors",
        children=(Node("Volatile", "volatile", children=kinds), Node("Aggregate", "aggregate", children=kinds)),
    )


def _group(label: str, tag: str, *children: tuple[str, str, str]) -> Node:
    return Node(label, tag, children=tuple(Node(*child) for child in children))


def _processes(gpu: Gpu) -> Node:
    if not gpu.processes:
        return Node("Processes", "processes", "None")
    entries = [
        Node(
            "Process ID",
            "process_info",
            str(process.pid),
            (
                Node("", "pid", str(process.pid)),
                Node("Type", "type", "C"),
                Node("Name", "process_name", process.name),
                Node("Used GPU Memory", "used_memory", f"{process.used_mib} MiB"),
            ),
        )
        for process in gpu.processes
    ]
    return Node("Processes", "processes", children=tuple(entries))


def _text(node: Node, indent: int) -> list[str]:
    title = f"{' ' * indent}{node.label}"
    first = f"{title:<{LABEL_COLUMN}}: {node.value}" if node.value else title
    return [first, *(line for child in node.children if child.label for line in _text(child, indent + 4))]


def _xml(node: Node, depth: int) -> list[str]:
    tabs = "\t" * depth
    if node.tag == "processes" and not node.children:
        return [f"{tabs}<processes>", f"{tabs}</processes>"]
    if not node.children:
        # Bus, device and domain have no 0x here.
        value = node.value[2:] if node.tag in ("pci_bus", "pci_device", "pci_domain", "pci_device_id") else node.value
        return [f"{tabs}<{node.tag}>{escape(value)}</{node.tag}>"]
    return [
        f"{tabs}<{node.tag}>",
        *(line for child in node.children for line in _xml(child, depth + 1)),
        f"{tabs}</{node.tag}>",
    ]


def _timestamp() -> str:
    return time.strftime("%a %b %e %H:%M:%S %Y")
