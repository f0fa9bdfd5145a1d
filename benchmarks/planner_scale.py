# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long planning takes: 100 models over 1,000 hosts with 8 GPUs each, and how it grows with hosts and models.

    python benchmarks/planner_scale.py

Facts are read once and models are planned on what earlier ones leave, as for a list of models. Exits with 1 when the
whole takes 2 s or more.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "plugins" / "module_utils"))

from planning.plan import plan_models

LIMIT_SECONDS = 2.0
GPUS = 8
CARDS = (
    ("Tesla V100-SXM2-32GB", "7.0", 32768, 2),
    ("Tesla V100-PCIE-32GB", "7.0", 32768, 0),
    ("Tesla T4", "7.5", 15360, 0),
    ("NVIDIA A100-SXM4-80GB", "8.0", 81920, 12),
    ("NVIDIA L40S", "8.9", 46068, 0),
)
MODELS = (
    ("Qwen/Qwen2.5-7B-Instruct", 32768),
    ("Qwen/Qwen2.5-14B-Instruct", 65536),
    ("Qwen/Qwen2.5-32B-Instruct", 32768),
    ("Qwen/Qwen2.5-72B-Instruct", 32768),
    ("Qwen/Qwen3-30B-A3B", 32768),
    ("meta-llama/Llama-3.1-8B-Instruct", 65536),
)


def host(number: int) -> dict[str, Any]:
    """A host's facts: five kinds of cards, and on every 50th host one card that is lost."""
    name, capability, memory, nvlinks = CARDS[number % len(CARDS)]
    topology = f"NV{nvlinks}" if nvlinks else "PHB"
    link = {"topology": topology, "nvlinks": nvlinks, "p2p_read": None}
    devices = [
        {"index": i, "name": name, "compute_capability": capability, "memory_total_mib": memory, "usable": True}
        for i in range(GPUS)
    ]
    if number % 50 == 0:
        devices[number % GPUS]["usable"] = False
    links = {f"{a}-{b}": link for a in range(GPUS) for b in range(a + 1, GPUS)}
    return {"driver_version": "570.133.20", "cuda_version": "12.8", "devices": devices, "links": links, "problems": []}


def seconds(hosts: int, models: int) -> tuple[float, int]:
    """Time of one run, and how many of the models fit."""
    fleet = {f"gpu-{number:04}": host(number) for number in range(hosts)}
    declared = []
    for number in range(models):
        repository, context = MODELS[number % len(MODELS)]
        declared.append(
            {
                "name": f"model-{number}",
                "source": {"huggingface_repo_id": repository},
                "context": context,
                "concurrency": 1 + number % 4,
            }
        )
    start = time.perf_counter()
    plans = plan_models(declared, fleet)
    return time.perf_counter() - start, sum(1 for plan in plans if plan["feasible"])


def main() -> int:
    print("| hosts | GPUs | models | fit | seconds |")
    print("|---|---|---|---|---|")
    last = 0.0
    for hosts, models in ((10, 10), (100, 10), (100, 100), (1000, 10), (1000, 100)):
        last, fit = seconds(hosts, models)
        print(f"| {hosts:,} | {hosts * GPUS:,} | {models} | {fit} | {last:.2f} |")
    print("target met" if last < LIMIT_SECONDS else "TARGET MISSED")
    return 0 if last < LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
