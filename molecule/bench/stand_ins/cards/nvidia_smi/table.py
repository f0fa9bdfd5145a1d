# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-smi without arguments: the table of driver R580."""

from __future__ import annotations

import time

from .state import Gpu, Host, Process

RULE = "+-----------------------------------------------------------------------------------------+"
COLUMNS = "+-----------------------------------------+------------------------+----------------------+"
HEAD = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|"""
PROCESSES = """\
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|"""


def render(host: Host) -> str:
    """The whole table."""
    driver = host.driver_version
    versions = f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {host.cuda_version:<8} |"
    lines = [time.strftime("%a %b %e %H:%M:%S %Y       "), RULE, versions, COLUMNS, HEAD]
    for gpu in host.gpus:
        lines += [*_rows(gpu, "On" if host.persistence else "Off"), COLUMNS]
    lines += ["", RULE, PROCESSES]
    running = [_process(gpu, process) for gpu in host.gpus for process in gpu.processes]
    lines += running or ["|  No running processes found                                                             |"]
    return "\n".join([*lines, RULE, ""])


def _rows(gpu: Gpu, persistence: str) -> list[str]:
    memory = f"{gpu.used_mib:>8}MiB / {gpu.memory_total_mib:>6}MiB "
    return [
        f"|{gpu.index:>4}  {gpu.name:<31.31}{persistence:<4}|   {gpu.pci_bus_id} Off |{'0':>21} |",
        f"| N/A{gpu.temperature_c:>5}C    P0{round(gpu.power_w):>15}W / {gpu.power_limit_w:>4}W "
        f"|{memory}|{0:>7}%{'Default':>13} |",
        f"|{'':41}|{'':24}|{gpu.mig:>21} |",
    ]


def _process(gpu: Gpu, process: Process) -> str:
    return f"|{gpu.index:>5}   N/A  N/A{process.pid:>16}      C   {process.name:<37.37}{process.used_mib:>6}MiB |"
