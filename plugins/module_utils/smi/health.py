# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver's log says of a card's health: its memory, what slows it, what waits for a reset. Rules are data.

Errors of long ago (aggregate counts) that left a card whole are no illness: what lasts of them are the pages and rows
that were replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from . import values
from .problems import problem
from .reading import Problem

# Of the 64 pages that a card before Ampere can replace in its life (NVIDIA, Dynamic Page Retirement, FAQ, as quoted in
# https://github.com/stas00/ml-engineering/pull/49); few are left then. Azure's diagnostics report a card at 60
# too, there of double bit errors alone (https://github.com/Azure/azhpc-diagnostics/pull/40).
MOST_RETIRED_PAGES = 60

_NUMBER = re.compile(r"[0-9]{1,12}")
_RECOVERY = re.compile(r"reset|reboot", re.IGNORECASE)

Lookup = Callable[[str], "str | None"]


class Sign(NamedTuple):
    """``places`` are (path below XML's <gpu>, path of the indented text): one or the other by branch and architecture.

    A card is ill when more than ``most`` are counted there, or, where ``word`` is given, when one of them says it.
    """

    code: str
    says: str
    places: tuple[tuple[str, str], ...]
    most: int = 0
    word: str = ""


def _reason(name: str) -> tuple[tuple[str, str], ...]:
    """The place of a reason why clocks are slow; branch 535 renamed them."""
    tag = name.lower().replace(" ", "_")
    return tuple(
        (f"clocks_{kind}_reasons/clocks_{kind}_reason_{tag}", f"clocks {kind} reasons/{name.lower()}")
        for kind in ("throttle", "event")
    )


# hw_slowdown alone tells nothing: it is also set while clocks change. A power cap is how a busy card works.
SIGNS = (
    Sign(
        "memory_errors",
        "{count} since the driver was loaded",
        (
            ("ecc_errors/volatile/double_bit/total", "ecc errors/volatile/double bit/total"),
            ("ecc_errors/volatile/sram_uncorrectable", "ecc errors/volatile/sram uncorrectable"),
            ("ecc_errors/volatile/sram_uncorrectable_parity", "ecc errors/volatile/sram uncorrectable parity"),
            ("ecc_errors/volatile/sram_uncorrectable_secded", "ecc errors/volatile/sram uncorrectable sec-ded"),
            ("ecc_errors/volatile/dram_uncorrectable", "ecc errors/volatile/dram uncorrectable"),
        ),
    ),
    Sign(
        "memory_worn",
        "{count} retired pages of 64",
        (
            ("retired_pages/multiple_single_bit_retirement/retired_count", "retired pages/single bit ecc"),
            ("retired_pages/double_bit_retirement/retired_count", "retired pages/double bit ecc"),
        ),
        most=MOST_RETIRED_PAGES - 1,
    ),
    Sign(
        "memory_worn",
        "remapping a row has failed",
        (("remapped_rows/remapped_row_failure", "remapped rows/remapping failure occurred"),),
        word="yes",
    ),
    Sign(
        "memory_repair_pending",
        "pending since the last error",
        (
            ("retired_pages/pending_blacklist", "retired pages/pending page blacklist"),
            ("retired_pages/pending_retirement", "retired pages/pending page retirement"),
            ("remapped_rows/remapped_row_pending", "remapped rows/pending"),
        ),
        word="yes",
    ),
    Sign("slowed_by_heat", "HW Thermal Slowdown is active", _reason("HW Thermal Slowdown"), word="active"),
    Sign("slowed_by_heat", "SW Thermal Slowdown is active", _reason("SW Thermal Slowdown"), word="active"),
    Sign("slowed_by_power", "HW Power Brake Slowdown is active", _reason("HW Power Brake Slowdown"), word="active"),
)


def health(lookup: Lookup, form: int, address: str | None, index: int | None) -> list[Problem]:
    """The problems of a card by its block of the log. ``form`` is 0 for XML and 1 for text."""
    found: dict[str, Problem] = {}
    for sign in SIGNS:
        said = [value.strip().lower() for places in sign.places if (value := lookup(places[form]))]
        count = sum(int(value) for value in said if _NUMBER.fullmatch(value))
        if sign.word in said if sign.word else count > sign.most:
            found.setdefault(sign.code, problem(sign.code, sign.says.format(count=count), address, index))
    return list(found.values())


def readiness(told: dict[str, str], address: str | None, index: int | None) -> list[Problem]:
    """What a card waits for: a reset that is due, another MIG mode, an NVSwitch fabric that is not up."""
    found = []
    action = told.get("recovery_action", "")
    if told.get("reset_required", "").lower() == "yes":
        found.append(problem("gpu_requires_reset", "Reset Required: Yes", address, index))
    elif _RECOVERY.search(action):
        found.append(problem("gpu_requires_reset", f"GPU Recovery Action: {action}", address, index))
    now, next_mode = values.known(told.get("mig")), values.known(told.get("mig_pending"))
    if now and next_mode and now != next_mode:
        found.append(problem("mig_change_pending", f"{now} now, {next_mode} after its next reset", address, index))
    state, status = values.known(told.get("fabric_state")), values.known(told.get("fabric_status"))
    if state and (state.lower() != "completed" or (status and status.lower() != "success")):
        found.append(problem("fabric_not_ready", f"state {state}, status {status or 'unknown'}", address, index))
    return found
