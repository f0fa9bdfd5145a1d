# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

"""No text makes the parser raise, hang or answer in another shape."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from smi_outputs import DIRECTORY, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse

COMMANDS = (
    "",
    "-q",
    "-q -x",
    "-L",
    "nvlink -s",
    "topo -m",
    "topo -p2p r",
    "--query-gpu=index,uuid,pci.bus_id,memory.total,driver_version,mig.mode.current,compute_cap,name --format=csv",
)
ROWS = (
    "index, uuid, pci.bus_id, memory.total [MiB], driver_version, mig.mode.current, compute_cap, name\n"
    "0, GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01, 00000000:3B:00.0, 32768 MiB, 580.65.06, [N/A], 7.0, Tesla V100\n"
)
SEEDS = [recorded(path.name) for path in sorted(DIRECTORY.iterdir())] + [
    ROWS,
    "GPU 0: Tesla T4 (UUID: GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01)\n\t Link 0: 25 GB/s\n"
    "  MIG 1g.5gb Device 0: (UUID: MIG-1)\n",
    "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\nNVML library version: 580.95\n",
]
WORDS = [
    *(
        "ERR!",
        "[N/A]",
        "GPU is lost",
        "[Unknown Error]",
        "|",
        "+--",
        "GPU0",
        "GPU999",
        "NV",
        "NV99",
        "X",
        "\t",
        " " * 300,
    ),
    *("<gpu>", "</gpu>", "<nvidia_smi_log>", "&x;", "\x00", "\x1b[4m", "\r", "\ud800", "\U0001f525", "-1", "9" * 60),
    *(":", ",", "\n"),
]
COMMON = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
PROBLEM_KEYS = {"code", "message", "remedy"}


def check_shape(facts):
    assert set(facts) == {"driver_version", "cuda_version", "devices", "links", "nvlink", "problems"}
    assert facts["nvlink"] in ("none", "partial", "full", None)
    for device in facts["devices"]:
        assert device["mig"] in ("enabled", "disabled", "unsupported", None)
        assert device["usable"] in (True, False)
        assert device["memory_total_mib"] is None or device["memory_total_mib"] >= 0
        assert all(set(problem) == PROBLEM_KEYS for problem in device["problems"])
    for link in facts["links"].values():
        assert set(link) == {"topology", "nvlinks", "p2p_read"}
    assert all(set(problem) == PROBLEM_KEYS for problem in facts["problems"])
    assert len(facts["devices"]) <= 128


@st.composite
def mutated(draw):
    """A recorded output with pieces deleted, repeated, swapped or replaced."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 200)))
        piece = text[start:end]
        replacement = draw(st.one_of(st.just(""), st.just(piece * 3), st.sampled_from(WORDS), st.text(max_size=20)))
        text = text[:start] + replacement + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@COMMON
@given(command=st.sampled_from(COMMANDS), output=mutated(), rc=st.sampled_from([0, 0, 2, 9, 14, 255, -9]))
def test_mutated_outputs(command, output, rc):
    check_shape(parse(command, output, rc))


@COMMON
@given(command=st.one_of(st.sampled_from(COMMANDS), st.text(max_size=80)), output=st.text(), rc=st.integers(-64, 255))
def test_any_text(command, output, rc):
    check_shape(parse(command, output, rc))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "|",
            "| 0  X |",
            "| 0 a | b | c |\n",
            " ",
            "\t",
            ":",
            " :",
            "GPU",
            "GPU0 ",
            "GPU 0: ",
            "NV1",
            "NSNV1",
            "<gpu>",
        ),
        *("a,", ",", "(UUID:", "GPU 0,", "\x1b[", "0:", "nvidia-smi", "device handle for ", 'Field "', "    x\n", "["),
        *("NVIDIA-SMI Driver Version: ", "MIG "),
    ],
)
def test_long_repetitions_end(command, unit):
    """The pathological inputs of backtracking patterns; a pattern that backtracks does not end within a life."""
    check_shape(parse(command, unit * (200_000 // len(unit))))


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_every_truncation(seed):
    text = SEEDS[seed]
    for command in COMMANDS:
        for end in range(0, len(text), max(1, len(text) // 60)):
            check_shape(parse(command, text[:end]))
