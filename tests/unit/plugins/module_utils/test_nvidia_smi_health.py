# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a card's log says of its health, in the forms that branches and architectures give it."""

from __future__ import annotations

from typing import Any

import pytest
from smi_outputs import codes, recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_smi import parse


def card(xml: str, form: str = "xml") -> dict[str, Any]:
    """A card whose log holds this as well."""
    if form == "xml":
        facts = parse("-q -x", recorded("xml-v100-pcie-2x.xml").replace("\t\t<temperature>", f"{xml}<temperature>", 1))
    else:
        facts = parse(
            "-q", recorded("text-v100-old-layout.txt").replace("    Temperature\n", f"{xml}    Temperature\n")
        )
    return facts["devices"][0]


def element(path: str, value: str) -> str:
    tags = path.split("/")
    return "".join(f"<{tag}>" for tag in tags) + value + "".join(f"</{tag}>" for tag in reversed(tags))


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("retired_pages/double_bit_retirement/retired_count", "60", "memory_worn"),
        ("retired_pages/pending_blacklist", "Yes", "memory_repair_pending"),
        ("retired_pages/pending_retirement", "Yes", "memory_repair_pending"),
        ("remapped_rows/remapped_row_pending", "Yes", "memory_repair_pending"),
        ("remapped_rows/remapped_row_failure", "Yes", "memory_worn"),
        ("clocks_throttle_reasons/clocks_throttle_reason_hw_thermal_slowdown", "Active", "slowed_by_heat"),
        ("clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown", "Active", "slowed_by_heat"),
        ("clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown", "Active", "slowed_by_power"),
    ],
)
def test_ill_card(path: str, value: str, code: str) -> None:
    device = card(element(path, value))
    assert codes(device) == [code]
    assert device["usable"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("retired_pages/double_bit_retirement/retired_count", "59"),
        ("retired_pages/double_bit_retirement/retired_count", "N/A"),
        ("retired_pages/pending_blacklist", "No"),
        ("remapped_rows", "N/A"),
        ("remapped_rows/remapped_row_unc", "4"),
        ("clocks_event_reasons/clocks_event_reason_sw_power_cap", "Active"),
        ("clocks_event_reasons/clocks_event_reason_hw_slowdown", "Active"),
        ("clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", "Not Active"),
    ],
)
def test_card_with_nothing_to_say_of(path: str, value: str) -> None:
    assert codes(card(element(path, value))) == []


@pytest.mark.parametrize(
    "errors",
    [
        "<single_bit><total>7</total></single_bit><double_bit><total>3</total></double_bit>",
        "<dram_correctable>7</dram_correctable><sram_uncorrectable>1</sram_uncorrectable>"
        "<dram_uncorrectable>2</dram_uncorrectable>",
        "<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>N/A"
        "</sram_uncorrectable_secded><dram_uncorrectable>2</dram_uncorrectable>",
    ],
    ids=["volta", "turing", "hopper"],
)
def test_errors_that_were_not_corrected_are_counted_since_the_driver_was_loaded(errors: str) -> None:
    log = recorded("xml-v100-pcie-2x.xml").replace(
        "<single_bit>\n\t\t\t\t\t<total>0</total>\n\t\t\t\t</single_bit>", errors
    )
    (problem,) = parse("-q -x", log)["devices"][0]["problems"]
    assert problem["code"] == "memory_errors"
    assert "3 since the driver was loaded" in problem["message"]
    assert "nvidia-smi --gpu-reset -i 00000000:18:00.0" in problem["remedy"]


def test_errors_of_long_ago_are_no_illness() -> None:
    assert (
        codes(card("<ecc_errors><aggregate><double_bit><total>3</total></double_bit></aggregate></ecc_errors>")) == []
    )


def test_text_tells_the_same() -> None:
    lines = [
        "    Retired Pages",
        "        Single Bit ECC                    : 58",
        "        Double Bit ECC                    : 2",
        "        Pending Page Blacklist            : Yes",
        "    Clocks Throttle Reasons",
        "        HW Slowdown                       : Active",
        "            HW Thermal Slowdown           : Active",
    ]
    device = card("".join(f"{line}\n" for line in lines), "text")
    assert codes(device) == ["memory_worn", "memory_repair_pending", "slowed_by_heat"]
    assert "60 retired pages of 64" in device["problems"][0]["message"]


def test_mig_mode_that_changes_at_the_next_reset() -> None:
    log = recorded("xml-a100-mig.xml").replace("<pending_mig>Enabled", "<pending_mig>Disabled", 1)
    problems = parse("-q -x", log)["devices"][0]["problems"]
    assert [problem["code"] for problem in problems] == ["mig_change_pending", "mig_enabled"]
    assert "Enabled now, Disabled after its next reset" in problems[0]["message"]
