# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from smi_outputs import codes, each, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse


def test_table_of_two_v100():
    facts = parse("", recorded("table-v100-branch-535.txt"))
    assert facts["driver_version"] == "535.216.03"
    assert facts["cuda_version"] == "12.2"
    assert each(facts, "index") == [0, 1]
    assert each(facts, "pci_bus_id") == ["00000000:18:00.0", "00000000:86:00.0"]
    assert each(facts, "name") == ["Tesla V100-PCIE-32GB"] * 2
    assert each(facts, "architecture") == ["volta"] * 2
    assert each(facts, "compute_capability") == ["7.0"] * 2
    assert each(facts, "memory_total_mib") == [32768, 32768]
    assert each(facts, "memory_used_mib") == [412, 0]
    assert each(facts, "mig") == ["unsupported"] * 2
    assert each(facts, "usable") == [True, True]
    assert each(facts, "uuid") == [None, None]
    assert facts["links"] == {}
    assert facts["nvlink"] is None
    assert facts["problems"] == []


def test_old_branch_has_two_rows_a_card_no_cuda_version_and_short_names():
    facts = parse("", recorded("table-v100-branch-390.txt"))
    assert facts["driver_version"] == "390.87"
    assert facts["cuda_version"] is None
    assert each(facts, "name") == ["Tesla V100-SXM2...", "Quadro GV100"]
    assert each(facts, "compute_capability") == ["7.0", "7.0"]
    assert each(facts, "memory_total_mib") == [16160, 32506]
    assert facts["problems"] == []


def test_branch_610_names_its_versions_otherwise_and_keeps_the_complaint_before_the_table():
    facts = parse("", recorded("table-handle-error-branch-610.txt"))
    assert (facts["driver_version"], facts["cuda_version"]) == ("610.41.02", "13.3")
    assert each(facts, "name") == ["NVIDIA L40S"]
    assert codes(facts) == ["gpu_unreachable"]
    assert "2 (00000000:61:00.0)" in facts["problems"][0]["message"]


def test_cards_of_a_table_that_ends_in_a_card_are_kept():
    facts = parse("", recorded("table-cut.txt"))
    assert each(facts, "name") == ["NVIDIA L4", "Tesla T4"]
    assert each(facts, "memory_total_mib") == [23034, None]
    assert codes(facts) == ["output_incomplete"]


def test_table_that_ends_in_its_header():
    facts = parse("", "".join(recorded("table-cut.txt").splitlines(keepends=True)[:5]))
    assert facts["driver_version"] == "545.23.08"
    assert facts["devices"] == []
    assert codes(facts) == ["output_incomplete"]


def test_mig_instances_make_a_card_unusable_as_a_whole_but_are_no_fault():
    facts = parse("", recorded("table-mig-instances.txt"))
    assert each(facts, "mig") == ["enabled", "disabled"]
    assert each(facts, "memory_total_mib") == [81920, 81920]
    assert each(facts, "usable") == [False, True]
    assert codes(facts["devices"][0]) == ["mig_enabled"]
    assert "2 instances" in facts["devices"][0]["problems"][0]["message"]
    assert facts["problems"] == []


def test_mig_mode_without_an_instance_is_a_fault():
    facts = parse("", recorded("table-mig-no-instance.txt"))
    assert codes(facts) == ["mig_without_instances"]
    assert "nvidia-smi -i 00000000:17:00.0 -mig 0" in facts["problems"][0]["remedy"]
    assert each(facts, "usable") == [False]


def test_error_in_a_sensor_is_a_warning_and_error_in_all_cells_a_broken_card():
    facts = parse("", recorded("table-error-cells.txt"))
    assert [codes(device) for device in facts["devices"]] == [["sensor_error"], ["gpu_error"], ["gpu_error"]]
    assert each(facts, "usable") == [True, False, False]
    assert each(facts, "name") == ["NVIDIA A100-SXM...", None, "NVIDIA A100-SXM..."]
    assert codes(facts) == ["sensor_error", "gpu_error", "gpu_error"]


def test_vgpu_that_is_a_mig_instance_has_its_memory_in_the_instance_only():
    facts = parse("", recorded("table-vgpu-mig-backed.txt"))
    assert each(facts, "name") == ["GRID A100-3-20C"]
    assert each(facts, "compute_capability") == ["8.0"]
    assert each(facts, "memory_total_mib") == [None]
    assert each(facts, "mig") == ["enabled"]
    assert facts["problems"] == []


def test_host_driver_of_a_vgpu_manager_cannot_compute():
    facts = parse("", recorded("table-vgpu-manager.txt"))
    assert facts["cuda_version"] is None
    assert codes(facts) == ["cuda_unavailable"]
    assert each(facts, "usable") == [False]


def test_jetson_reports_neither_address_nor_memory():
    facts = parse("", recorded("table-jetson.txt"))
    assert (facts["driver_version"], facts["cuda_version"]) == (None, "12.2")
    assert each(facts, "name") == ["Orin (nvgpu)"]
    assert each(facts, "pci_bus_id") == [None]
    assert each(facts, "compute_capability") == ["8.7"]
    assert each(facts, "memory_total_mib") == [None]
    assert codes(facts) == ["memory_not_reported"]


def test_wsl_shows_the_driver_of_windows():
    facts = parse("", recorded("table-wsl.txt"))
    assert facts["driver_version"] == "560.94"
    assert each(facts, "name") == ["NVIDIA GeForce RTX 3060 Ti"]
    assert each(facts, "compute_capability") == ["8.6"]
    assert facts["problems"] == []


def test_process_rows_and_a_corrupted_inforom_after_the_table():
    output = recorded("table-v100-branch-535.txt") + "WARNING: infoROM is corrupted at gpu 0000:18:00.0\n"
    facts = parse("", output, 14)
    assert len(facts["devices"]) == 2
    assert codes(facts) == ["inforom_corrupted"]
    assert "00000000:18:00.0" in facts["problems"][0]["message"]


@pytest.mark.parametrize("ending", ["\r\n", "\n\n"])
def test_line_ends_of_a_terminal(ending):
    facts = parse("", recorded("table-v100-branch-535.txt").replace("\n", ending))
    assert each(facts, "memory_used_mib") == [412, 0]
    assert facts["problems"] == []
