# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from smi_outputs import codes, each

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse

FIRST = "GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01"
SECOND = "GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c02"


def test_mixed_cards():
    facts = parse("-L", f"GPU 0: Tesla V100-PCIE-32GB (UUID: {FIRST})\nGPU 1: GeForce GTX TITAN X (UUID: {SECOND})\n")
    assert each(facts, "index") == [0, 1]
    assert each(facts, "uuid") == [FIRST, SECOND]
    assert each(facts, "name") == ["Tesla V100-PCIE-32GB", "GeForce GTX TITAN X"]
    assert each(facts, "compute_capability") == ["7.0", "5.2"]
    assert each(facts, "memory_total_mib") == [None, None]
    assert facts["nvlink"] is None
    assert facts["problems"] == []


def test_mig_instances_in_both_forms():
    facts = parse(
        "-L",
        f"GPU 0: A100-SXM4-40GB (UUID: {FIRST})\n"
        f"  MIG 3g.20gb Device 0: (UUID: MIG-{FIRST}/1/0)\n"
        f"GPU 1: NVIDIA H200 (UUID: {SECOND})\n"
        "  MIG 1c.3g.71gb  Device  0: (UUID: MIG-0a1b2c3d-0000-5555-8888-00000000000a)\n"
        "  MIG 1g.18gb     Device  1: (UUID: MIG-0a1b2c3d-0000-5555-8888-00000000000b)\n",
    )
    assert each(facts, "index") == [0, 1]
    assert each(facts, "mig") == ["enabled", "enabled"]
    assert "1 instances" in facts["devices"][0]["problems"][0]["message"]
    assert "2 instances" in facts["devices"][1]["problems"][0]["message"]
    assert facts["problems"] == []


def test_list_without_uuids():
    facts = parse("-L", "GPU 0,1,2: Tesla PG503-216\nGPU 3: NVIDIA L40S-48C\n")
    assert each(facts, "index") == [0, 1, 2, 3]
    assert each(facts, "uuid") == [None] * 4
    assert each(facts, "compute_capability") == ["7.0", "7.0", "7.0", "8.9"]


def test_list_of_a_driver_that_lost_a_card():
    facts = parse(
        "-L",
        "Unable to determine the device handle for GPU0000:02:00.0: GPU is lost.  Reboot the system to recover this "
        "GPU\n"
        f"GPU 0: Tesla V100-PCIE-32GB (UUID: {FIRST})\n",
    )
    assert each(facts, "index") == [0]
    assert codes(facts) == ["gpu_lost"]
    assert "00000000:02:00.0" in facts["problems"][0]["message"]


def test_something_that_is_no_list():
    assert codes(parse("-L", "Segmentation fault\n", 139)) == ["nvidia_smi_failed"]
    assert codes(parse("-L", "hello\n")) == ["output_unrecognised"]


def status(*links):
    """nvlink -s of cards with so many active links; None: the driver's complaint that there is none."""
    lines = []
    for index, active in enumerate(links):
        lines.append(f"GPU {index}: NVIDIA RTX A6000 (UUID: {FIRST[:-1]}{index})")
        if active is None:
            lines.append("NVML: Unable to retrieve NVLink information as all links are inActive")
        else:
            lines += [f"\t Link {n}: 14.062 GB/s" for n in range(active)]
    return "\n".join(lines) + "\n"


def test_links_between_several_cards_lead_to_unknown_places():
    facts = parse("nvlink -s", status(4, 4, None))
    assert each(facts, "name") == ["NVIDIA RTX A6000"] * 3
    assert facts["nvlink"] is None
    assert facts["problems"] == []


def test_no_nvlink_without_two_cards_that_have_active_links():
    assert parse("nvlink -s", status(None, None))["nvlink"] == "none"
    assert parse("nvlink -s", status(18))["nvlink"] == "none"
    assert parse("nvlink --status", "")["nvlink"] == "none"
    assert parse("nvlink -s", status(None).replace("NVLink", "Nvlink"))["nvlink"] == "none"
    inactive = f"GPU 0: Tesla V100-SXM2-16GB (UUID: {FIRST})\n\t Link 0: <inactive>\n\t Link 1: <inactive>\n"
    assert parse("nvlink -s", inactive + inactive.replace("GPU 0", "GPU 1"))["nvlink"] == "none"


def test_card_in_mig_mode_tells_no_links():
    output = f"GPU 0: NVIDIA H200 (UUID: {FIRST})\nNvlink queries are not supported for Devices in MIG mode\n"
    assert parse("nvlink -s", output)["nvlink"] == "none"


def test_card_of_which_nothing_is_told():
    assert parse("nvlink -s", f"GPU 0: Tesla V100-SXM2-16GB (UUID: {FIRST})\n")["nvlink"] is None


def test_driver_without_the_command():
    facts = parse("nvlink -s", "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", 255)
    assert facts["nvlink"] is None
    assert len(facts["problems"]) == 1
