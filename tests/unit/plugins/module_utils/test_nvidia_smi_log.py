# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from smi_outputs import codes, each, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse


def test_xml_of_two_v100():
    facts = parse("-q -x", recorded("xml-v100-pcie-2x.xml"))
    assert (facts["driver_version"], facts["cuda_version"]) == ("580.65.06", "13.0")
    assert facts["devices"][0] == {
        "index": 0,
        "uuid": "GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01",
        "pci_bus_id": "00000000:18:00.0",
        "name": "Tesla V100-PCIE-32GB",
        "architecture": "volta",
        "compute_capability": "7.0",
        "memory_total_mib": 32768,
        "memory_used_mib": 412,
        "mig": "unsupported",
        "usable": True,
        "problems": [],
    }
    assert each(facts, "index") == [0, 1]
    assert each(facts, "memory_used_mib") == [412, 0]
    assert facts["nvlink"] is None
    assert facts["problems"] == []


def test_memory_is_the_card_s_and_not_that_of_its_instances():
    facts = parse("-q -x", recorded("xml-a100-mig.xml"))
    assert each(facts, "memory_total_mib") == [40960, 40960]
    assert each(facts, "mig") == ["enabled", "enabled"]
    assert [codes(device) for device in facts["devices"]] == [["mig_enabled"], ["mig_without_instances"]]
    assert codes(facts) == ["mig_without_instances"]


def test_reset_that_is_due_and_fabric_that_is_not_up():
    facts = parse("-q -x", recorded("xml-hgx-fabric.xml"))
    assert [codes(device) for device in facts["devices"]] == [[], ["gpu_requires_reset"], ["fabric_not_ready"]]
    assert each(facts, "usable") == [True, False, False]
    assert each(facts, "compute_capability") == ["9.0"] * 3


def test_fabric_that_failed():
    output = recorded("xml-gb200-domain.xml").replace("<status>Success", "<status>Insufficient Resources")
    facts = parse("-q -x", output)
    assert codes(facts) == ["fabric_not_ready"]
    assert "Insufficient Resources" in facts["problems"][0]["message"]


def test_pci_domain_is_part_of_the_address():
    facts = parse("-q -x", recorded("xml-gb200-domain.xml"))
    assert each(facts, "pci_bus_id") == ["00000008:01:00.0"]
    assert each(facts, "compute_capability") == ["10.0"]
    assert each(facts, "memory_total_mib") == [189471]
    assert facts["problems"] == []


def test_capability_follows_the_device_id_where_the_architecture_has_several():
    output = recorded("xml-a100-mig.xml").replace("NVIDIA A100-SXM4-40GB", "Unheard-of").replace("20B010DE", "223610DE")
    assert each(parse("-q -x", output), "compute_capability") == ["8.6", "8.6"]


@pytest.mark.parametrize("lines", [20, 45, 60])
def test_xml_that_is_cut_off_keeps_the_complete_cards(lines):
    output = "".join(recorded("xml-v100-pcie-2x.xml").splitlines(keepends=True)[:lines])
    facts = parse("-q -x", output)
    assert len(facts["devices"]) == output.count("</gpu>")
    assert facts["driver_version"] == "580.65.06"
    assert codes(facts) == ["output_incomplete"]
    assert f"2 GPUs attached, {len(facts['devices'])} listed" in facts["problems"][0]["message"]


def test_xml_that_is_cut_off_after_the_last_card():
    facts = parse("-q -x", recorded("xml-v100-pcie-2x.xml").replace("</nvidia_smi_log>", ""))
    assert len(facts["devices"]) == 2
    assert codes(facts) == ["output_incomplete"]


def test_warnings_around_and_inside_the_xml():
    output = recorded("xml-v100-pcie-2x.xml")
    middle = output.replace("<fan_speed>", "WARNING: infoROM is corrupted at gpu 0000:86:00.0\n<fan_speed>")
    for text in (f"some wrapper & <noise>\n{middle}\n</trailer>", middle):
        facts = parse("-q -x", text, 14)
        assert len(facts["devices"]) == 2
        assert codes(facts) == ["inforom_corrupted"]


def test_entities_are_not_expanded():
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n'
        "<nvidia_smi_log><driver_version>&b;</driver_version>"
    )
    assert codes(parse("-q -x", bomb)) == ["output_incomplete"]


def test_value_that_tells_of_a_lost_card():
    output = recorded("xml-v100-pcie-2x.xml").replace("<used>0 MiB</used>", "<used>0 MiB</used>", 1)
    output = output.replace("<total>32768 MiB</total>\n\t\t\t<used>0", "<total>GPU is lost</total>\n\t\t\t<used>0")
    facts = parse("-q -x", output)
    assert [codes(device) for device in facts["devices"]] == [[], ["gpu_lost"]]
    assert facts["devices"][1]["memory_total_mib"] is None


def test_failing_sensor_in_xml():
    facts = parse("-q -x", recorded("xml-v100-pcie-2x.xml").replace("36 C", "Unknown Error"))
    assert codes(facts) == ["sensor_error"]
    assert "temperature" in facts["problems"][0]["message"]
    assert each(facts, "usable") == [True, True]


def test_no_card_attached():
    output = (
        "<nvidia_smi_log><driver_version>580.65.06</driver_version><attached_gpus>0</attached_gpus></nvidia_smi_log>"
    )
    facts = parse("-q -x", output)
    assert facts["devices"] == []
    assert codes(facts) == ["no_devices"]


def test_single_card_of_several_is_complete():
    output = recorded("xml-gb200-domain.xml").replace("<attached_gpus>1", "<attached_gpus>4")
    assert parse("-q -x -i 00000008:01:00.0", output)["problems"] == []
    assert codes(parse("-q -x", output)) == ["output_incomplete"]


def test_old_text():
    facts = parse("-q", recorded("text-v100-old-layout.txt"))
    assert (facts["driver_version"], facts["cuda_version"]) == ("396.44", None)
    assert each(facts, "name") == ["Tesla V100-SXM2-32GB"]
    assert each(facts, "architecture") == ["volta"]
    assert each(facts, "memory_total_mib") == [32480]
    assert each(facts, "memory_used_mib") == [17]
    assert each(facts, "uuid") == ["GPU-5d3f90ab-77c1-4e02-b8a6-0d4c2f1e6a10"]
    assert facts["problems"] == []


def test_new_text():
    facts = parse("-q", recorded("text-mixed-new-layout.txt"))
    assert (facts["driver_version"], facts["cuda_version"]) == ("550.144.03", "12.4")
    assert each(facts, "architecture") == ["ada", "ampere"]
    assert each(facts, "compute_capability") == ["8.9", "8.0"]
    assert each(facts, "memory_total_mib") == [24564, 40960]
    assert each(facts, "mig") == ["unsupported", "enabled"]
    assert [codes(device) for device in facts["devices"]] == [
        ["sensor_error", "memory_repair_pending"],
        ["gpu_requires_reset", "mig_enabled"],
    ]


def test_one_odd_field_is_no_problem():
    output = recorded("text-mixed-new-layout.txt").replace("[Unknown Error]", "30 %")
    assert codes(parse("-q", output)["devices"][0]) == ["memory_repair_pending"]


def test_text_that_is_cut_off():
    output = recorded("text-v100-old-layout.txt").replace(
        "Attached GPUs                       : 1", "Attached GPUs : 8"
    )
    facts = parse("-q", output.partition("    FB Memory")[0])
    assert each(facts, "name") == ["Tesla V100-SXM2-32GB"]
    assert each(facts, "memory_total_mib") == [None]
    assert codes(facts) == ["output_incomplete"]
    assert "8 GPUs attached, 1 listed" in facts["problems"][0]["message"]
