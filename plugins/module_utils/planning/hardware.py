# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NVIDIA generations and cards: what capability, memory and multiprocessors allow.

Capabilities are tuples, ``(7, 0)``. Memory is what CUDA sees, in GiB, which is less than nvidia-smi's total.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

Capability = tuple[int, int]

VOLTA: Capability = (7, 0)
TURING: Capability = (7, 5)
AMPERE: Capability = (8, 0)
ADA: Capability = (8, 9)
HOPPER: Capability = (9, 0)
BLACKWELL: Capability = (10, 0)


@dataclass(frozen=True)
class Generation:
    """What one range of compute capabilities can do; ``since`` is the lowest capability of the row."""

    name: str
    since: Capability
    bfloat16: bool
    fp8_kv_cache: bool
    shared_memory_kib: int
    last_driver_branch: int | None


# Sources: vllm/platforms/cuda.py (dtypes), CUDA programming guide, table "technical specifications per compute
# capability" (shared memory per block), NVIDIA's Unix driver deprecation notice (last branch).
GENERATIONS: tuple[Generation, ...] = (
    Generation("pascal", (6, 0), False, False, 48, 580),
    Generation("volta", VOLTA, False, False, 96, 580),
    Generation("turing", TURING, False, False, 64, None),
    Generation("ampere", AMPERE, True, False, 163, None),
    Generation("ampere", (8, 6), True, False, 99, None),
    Generation("ampere", (8, 7), True, False, 163, None),
    Generation("ada", ADA, True, True, 99, None),
    Generation("hopper", HOPPER, True, True, 227, None),
    Generation("blackwell", BLACKWELL, True, True, 227, None),
    Generation("blackwell", (12, 0), True, True, 99, None),
)


def generation(capability: Capability) -> Generation:
    """The row for a capability: the last one that starts at or below it."""
    known = [row for row in GENERATIONS if row.since <= capability]
    return known[-1] if known else GENERATIONS[0]


def is_volta(capability: Capability) -> bool:
    """Volta is 7.0 (V100, TITAN V) and 7.2 (Xavier)."""
    return VOLTA <= capability < TURING


def parse_capability(text: str) -> Capability | None:
    """``"7.0"`` as ``(7, 0)``; None when it is not a capability."""
    match = re.fullmatch(r"(\d+)\.(\d+)", text.strip())
    return (int(match.group(1)), int(match.group(2))) if match else None


def capability_text(capability: Capability) -> str:
    """``(7, 0)`` as ``"7.0"``."""
    return f"{capability[0]}.{capability[1]}"


@dataclass(frozen=True)
class CardModel:
    """A card as sold: its name's pattern, nvidia-smi's MiB range, the GiB that CUDA sees and its multiprocessors."""

    pattern: str
    memory_mib: tuple[int, int]
    cuda_memory_gib: float
    multiprocessors: int


# The lowest total seen in public vLLM start-up logs for each card ("total memory" of torch), NVIDIA's data sheets
# for the multiprocessors.
CARD_MODELS: tuple[CardModel, ...] = (
    CardModel(r"V100", (32000, 33000), 31.74, 80),
    CardModel(r"V100|TITAN V", (16000, 16500), 15.77, 80),
    CardModel(r"\bT4\b", (15000, 15400), 14.56, 40),
    CardModel(r"RTX 3090", (24000, 24600), 23.50, 82),
    CardModel(r"RTX 4090", (23900, 24600), 23.50, 128),
    CardModel(r"\bL4\b", (22500, 23100), 21.95, 58),
    CardModel(r"\bA10\b", (22500, 23100), 22.06, 72),
    CardModel(r"A100", (40000, 41000), 39.39, 108),
    CardModel(r"A100", (80000, 82000), 79.15, 108),
    CardModel(r"L40S", (45000, 46100), 44.40, 142),
    CardModel(r"RTX PRO 6000", (97000, 98000), 94.97, 188),
    CardModel(r"H100|H800", (79000, 82000), 79.18, 132),
    CardModel(r"H200", (141000, 144500), 139.81, 132),
)

# nvidia-smi's total less what the driver keeps, for cards that no row names: the least share seen in the logs.
UNKNOWN_CARD_SHARE = 0.969
UNKNOWN_CARD_MULTIPROCESSORS = 144


@lru_cache(maxsize=1024)
def card_model(name: str, memory_total_mib: int) -> CardModel | None:
    """The row for a card by its name and nvidia-smi's total."""
    for model in CARD_MODELS:
        low, high = model.memory_mib
        if low <= memory_total_mib <= high and re.search(model.pattern, name):
            return model
    return None


def cuda_memory_gib(name: str, memory_total_mib: int) -> float:
    """Memory as CUDA reports it, in GiB: from the table, else the safe share of nvidia-smi's total."""
    model = card_model(name, memory_total_mib)
    return model.cuda_memory_gib if model else memory_total_mib / 1024 * UNKNOWN_CARD_SHARE


def multiprocessors(name: str, memory_total_mib: int) -> int:
    """Streaming multiprocessors of a card; a high number where it is unknown, which costs a little memory."""
    model = card_model(name, memory_total_mib)
    return model.multiprocessors if model else UNKNOWN_CARD_MULTIPROCESSORS


def binary_runs_on(architectures: Iterable[str], capability: Capability) -> bool:
    """Whether a binary built for these (``sm_80``, ``compute_80``, ``8.0+PTX``) runs on a card.

    Machine code runs on the same major version from its own minor on; PTX (``compute_``, ``+PTX``) is compiled for
    everything newer, never for anything older (CUDA programming guide, "binary compatibility").
    """
    for text in architectures:
        match = re.fullmatch(r"(sm_|compute_)?(\d+?)\.?(\d)[af]?(\+PTX)?", text.strip())
        if not match:
            continue
        built = (int(match.group(2)), int(match.group(3)))
        is_ptx = match.group(1) == "compute_"
        if not is_ptx and built[0] == capability[0] and built <= capability:
            return True
        if (is_ptx or match.group(4)) and built <= capability:
            return True
    return False
