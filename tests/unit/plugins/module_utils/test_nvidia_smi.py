# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from smi_outputs import codes, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.catalogue import CATALOGUE

COMMANDS = (
    "",
    "-q -x",
    "-q",
    "-L",
    "--query-gpu=index,name --format=csv,noheader",
    "topo -m",
    "topo -p2p r",
    "nvlink -s",
)
EMPTY = {"driver_version": None, "cuda_version": None, "devices": [], "links": {}, "nvlink": None}

COMPLAINTS = {
    "driver_library_mismatch": (
        18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n",
    ),
    "driver_not_loaded": (
        9,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n\n",
    ),
    "nvml_library_missing": (
        12,
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display "
        "Driver is properly installed and present in your system.\nPlease also try adding directory that contains "
        "libnvidia-ml.so to your system PATH.\n",
    ),
    "insufficient_permissions": (4, "Failed to initialize NVML: Insufficient Permissions\n"),
    "nvml_unknown_error": (255, "Failed to initialize NVML: Unknown Error\n"),
    "gpu_access_blocked": (255, "Failed to initialize NVML: GPU access blocked by the operating system\n"),
    "nvml_failed": (255, "Failed to initialize NVML: Something else\n"),
    "no_devices": (6, "No devices were found\n"),
    "gpu_lost": (
        15,
        "Unable to determine the device handle for GPU 0000:AF:00.0: GPU is lost.  Reboot the system to recover "
        "this GPU\n",
    ),
    "gpu_requires_reset": (
        15,
        "Unable to determine the device handle for gpu 0000:AF:00.0: GPU requires reset\n",
    ),
    "gpu_unreachable": (255, "Unable to determine the device handle for GPU0000:AF:00.0: Unknown Error\n"),
    "nvidia_smi_missing": (127, "bash: line 1: nvidia-smi: command not found\n"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("code", COMPLAINTS)
def test_driver_that_does_not_answer_is_an_answer(command, code):
    rc, output = COMPLAINTS[code]
    facts = parse(command, output, rc)
    assert codes(facts) == [code]
    assert {key: value for key, value in facts.items() if key != "problems"} == EMPTY
    problem = facts["problems"][0]
    assert set(problem) == {"code", "message", "remedy"}
    assert problem["message"]
    assert problem["remedy"]


@pytest.mark.parametrize("code", ["gpu_lost", "gpu_requires_reset", "gpu_unreachable"])
def test_complaint_about_a_card_names_it(code):
    assert "GPU 00000000:AF:00.0 " in parse("-q -x", COMPLAINTS[code][1])["problems"][0]["message"]


def test_mismatch_names_the_libraries_version():
    assert "libraries 580.95" in parse("", COMPLAINTS["driver_library_mismatch"][1])["problems"][0]["message"]


def test_apostrophe_of_a_copied_text():
    assert codes(parse("", COMPLAINTS["driver_not_loaded"][1].replace("'", "\u2019"))) == ["driver_not_loaded"]


@pytest.mark.parametrize(
    ("rc", "code"),
    [
        (4, "insufficient_permissions"),
        (6, "no_devices"),
        (9, "driver_not_loaded"),
        (12, "nvml_library_missing"),
        (15, "gpu_unreachable"),
        (18, "driver_library_mismatch"),
        (127, "nvidia_smi_missing"),
        (255, "nvidia_smi_failed"),
    ],
)
def test_exit_code_tells_what_the_text_does_not(rc, code):
    assert codes(parse("-q -x", "", rc)) == [code]
    assert codes(parse("", "what is this?", rc)) == [code]


def test_text_wins_over_the_exit_code():
    assert codes(parse("", COMPLAINTS["insufficient_permissions"][1], 1)) == ["insufficient_permissions"]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "nvlink -s"])
def test_no_output_is_a_problem(command):
    facts = parse(command, "")
    assert len(facts["problems"]) == 1
    assert facts["devices"] == []


@pytest.mark.parametrize("prefix", ["nvidia-smi ", "/usr/bin/nvidia-smi "])
def test_command_may_name_the_executable(prefix):
    assert len(parse(f"{prefix}-q -x", recorded("xml-v100-pcie-2x.xml"))["devices"]) == 2
    assert len(parse(prefix, recorded("table-v100-branch-535.txt"))["devices"]) == 2


def test_long_lines_are_cut_in_messages():
    message = parse("-L", "x" * 100_000)["problems"][0]["message"]
    assert len(message) < 400


def test_every_problem_says_what_to_do():
    for entry in CATALOGUE.values():
        assert "{line}" in entry.message
        assert entry.remedy.endswith((".", ")"))
