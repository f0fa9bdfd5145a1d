# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from smi_outputs import codes, each

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse

UUID = "GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01"


def query(fields, output, form="csv,noheader", rc=0):
    return parse(f"--query-gpu={fields} --format={form}", output, rc)


def test_all_fields():
    facts = query(
        "index,uuid,pci.bus_id,memory.total,memory.used,driver_version,mig.mode.current,compute_cap,name",
        f"0, {UUID}, 00000000:3B:00.0, 32768 MiB, 11 MiB, 580.65.06, [N/A], 7.0, Tesla V100S-PCIE-32GB\n",
    )
    assert facts["driver_version"] == "580.65.06"
    assert facts["devices"] == [
        {
            "index": 0,
            "uuid": UUID,
            "pci_bus_id": "00000000:3B:00.0",
            "name": "Tesla V100S-PCIE-32GB",
            "architecture": "volta",
            "compute_capability": "7.0",
            "memory_total_mib": 32768,
            "memory_used_mib": 11,
            "mig": "unsupported",
            "usable": True,
            "problems": [],
        }
    ]
    assert facts["problems"] == []


@pytest.mark.parametrize(
    ("form", "output"),
    [
        ("csv", "name, memory.total [MiB], driver_version\nNVIDIA L4, 23034 MiB, 550.54.15\n"),
        ("csv,noheader", "NVIDIA L4, 23034 MiB, 550.54.15\n"),
        ("csv,noheader,nounits", "NVIDIA L4, 23034, 550.54.15\n"),
        ("csv,noheader", "\r\nNVIDIA L4, 23034 MiB,550.54.15\r\n   \n"),
    ],
)
def test_forms_of_csv(form, output):
    facts = query("name,memory.total,driver_version", output, form)
    assert each(facts, "name") == ["NVIDIA L4"]
    assert each(facts, "memory_total_mib") == [23034]
    assert facts["driver_version"] == "550.54.15"
    assert facts["problems"] == []


def test_the_header_is_the_truth_about_the_columns():
    facts = query("index,name", "name, index\nTesla T4, 3\n", "csv")
    assert (each(facts, "index"), each(facts, "name")) == ([3], ["Tesla T4"])


def test_driver_s_own_capability_wins_over_the_name():
    facts = query("name,compute_cap", "NVIDIA A100-SXM4-40GB, 9.0\n")
    assert each(facts, "compute_capability") == ["9.0"]
    assert each(facts, "architecture") == ["hopper"]


def test_rows_without_an_index_are_counted():
    facts = query("name", "NVIDIA H20\nNVIDIA H20\nNVIDIA H20\n")
    assert each(facts, "index") == [0, 1, 2]
    assert each(facts, "compute_capability") == ["9.0"] * 3


def test_driver_version_that_is_repeated_for_every_card():
    assert query("driver_version", "535.161.08\n" * 8)["driver_version"] == "535.161.08"
    assert query("driver_version", "535.161.08\n535.161.07\n")["driver_version"] is None


@pytest.mark.parametrize("fields", ["index,name,memory.total", "name,index,memory.total", "index,memory.total,name"])
def test_product_name_with_a_comma(fields):
    values = {"index": "0", "name": "Strange, Card", "memory.total": "8192 MiB"}
    facts = query(fields, ", ".join(values[field] for field in fields.split(",")))
    assert each(facts, "name") == ["Strange, Card"]
    assert each(facts, "memory_total_mib") == [8192]


def test_refused_field():
    facts = query("name,compute_cap", 'Field "compute_cap" is not a valid field to query.\n\n', rc=2)
    assert facts["devices"] == []
    assert codes(facts) == ["query_field_unsupported"]


def test_errors_in_sensors_are_warnings():
    facts = query(
        "index,name,temperature.gpu,fan.speed,power.draw,memory.total",
        "0, NVIDIA RTX A6000, [Unknown Error], 30 %, 22.10 W, 49140 MiB\n"
        "1, NVIDIA RTX A6000, 33, [Unknown Error],[Unknown Error], 49140 MiB\n",
    )
    assert [codes(device) for device in facts["devices"]] == [["sensor_error"], ["sensor_error"]]
    assert "fan.speed, power.draw" in facts["devices"][1]["problems"][0]["message"]
    assert each(facts, "usable") == [True, True]
    assert each(facts, "memory_total_mib") == [49140, 49140]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("[GPU is lost]", "gpu_lost"),
        ("[GPU requires reset]", "gpu_requires_reset"),
        ("[Unknown Error]", "gpu_error"),
        ("[Insufficient Permissions]", "memory_denied"),
        ("[N/A]", "memory_not_reported"),
        ("[Not Supported]", "memory_not_reported"),
    ],
)
def test_memory_that_cannot_be_told(value, code):
    facts = query("index,name,memory.total", f"0, NVIDIA A30, {value}\n")
    assert each(facts, "memory_total_mib") == [None]
    assert codes(facts["devices"][0]) == codes(facts) == [code]
    assert each(facts, "usable") == [False]


def test_unasked_memory_is_no_problem():
    facts = query("name", "NVIDIA GB10\n")
    assert each(facts, "compute_capability") == ["12.1"]
    assert facts["problems"] == []


def test_row_that_ends_too_early():
    facts = query("index,name,memory.total", "0, Tesla P40, 23040 MiB\n1, Tesla P4")
    assert each(facts, "name") == ["Tesla P40"]
    assert codes(facts) == ["output_incomplete"]


def test_complaint_between_the_rows():
    output = "0, Tesla P40\nWARNING: infoROM is corrupted at gpu 0000:67:00.0\n1, Tesla P40\n"
    facts = query("index,name", output, rc=14)
    assert each(facts, "index") == [0, 1]
    assert codes(facts) == ["inforom_corrupted"]


def test_no_output():
    assert codes(query("index,name", "")) == ["output_unrecognised"]
