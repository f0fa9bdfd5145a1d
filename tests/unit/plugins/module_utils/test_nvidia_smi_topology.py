# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from smi_outputs import codes, each, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse

RING = {"0-1": "NV2", "0-2": "NV1", "0-3": "SYS", "1-2": "SYS", "1-3": "NV1", "2-3": "NV2"}


def words(facts):
    return {pair: link["topology"] for pair, link in facts["links"].items()}


def nvlinks(facts):
    return {pair: link["nvlinks"] for pair, link in facts["links"].items()}


def matrix(word, cards=4, separator="\t", corner=""):
    """A topo -m of as many cards, the same word between all of them."""
    header = separator.join([corner, *(f"GPU{n}" for n in range(cards)), "CPU Affinity", "NUMA Affinity"])
    rows = [
        separator.join([f"GPU{row}", *("X" if row == column else word for column in range(cards)), "0-15", "0"])
        for row in range(cards)
    ]
    return "\n".join([header, *rows, ""])


def test_ring_of_four():
    facts = parse("topo -m", recorded("topo-v100-ring.txt"))
    assert each(facts, "index") == [0, 1, 2, 3]
    assert words(facts) == RING
    assert nvlinks(facts) == {"0-1": 2, "0-2": 1, "0-3": 0, "1-2": 0, "1-3": 1, "2-3": 2}
    assert facts["nvlink"] == "partial"
    assert facts["links"]["0-1"]["p2p_read"] is None
    assert facts["problems"] == []


@pytest.mark.parametrize(
    ("word", "count", "nvlink"), [("NV18", 18, "full"), ("NODE", 0, "none"), ("PHB", 0, "none"), ("SOC", 0, "none")]
)
def test_words_for_links(word, count, nvlink):
    facts = parse("topo -m", matrix(word))
    assert set(words(facts).values()) == {word}
    assert set(nvlinks(facts).values()) == {count}
    assert facts["nvlink"] == nvlink


def test_word_of_a_newer_driver_is_kept_and_counts_as_unknown():
    facts = parse("topo -m", matrix("C2C", 2))
    assert facts["links"] == {"0-1": {"topology": "C2C", "nvlinks": None, "p2p_read": None}}
    assert facts["nvlink"] is None


@pytest.mark.parametrize(
    "output",
    [
        matrix("NV6", 16, "     "),
        matrix("NV6", 16, corner="     "),
        matrix("NV6", 16).lstrip("\t"),
        matrix("NV6", 16).replace("\tGPU0\t", "\t\x1b[4mGPU0\t").replace("NUMA Affinity", "NUMA Affinity\x1b[0m"),
    ],
    ids=["spaces", "spaces before the header", "lost TAB before the header", "colours"],
)
def test_forms_of_the_header(output):
    facts = parse("topo -m", output)
    assert len(facts["links"]) == 120
    assert facts["links"]["9-15"]["nvlinks"] == 6
    assert facts["nvlink"] == "full"
    assert facts["problems"] == []


def test_columns_that_a_terminal_glued_together():
    output = recorded("topo-v100-ring.txt").replace("GPU3\tmlx5_0", "GPU3mlx5_0").replace("SYS\tNV1\tPIX", "SYSNV1PIX")
    assert words(parse("topo -m", output)) == RING


def test_half_a_matrix_is_enough():
    rows = recorded("topo-v100-ring.txt").splitlines()
    assert words(parse("topo -m", "\n".join([*rows[:4], rows[5]]))) == RING


def test_incomplete_matrix_is_not_guessed():
    rows = recorded("topo-v100-ring.txt").splitlines()
    facts = parse("topo -m", "\n".join([*rows[:2], "GPU1\tNV2\t X \tSYS"]))
    assert each(facts, "index") == [0, 1, 2, 3]
    assert words(facts) == {**RING, "1-3": None, "2-3": None}
    assert nvlinks(facts)["2-3"] is None
    assert facts["nvlink"] is None
    assert codes(facts) == ["output_incomplete"]
    assert "lacks 2 pairs" in facts["problems"][0]["message"]


def test_matrix_without_its_header():
    facts = parse("topo -m", "\n".join(recorded("topo-v100-ring.txt").splitlines()[1:5]))
    assert words(facts) == RING


def test_one_card_has_no_links():
    facts = parse("topo -m", matrix("", 1))
    assert facts["links"] == {}
    assert facts["nvlink"] == "none"
    assert facts["problems"] == []


@pytest.mark.parametrize(
    "output", ["ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.\n", ""]
)
def test_driver_without_a_matrix(output):
    facts = parse("topo -m", output, 255)
    assert facts["links"] == {}
    assert facts["nvlink"] is None
    assert codes(facts) == ["topology_unavailable"]
    assert "exit code 255" in facts["problems"][0]["message"]


def test_matrix_of_more_cards_than_any_host_has():
    facts = parse("topo -m", " ".join(f"GPU{n}" for n in range(999)))
    assert facts["links"] == {}
    assert codes(facts) == ["topology_unavailable"]


@pytest.mark.parametrize(
    ("word", "readable"),
    [("OK", True), ("CNS", False), ("GNS", False), ("TNS", False), ("NS", False), ("DR", False), ("U", None)],
)
def test_peer_access(word, readable):
    output = (
        f" \tGPU0\tGPU1\t\n GPU0\tX\t{word}\t\n GPU1\t{word}\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    )
    facts = parse("topo -p2p r", output)
    assert facts["links"] == {"0-1": {"topology": None, "nvlinks": None, "p2p_read": readable}}
    assert facts["nvlink"] is None
    assert facts["problems"] == []


def test_environment_that_follows_the_legend():
    facts = parse("topo -m", recorded("topo-v100-ring.txt") + "\nNCCL_P2P_DISABLE=1\nCUDA_VISIBLE_DEVICES=GPU0\n")
    assert words(facts) == RING
