# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

"""What is asked of a driver, and what becomes of its answers together with the PCI bus."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smi_outputs import codes, each, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import read
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.gather import QUERY_FIELDS, gather
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.pci import Host, PciCard
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.problems import problem
from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.reading import Reading

FIRST, SECOND, THIRD = "00000000:18:00.0", "00000000:86:00.0", "00000000:AF:00.0"
UUIDS = ["GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c01", "GPU-7a0c2e11-93d4-4c0f-8a55-51d1f3a90c02"]
V100 = 0x1DB6
QUERY = f"--query-gpu={','.join(QUERY_FIELDS)} --format=csv,noheader"
ROWS = (
    f"0, {UUIDS[0]}, {FIRST}, 32768 MiB, 412 MiB, 580.65.06, [N/A], 7.0, Tesla V100-PCIE-32GB\n"
    f"1, {UUIDS[1]}, {SECOND}, 32768 MiB, 0 MiB, 580.65.06, [N/A], 7.0, Tesla V100-PCIE-32GB\n"
)
TOPO = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-15\nGPU1\tSYS\t X \t16-31\n"
P2P = " \tGPU0\tGPU1\t\n GPU0\tX\tCNS\t\n GPU1\tCNS\tX\t\n"
HEALTHY = {"-q -x": recorded("xml-v100-pcie-2x.xml"), QUERY: ROWS, "topo -m": TOPO, "topo -p2p r": P2P}
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n"
LOST = f"Unable to determine the device handle for GPU {SECOND}: GPU is lost.  Reboot the system to recover this GPU\n"
TWO_ON_BUS = Host(cards=(PciCard(FIRST, V100, "nvidia"), PciCard(SECOND, V100, "nvidia")))


class Driver:
    """Answers by argument string, everything else with ``other``; remembers what it was asked."""

    def __init__(self, answers, other=("Invalid combination of input arguments.\n", 255)):
        self.answers, self.other, self.asked = answers, other, []

    def __call__(self, command):
        self.asked.append(command)
        answer = self.answers.get(command, self.other)
        if isinstance(answer, Reading):
            return answer
        output, rc = (answer, 0) if isinstance(answer, str) else answer
        return read(command, output, rc)


def hung():
    return Reading(problems=[problem("nvidia_smi_timeout", "no answer within 60 s")])


def test_healthy_host_is_asked_four_questions():
    driver = Driver(HEALTHY)
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked == ["-q -x", QUERY, "topo -m", "topo -p2p r"]
    assert facts == {
        "driver_version": "580.65.06",
        "cuda_version": "13.0",
        "devices": [
            {
                "index": index,
                "uuid": UUIDS[index],
                "pci_bus_id": (FIRST, SECOND)[index],
                "name": "Tesla V100-PCIE-32GB",
                "architecture": "volta",
                "compute_capability": "7.0",
                "memory_total_mib": 32768,
                "memory_used_mib": (412, 0)[index],
                "mig": "unsupported",
                "usable": True,
                "problems": [],
            }
            for index in (0, 1)
        ],
        "links": {"0-1": {"topology": "SYS", "nvlinks": 0, "p2p_read": False}},
        "nvlink": "none",
        "problems": [],
    }


def test_one_card_has_no_links_to_ask_for():
    driver = Driver({"-q -x": recorded("xml-gb200-domain.xml")})
    facts = gather(driver, Host())
    assert driver.asked == ["-q -x", QUERY]
    assert facts["links"] == {}
    assert facts["nvlink"] == "none"


def test_refused_fields_cost_nothing_else():
    newer = QUERY.replace("compute_cap,", "")
    older = newer.replace("mig.mode.current,", "")
    driver = Driver(
        {
            **HEALTHY,
            QUERY: ('Field "compute_cap" is not a valid field to query.\n\n', 2),
            newer: ('Field "mig.mode.current" is not a valid field to query.\n\n', 2),
            older: ROWS.replace(" [N/A], 7.0,", ""),
        }
    )
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked[1:4] == [QUERY, newer, older]
    assert each(facts, "compute_capability") == ["7.0", "7.0"]
    assert facts["problems"] == []


def test_refused_capability_stays_a_problem_where_nothing_else_tells_it():
    newer = QUERY.replace("compute_cap,", "")
    rows = ROWS.replace(" 7.0,", "").replace("Tesla V100-PCIE-32GB", "Graphics Device")
    driver = Driver({QUERY: ('Field "compute_cap" is not a valid field to query.\n', 2), newer: rows})
    facts = gather(driver, Host())
    assert each(facts, "compute_capability") == [None, None]
    assert "query_field_unsupported" in codes(facts)


def test_device_id_of_the_bus_tells_the_capability_where_nothing_else_does():
    newer = QUERY.replace("compute_cap,", "")
    rows = ROWS.replace(" 7.0,", "").replace("Tesla V100-PCIE-32GB", "Graphics Device")
    driver = Driver(
        {**HEALTHY, "-q -x": "", QUERY: ('Field "compute_cap" is not a valid field to query.\n', 2), newer: rows}
    )
    facts = gather(driver, TWO_ON_BUS)
    assert each(facts, "compute_capability") == ["7.0", "7.0"]
    assert facts["problems"] == []


def test_list_and_table_where_neither_log_nor_query_answers():
    driver = Driver(
        {
            "-L": f"GPU 0: Tesla V100-PCIE-32GB (UUID: {UUIDS[0]})\nGPU 1: Tesla V100-PCIE-32GB (UUID: {UUIDS[1]})\n",
            "": recorded("table-v100-branch-535.txt"),
            "topo -m": TOPO,
            "topo -p2p r": P2P,
        }
    )
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked == ["-q -x", QUERY, "-L", "", "topo -m", "topo -p2p r"]
    assert each(facts, "uuid") == UUIDS
    assert each(facts, "memory_total_mib") == [32768, 32768]
    assert each(facts, "pci_bus_id") == [FIRST, SECOND]
    assert facts["problems"] == []


def test_list_alone_gets_its_addresses_in_the_order_of_the_bus():
    driver = Driver({"-L": f"GPU 0: A (UUID: {UUIDS[0]})\nGPU 1: B (UUID: {UUIDS[1]})\n"})
    facts = gather(driver, TWO_ON_BUS)
    assert each(facts, "pci_bus_id") == [FIRST, SECOND]
    assert each(facts, "compute_capability") == ["7.0", "7.0"]


def test_cut_log_is_made_good_by_the_query():
    output = recorded("xml-v100-pcie-2x.xml")
    driver = Driver({**HEALTHY, "-q -x": output[: len(output) // 2]})
    facts = gather(driver, TWO_ON_BUS)
    assert len(facts["devices"]) == 2
    assert facts["problems"] == []


def test_cut_log_that_nothing_makes_good():
    output = recorded("xml-v100-pcie-2x.xml")
    driver = Driver({"-q -x": output[: output.index("</gpu>") + 6]})
    facts = gather(driver, Host())
    assert len(facts["devices"]) == 1
    assert "output_incomplete" in codes(facts)


def test_driver_as_a_whole_is_asked_once_and_the_bus_tells_the_cards():
    driver = Driver({}, (MISMATCH, 18))
    facts = gather(driver, Host(TWO_ON_BUS.cards, "580.65.06"))
    assert driver.asked == ["-q -x"]
    assert facts["driver_version"] == "580.65.06"
    assert each(facts, "index") == [0, 1]
    assert each(facts, "pci_bus_id") == [FIRST, SECOND]
    assert each(facts, "name") == ["Tesla V100-PCIE-32GB"] * 2
    assert each(facts, "compute_capability") == ["7.0", "7.0"]
    assert each(facts, "memory_total_mib") == [None, None]
    assert each(facts, "usable") == [False, False]
    assert codes(facts["devices"][1]) == codes(facts) == ["driver_library_mismatch"]
    assert facts["links"] == {}
    assert facts["nvlink"] is None


@pytest.mark.parametrize(
    ("holder", "version", "code"),
    [
        (None, None, "driver_not_loaded"),
        ("nouveau", None, "gpu_not_driven"),
        ("vfio-pci", None, "gpu_passed_through"),
        (None, "590.44.01", "driver_too_new"),
    ],
)
def test_why_the_driver_does_not_show_a_card_of_the_bus(holder, version, code):
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    facts = gather(Driver({}, (text, 9)), Host((PciCard(FIRST, V100, holder),), version))
    assert codes(facts["devices"][0]) == [code]
    assert each(facts, "usable") == [False]
    assert codes(facts)[0] == "driver_not_loaded"


def test_no_card_and_no_driver():
    facts = gather(Driver({}, ("bash: nvidia-smi: command not found\n", 127)), Host())
    assert facts["devices"] == []
    assert codes(facts) == ["no_gpu"]
    assert "command not found" in facts["problems"][0]["message"]


def test_card_that_is_passed_through_is_no_fault_of_the_host():
    host = Host((*TWO_ON_BUS.cards, PciCard(THIRD, V100, "vfio-pci")))
    facts = gather(Driver(HEALTHY), host)
    assert each(facts, "index") == [0, 1, 2]
    assert codes(facts["devices"][2]) == ["gpu_passed_through"]
    assert list(facts["links"]) == ["0-1"]
    assert facts["nvlink"] == "none"
    assert facts["problems"] == []


def test_card_that_the_driver_holds_and_does_not_list():
    host = Host((*TWO_ON_BUS.cards, PciCard(THIRD, V100, "nvidia")))
    driver = Driver({**HEALTHY, f"-q -x -i {THIRD}": ("No devices were found\n", 6)})
    facts = gather(driver, host)
    assert f"-q -x -i {THIRD}" in driver.asked
    assert "topo -m" in driver.asked
    assert codes(facts["devices"][2]) == ["gpu_not_listed"]
    assert each(facts, "usable") == [True, True, False]


def test_lost_card_is_listed_with_its_number_and_the_others_stay_usable():
    rows = ROWS.replace(f"1, {UUIDS[1]}, {SECOND}", f"2, {UUIDS[1]}, {THIRD}")
    output = recorded("xml-v100-pcie-2x.xml").replace(SECOND, THIRD).replace("<attached_gpus>2", "<attached_gpus>3")
    driver = Driver({**HEALTHY, "-q -x": (LOST + output, 15), QUERY: (LOST + rows, 15)})
    host = Host(tuple(PciCard(address, V100, "nvidia") for address in (FIRST, SECOND, THIRD)))
    facts = gather(driver, host)
    assert each(facts, "index") == [0, 1, 2]
    assert each(facts, "pci_bus_id") == [FIRST, SECOND, THIRD]
    assert each(facts, "usable") == [True, False, True]
    assert codes(facts["devices"][1]) == codes(facts) == ["gpu_lost"]
    assert facts["devices"][1]["name"] == "Tesla V100-PCIE-32GB"
    assert list(facts["links"]) == ["0-2"]


def test_cards_are_asked_for_one_by_one_where_a_lost_one_stops_the_tool():
    alone = recorded("xml-v100-pcie-2x.xml").partition('\t<gpu id="00000000:86')[0] + "</nvidia_smi_log>"
    driver = Driver({f"-q -x -i {FIRST}": alone}, (LOST, 15))
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked == ["-q -x", QUERY, "-L", "", f"-q -x -i {FIRST}"]
    assert each(facts, "index") == [0, 1]
    assert each(facts, "uuid") == [UUIDS[0], None]
    assert each(facts, "usable") == [True, False]
    assert codes(facts) == ["gpu_lost"]


def test_driver_that_hangs_twice_is_left_alone():
    driver = Driver({}, hung())
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked == ["-q -x", QUERY]
    assert codes(facts) == ["nvidia_smi_timeout"]
    assert each(facts, "usable") == [False, False]


def test_hang_stays_a_problem_though_another_source_answers():
    driver = Driver({**HEALTHY, "-q -x": hung()})
    facts = gather(driver, TWO_ON_BUS)
    assert each(facts, "usable") == [True, True]
    assert codes(facts) == ["nvidia_smi_timeout"]


def test_links_without_a_matrix():
    names = "".join(
        f"GPU {n}: Tesla V100-PCIE-32GB (UUID: {uuid})\nNVML: Unable to retrieve NVLink information as all links "
        "are inActive\n"
        for n, uuid in enumerate(UUIDS)
    )
    driver = Driver({"-q -x": HEALTHY["-q -x"], QUERY: ROWS, "nvlink -s": names})
    facts = gather(driver, TWO_ON_BUS)
    assert driver.asked[-3:] == ["topo -m", "topo -p2p r", "nvlink -s"]
    assert facts["links"] == {"0-1": {"topology": None, "nvlinks": None, "p2p_read": None}}
    assert facts["nvlink"] == "none"
    assert codes(facts) == ["topology_unavailable", "topology_unavailable"]


def test_peer_access_of_geforce_counts_only_over_nvlink():
    answers = {key: text.replace("Tesla V100-PCIE-32GB", "NVIDIA GeForce RTX 3090") for key, text in HEALTHY.items()}
    answers["topo -p2p r"] = P2P.replace("CNS", "OK")
    assert gather(Driver(answers), Host())["links"]["0-1"]["p2p_read"] is False
    answers["topo -m"] = TOPO.replace("SYS", "NV4")
    assert gather(Driver(answers), Host())["links"]["0-1"]["p2p_read"] is True
    assert (
        gather(Driver({**HEALTHY, "topo -p2p r": P2P.replace("CNS", "OK")}), Host())["links"]["0-1"]["p2p_read"] is True
    )


def test_integrated_chip_has_the_system_s_memory():
    rows = "0, [N/A], [N/A], [N/A], [N/A], 580.159.03, [N/A], 12.1, NVIDIA GB10\n"
    facts = gather(Driver({QUERY: rows}), Host(memory_total_mib=122570))
    assert each(facts, "memory_total_mib") == [122570]
    assert each(facts, "usable") == [True]
    assert facts["problems"] == []
    facts = gather(
        Driver({QUERY: rows.replace("12.1, NVIDIA GB10", "8.0, NVIDIA A100")}), Host(memory_total_mib=122570)
    )
    assert each(facts, "memory_total_mib") == [None]
    assert codes(facts) == ["memory_not_reported"]


def test_wsl_has_cards_that_are_on_no_bus():
    facts = gather(Driver({"": recorded("table-wsl.txt")}), Host())
    assert each(facts, "name") == ["NVIDIA GeForce RTX 3060 Ti"]
    assert each(facts, "usable") == [True]


ANSWERS = st.sampled_from(
    [
        *HEALTHY.values(),
        recorded("table-mig-instances.txt"),
        recorded("xml-hgx-fabric.xml"),
        LOST,
        MISMATCH,
        "",
        TOPO * 3,
    ]
)
CARDS = st.lists(
    st.builds(
        PciCard,
        st.sampled_from([FIRST, SECOND, THIRD]),
        st.integers(0, 0xFFFF),
        st.sampled_from([None, "nvidia", "vfio-pci"]),
    ),
    max_size=3,
    unique_by=lambda card: card.pci_bus_id,
)


@settings(max_examples=200, derandomize=True)
@given(data=st.data(), cards=CARDS)
def test_any_answers_give_numbered_cards_and_an_end_of_questions(data, cards):
    asked = []

    def ask(command):
        asked.append(command)
        reading = data.draw(
            st.one_of(st.builds(read, st.just(command), ANSWERS, st.sampled_from([0, 255])), st.builds(hung))
        )
        return reading

    facts = gather(ask, Host(tuple(cards), "580.1"))
    indexes = each(facts, "index")
    assert indexes == sorted(set(indexes))
    assert all(isinstance(index, int) for index in indexes)
    assert {card.pci_bus_id for card in cards} <= set(each(facts, "pci_bus_id")) or None in each(facts, "pci_bus_id")
    assert len(asked) < 12
    for device in facts["devices"]:
        assert device["usable"] or device["problems"]
