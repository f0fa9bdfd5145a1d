# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.merge import merge, numbered
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.problems import problem
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.reading import Device, Link, Reading

FIRST, SECOND = "00000000:18:00.0", "00000000:86:00.0"


def test_cards_are_joined_by_address_whatever_their_numbers():
    query = Reading(devices=[Device(index=2, pci_bus_id=FIRST, memory_total_mib=32768)])
    log = Reading(devices=[Device(index=0, pci_bus_id=FIRST, architecture="volta", memory_total_mib=1)])
    (device,) = merge([query, log]).devices
    assert (device.index, device.architecture, device.memory_total_mib) == (2, "volta", 32768)


def test_azure_s_addresses_differ_in_the_domain_only():
    devices = [Device(index=0, pci_bus_id="00000001:00:00.0"), Device(index=1, pci_bus_id="00000002:00:00.0")]
    assert len(merge([Reading(devices=devices), Reading(devices=devices)]).devices) == 2


def test_cards_are_joined_by_uuid_and_by_number_where_an_address_is_missing():
    table = Reading(devices=[Device(index=0, pci_bus_id=FIRST, name="Tesla V100-PCIE...")])
    names = Reading(devices=[Device(index=0, uuid="GPU-1", name="Tesla V100-PCIE-16GB")])
    links = Reading(devices=[Device(index=5, uuid="GPU-1", memory_used_mib=3)])
    (device,) = merge([table, names, links]).devices
    assert device == Device(0, "GPU-1", FIRST, "Tesla V100-PCIE-16GB", memory_used_mib=3)


def test_whole_name_wins_over_a_cut_one():
    cut, whole = (
        Reading(devices=[Device(index=0, name="NVIDIA A100-SXM...")]),
        Reading(devices=[Device(0, name="NVIDIA X")]),
    )
    assert merge([cut, whole]).devices[0].name == "NVIDIA X"
    assert merge([whole, cut]).devices[0].name == "NVIDIA X"
    assert merge([cut, cut]).devices[0].name == "NVIDIA A100-SXM..."


def test_equal_cards_of_one_reading_stay_apart():
    hidden = [Device(index=0, uuid="GPU-0"), Device(index=1, uuid="GPU-0")]
    assert len(merge([Reading(devices=hidden)]).devices) == 2


def test_number_alone_is_no_card_where_cards_are_known():
    matrix = Reading(devices=[Device(index=0), Device(index=1)])
    assert [d.index for d in merge([matrix]).devices] == [0, 1]
    assert [d.index for d in merge([Reading(devices=[Device(index=0, uuid="GPU-1")]), matrix]).devices] == [0]


def test_numbers_are_unique_and_gaps_are_filled_in_the_order_of_the_bus():
    devices = [
        Device(index=2, uuid="GPU-2"),
        Device(pci_bus_id=SECOND),
        Device(index=0, uuid="GPU-0"),
        Device(index=2, uuid="GPU-double"),
        Device(pci_bus_id=FIRST),
    ]
    assert [(d.index, d.uuid or d.pci_bus_id) for d in numbered(devices)] == [
        (0, "GPU-0"),
        (1, "GPU-double"),
        (2, "GPU-2"),
        (3, FIRST),
        (4, SECOND),
    ]


def test_links_of_both_matrices():
    ways = Reading(links={(0, 1): Link("NV2", 2)}, nvlink="full")
    peers = Reading(links={(0, 1): Link(p2p_read=True)})
    for order in ([ways, peers], [peers, ways]):
        merged = merge(order)
        assert merged.links == {(0, 1): Link("NV2", 2, True)}
        assert merged.nvlink == "full"


def test_unknown_pair_leaves_nvlink_unknown_unless_no_card_has_an_active_link():
    links = {(0, 1): Link("NV2", 2), (0, 2): Link(), (1, 2): Link()}
    assert merge([Reading(links=links)]).nvlink is None
    peers = Reading(links={(0, 1): Link(p2p_read=False)})
    assert merge([peers, Reading(nvlink="none")]).nvlink == "none"


def test_versions_come_from_the_first_that_has_them_and_problems_are_told_once():
    lost = problem("gpu_lost", "…", FIRST)
    merged = merge(
        [
            Reading(problems=[lost]),
            Reading(driver_version="580.1", cuda_version="13.0"),
            Reading("570.1", problems=[lost]),
        ]
    )
    assert (merged.driver_version, merged.cuda_version) == ("580.1", "13.0")
    assert merged.problems == [lost]


def test_fault_of_a_card_is_told_once_however_many_sources_tell_it():
    first = Reading(devices=[Device(index=0, problems=[problem("sensor_error", "fan", index=0)])])
    second = Reading(devices=[Device(index=0, problems=[problem("sensor_error", "power", index=0)])])
    assert [p.code for p in merge([first, second]).devices[0].problems] == ["sensor_error"]
