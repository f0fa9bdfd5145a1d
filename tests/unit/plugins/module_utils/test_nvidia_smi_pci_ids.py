# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.pci_ids import (
    ARCHITECTURES,
    CARDS,
    CHIPS,
    LAST_DRIVER_BRANCH,
    identify,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.hardware import GENERATIONS


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("Tesla K80", "3.7"),
        ("Tesla M60", "5.2"),
        ("GeForce GTX TITAN X", "5.2"),
        ("Tesla P100-SXM2-16GB", "6.0"),
        ("Tesla P40", "6.1"),
        ("NVIDIA TITAN X (Pascal)", "6.1"),
        ("GeForce GTX 108...", "6.1"),
        ("Tesla V100-PCIE-32GB", "7.0"),
        ("Tesla V100-SXM2...", "7.0"),
        ("Tesla V100S-PCIE-32GB", "7.0"),
        ("Tesla PG503-216", "7.0"),
        ("GRID V100D-8C", "7.0"),
        ("Quadro GV100", "7.0"),
        ("NVIDIA TITAN V", "7.0"),
        ("Xavier (nvgpu)", "7.2"),
        ("Tesla T4", "7.5"),
        ("NVIDIA T4G", "7.5"),
        ("NVIDIA TITAN RTX", "7.5"),
        ("Quadro RTX 6000", "7.5"),
        ("GeForce RTX 208...", "7.5"),
        ("GRID RTX8000-12Q", "7.5"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA A30", "8.0"),
        ("NVIDIA A800-SXM4-80GB", "8.0"),
        ("GRID A100D-20C", "8.0"),
        ("NVIDIA A10", "8.6"),
        ("NVIDIA A10G", "8.6"),
        ("NVIDIA A16-8C", "8.6"),
        ("NVIDIA A2", "8.6"),
        ("NVIDIA RTX A6000", "8.6"),
        ("NVIDIA GeForce RTX 3090", "8.6"),
        ("Orin (nvgpu)", "8.7"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40S-48C", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA GeForce RTX 4090 D", "8.9"),
        ("NVIDIA H20", "9.0"),
        ("NVIDIA H200", "9.0"),
        ("NVIDIA H100 NVL", "9.0"),
        ("NVIDIA H100XM-80C", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA GB200", "10.0"),
        ("NVIDIA GB300", "10.3"),
        ("NVIDIA Thor", "11.0"),
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA GeForce ...", None),
        ("AMD Instinct MI300X", None),
    ],
)
def test_capability_of_a_name(name, capability):
    assert identify(name=name).compute_capability == capability


def test_every_card_is_in_a_chip_s_range_and_agrees_with_its_name():
    for device_id, name in CARDS.items():
        by_id = identify(device_id=device_id)
        assert by_id.name == name
        assert by_id.compute_capability is not None, name
        assert identify(name=name).compute_capability == by_id.compute_capability, name


def test_chips_do_not_overlap():
    for (_, last, _), (first, _, _) in zip(CHIPS, CHIPS[1:]):
        assert last < first
    assert {capability for _, _, capability in CHIPS} <= set(ARCHITECTURES)


def test_card_that_is_not_named_yet_is_known_by_its_chip():
    card = identify(device_id=0x1DBF)
    assert (card.name, card.architecture, card.compute_capability) == (None, "volta", "7.0")
    assert identify(device_id=0x0040) == identify()


@pytest.mark.parametrize(
    ("architecture", "capability"),
    [("volta", "7.0"), ("turing", "7.5"), ("ada", "8.9"), ("hopper", "9.0"), ("ampere", None), ("blackwell", None)],
)
def test_capability_of_an_architecture(architecture, capability):
    card = identify(architecture=architecture)
    assert (card.architecture, card.compute_capability) == (architecture, capability)


def test_what_the_driver_says_wins():
    card = identify(device_id=0x1DB6, name="NVIDIA A100", compute_capability="8.9")
    assert (card.architecture, card.compute_capability) == ("ada", "8.9")
    # A capability that contradicts the architecture is none.
    assert identify(name="NVIDIA A100", architecture="hopper").compute_capability == "9.0"


@pytest.mark.parametrize(
    ("name", "capable"),
    [
        ("Tesla V100-PCIE-32GB", False),
        ("Tesla T4", False),
        ("NVIDIA A100-SXM4-40GB", True),
        ("NVIDIA A40", False),
        ("NVIDIA L40S", False),
        ("NVIDIA H100 PCIe", True),
        ("NVIDIA GeForce RTX 5090", None),
        ("something new", None),
    ],
)
def test_mig_by_capability(name, capable):
    assert identify(name=name).mig_capable is capable


def test_planner_and_facts_agree_on_generations():
    for generation in GENERATIONS:
        major, minor = generation.since
        assert ARCHITECTURES[f"{major}.{minor}"] == generation.name
        assert LAST_DRIVER_BRANCH.get(generation.name) == generation.last_driver_branch
