# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in for nvidia-smi: formats and return codes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from bench_profiles import document
from nvidia_smi import cli, state

REFERENCE = document("reference", "gpu-worker-a")
NVLINKED = document("mixed", "gpu-volta")
MIXED = document("mixed", "gpu-ampere")


def ask(profile, *arguments, held=()):
    return cli.answer(state.from_profile(profile, list(held), "580.95.05"), list(arguments))


def claim(profile, index, used_mib):
    return {"pid": 4711, "name": "VLLM::EngineCore", "used_mib": {profile["gpus"][index]["uuid"]: used_mib}}


def test_the_table_is_as_wide_everywhere():
    text, code = ask(REFERENCE, held=[claim(REFERENCE, 0, 29671)])

    rows = [line for line in text.splitlines() if line.startswith(("|", "+"))]
    assert code == 0
    assert {len(row) for row in rows} == {91}
    assert "NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0" in text
    assert "|   29671MiB /  32768MiB |" in text
    assert "VLLM::EngineCore" in text


def test_an_idle_host_runs_no_process():
    assert "No running processes found" in ask(REFERENCE)[0]


def test_list():
    assert ask(REFERENCE, "-L")[0].splitlines()[1] == (
        "GPU 1: Tesla V100-PCIE-32GB (UUID: GPU-8e31b2d7-06fa-4c58-b7c4-9d12a5e47f02)"
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", ["index, name, memory.total [MiB], mig.mode.current", "0, Tesla V100-PCIE-32GB, 32768 MiB, [N/A]"]),
        ("csv,noheader", ["0, Tesla V100-PCIE-32GB, 32768 MiB, [N/A]"]),
        ("csv,noheader,nounits", ["0, Tesla V100-PCIE-32GB, 32768, [N/A]"]),
    ],
)
def test_query_gpu(form, expected):
    text, code = ask(REFERENCE, "--query-gpu=index,name,memory.total,mig.mode.current", f"--format={form}", "-i", "0")

    assert (text.splitlines(), code) == (expected, 0)


def test_an_unknown_field_is_named_with_code_2():
    text, code = ask(REFERENCE, "--query-gpu=name,cuda_version", "--format=csv")

    assert (text, code) == ('Field "cuda_version" is not a valid field to query.\n\n', 2)


def test_query_compute_apps():
    query = "--query-compute-apps=pid,process_name,used_memory"

    assert ask(REFERENCE, query, "--format=csv,noheader", held=[claim(REFERENCE, 1, 100)]) == (
        "4711, VLLM::EngineCore, 100 MiB\n",
        0,
    )


def test_topology_without_nvlink():
    lines = ask(REFERENCE, "topo", "-m")[0].splitlines()

    assert lines[0] == "\t\033[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m"
    assert lines[1] == "GPU0\t X \tSYS\t0-15\t0\t\tN/A"
    assert lines[2] == "GPU1\tSYS\t X \t16-31\t1\t\tN/A"


def test_topology_with_nvlink():
    assert ask(NVLINKED, "topo", "-m")[0].splitlines()[3].startswith("GPU2\tNV2\tNV2\t X \tNV2\t")


def test_peer_to_peer():
    assert ask(NVLINKED, "topo", "-p2p", "r")[0].splitlines()[1] == " GPU0\tX\tOK\tOK\tOK\t"
    assert ask(REFERENCE, "topo", "-p2p", "r")[0].splitlines()[1] == " GPU0\tX\tNS\t"


def test_nvlink_status():
    assert "\t Link 5: 25.781 GB/s\n" in ask(NVLINKED, "nvlink", "-s")[0]
    assert "all links are inActive" in ask(REFERENCE, "nvlink", "-s")[0]


def test_details_as_xml_and_text_say_the_same():
    tree = ElementTree.fromstring(ask(MIXED, "-q", "-x", held=[claim(MIXED, 0, 1024)])[0])
    text, _ = ask(MIXED, "-q", held=[claim(MIXED, 0, 1024)])

    first = tree.find("gpu")
    assert tree.findtext("attached_gpus") == "2"
    assert first.get("id") == "00000000:41:00.0"
    assert first.findtext("mig_mode/current_mig") == "Disabled"
    assert first.findtext("fb_memory_usage/used") == "1024 MiB"
    assert first.findtext("processes/process_info/pid") == "4711"
    assert first.findtext("pci/pci_device_id") == "20F110DE"
    assert "    Product Name                          : NVIDIA A100-PCIE-40GB\n" in text
    assert "        Used                              : 1024 MiB\n" in text
    assert "        Process ID                        : 4711\n" in text


@pytest.mark.parametrize("arguments", [["--nonsense"], ["-x"], ["topo", "-z"], ["--query-gpu"]])
def test_other_arguments_are_an_invalid_combination(arguments):
    assert ask(REFERENCE, *arguments) == (cli.INVALID, 1)


def test_a_card_that_is_not_there():
    assert ask(REFERENCE, "-i", "7") == ("No devices were found\n", 6)


def test_a_card_that_the_profile_makes_ill_says_so():
    sick, hot = REFERENCE["gpus"]
    profile = {**REFERENCE, "gpus": [{**sick, "uncorrected_errors": 2}, {**hot, "slowed_by": "HW Thermal Slowdown"}]}
    root = ElementTree.fromstring(ask(profile, "-q", "-x")[0].split("\n", 2)[2])

    assert [gpu.findtext("ecc_errors/volatile/double_bit/total") for gpu in root.findall("gpu")] == ["2", "0"]
    reason = "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown"
    assert [gpu.findtext(reason) for gpu in root.findall("gpu")] == ["Not Active", "Active"]
