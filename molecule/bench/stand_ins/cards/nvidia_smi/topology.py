# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""topo -m, topo -p2p and nvlink -s: how the cards are joined."""

from __future__ import annotations

from .state import Gpu, Host

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
P2P_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""


def matrix(host: Host) -> str:
    """topo -m, its header underlined as the tool does even where nobody sees it."""
    names = [f"GPU{gpu.index}" for gpu in host.gpus]
    head = "\t\033[4m" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]) + "\033[0m"
    nodes = numa_nodes(host)
    each = host.cpu_cores // (max(nodes, default=0) + 1)
    lines = [head]
    for gpu, node in zip(host.gpus, nodes):
        cells = [" X " if other is gpu else host.link(gpu.index, other.index)["topology"] for other in host.gpus]
        lines.append(
            "\t".join([f"GPU{gpu.index}", *cells, f"{node * each}-{node * each + each - 1}", str(node), "", "N/A"])
        )
    return "\n".join(lines) + "\n" + LEGEND


def numa_nodes(host: Host) -> list[int]:
    """The node of every card: those joined by anything nearer than SYS share one, NVLink says nothing."""
    nodes: list[int] = []
    for gpu in host.gpus:
        near = [
            other
            for other in range(gpu.index)
            if host.link(gpu.index, other)["topology"] in ("NODE", "PHB", "PXB", "PIX")
        ]
        far = any(host.link(gpu.index, other)["topology"] == "SYS" for other in range(gpu.index))
        if near:
            nodes.append(nodes[near[0]])
        else:
            nodes.append(max(nodes, default=-1) + 1 if far else max(nodes, default=0))
    return nodes


def peer_to_peer(host: Host) -> str:
    """topo -p2p: what every card may do with every other."""
    lines = [" \t" + "\t".join(f"GPU{gpu.index}" for gpu in host.gpus) + "\t"]
    for gpu in host.gpus:
        cells = ["X" if other is gpu else host.link(gpu.index, other.index)["p2p"] for other in host.gpus]
        lines.append(f" GPU{gpu.index}\t" + "\t".join(cells) + "\t")
    return "\n".join(lines) + "\n" + P2P_LEGEND


def nvlink_status(gpus: tuple[Gpu, ...]) -> str:
    """nvlink -s: every link with its speed."""
    lines = []
    for gpu in gpus:
        lines.append(f"GPU {gpu.index}: {gpu.name} (UUID: {gpu.uuid})")
        if gpu.nvlinks:
            lines += [f"\t Link {number}: {gpu.nvlink_gb_per_s:g} GB/s" for number in range(gpu.nvlinks)]
        else:
            lines.append("NVML: Unable to retrieve NVLink information as all links are inActive")
    return "".join(line + "\n" for line in lines)
