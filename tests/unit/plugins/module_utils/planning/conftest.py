# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fleets and models for the planner's tests."""

from __future__ import annotations

from typing import Any, Callable

import pytest

CARDS: dict[str, tuple[str, str, int]] = {
    "v100": ("Tesla V100-PCIE-32GB", "7.0", 32768),
    "v100-16": ("Tesla V100-SXM2-16GB", "7.0", 16384),
    "t4": ("Tesla T4", "7.5", 15360),
    "a100": ("NVIDIA A100-SXM4-80GB", "8.0", 81920),
    "a10": ("NVIDIA A10", "8.6", 23028),
    "3090": ("NVIDIA GeForce RTX 3090", "8.6", 24576),
    "3070": ("NVIDIA GeForce RTX 3070", "8.6", 8192),
    "4080s": ("NVIDIA GeForce RTX 4080 SUPER", "8.9", 16376),
    "3060": ("NVIDIA GeForce RTX 3060", "8.6", 12288),
    "l40s": ("NVIDIA L40S", "8.9", 46068),
    "h100": ("NVIDIA H100 80GB HBM3", "9.0", 81559),
    "p40": ("Tesla P40", "6.1", 24576),
}

Host = Callable[..., dict[str, Any]]
Model = Callable[..., dict[str, Any]]


def gpu_host(
    *cards: str,
    topology: str = "SYS",
    nvlinks: int = 0,
    islands: list[list[int]] | None = None,
    p2p_read: bool | None = None,
    driver: str = "570.133.20",
    cuda: str = "12.9",
    used_mib: dict[int, int] | None = None,
) -> dict[str, Any]:
    """Facts of one host as gpu_facts returns them; ``islands`` are sets of indexes joined by NVLink."""
    devices = []
    for index, card in enumerate(cards):
        name, capability, memory = CARDS[card]
        devices.append(
            {
                "index": index,
                "uuid": f"GPU-{index:08x}",
                "pci_bus_id": f"00000000:{index + 1:02X}:00.0",
                "name": name,
                "architecture": None,
                "compute_capability": capability,
                "memory_total_mib": memory,
                "memory_used_mib": (used_mib or {}).get(index, 0),
                "mig": "unsupported",
                "usable": True,
                "problems": [],
            }
        )
    links = {}
    for first in range(len(cards)):
        for second in range(first + 1, len(cards)):
            joined = nvlinks or (2 if any(first in i and second in i for i in islands or []) else 0)
            label = f"NV{joined}" if joined else topology
            links[f"{first}-{second}"] = {"topology": label, "nvlinks": joined, "p2p_read": p2p_read}
    return {
        "driver_version": driver,
        "cuda_version": cuda,
        "devices": devices,
        "links": links,
        "nvlink": None,
        "problems": [],
    }


def declared_model(repository: str = "Qwen/Qwen2.5-14B-Instruct", **keys: Any) -> dict[str, Any]:
    """A declared model; ``keys`` are added or take the place of defaults."""
    name = repository.rsplit("/", 1)[-1].lower()
    return {"name": name, "source": {"huggingface_repo_id": repository}, **keys}


@pytest.fixture
def host() -> Host:
    return gpu_host


@pytest.fixture
def model() -> Model:
    return declared_model


@pytest.fixture
def v100_pair_fleet() -> dict[str, Any]:
    """Two hosts with two V100-PCIE-32GB each and no NVLink."""
    return {"gpu-worker-a": gpu_host("v100", "v100"), "gpu-worker-b": gpu_host("v100", "v100")}
