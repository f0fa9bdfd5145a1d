# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi -L`` and ``nvidia-smi nvlink -s``: cards as ``GPU 0: <name> (UUID: …)``, each with details below it."""

from __future__ import annotations

import re
from dataclasses import replace

from . import values
from .problems import problem, sift
from .reading import MAX_DEVICES, Device, Problem, Reading

# Without UUIDs some tools list cards of one name together: "GPU 0,1: Tesla V100-PCIE-32GB".
_CARDS = re.compile(r"\s{0,8}GPU ([0-9]{1,3}(?:,[0-9]{1,3}){0,127}): (.*)")
_UUID_PART = re.compile(r"\s*\(UUID:[^)]*\)?\s*$")
_INSTANCE = re.compile(r"\s{1,8}MIG \S+\s+Device\s+[0-9]+:")
_LINK = re.compile(r"\s*Link [0-9]{1,2}: ")
_NO_LINK = re.compile(r"all links are inactive|<inactive>|not supported", re.IGNORECASE)
_LINE_LENGTH = 1000


def _cards(line: str) -> list[Device]:
    match = _CARDS.match(line)
    if not match:
        return []
    name, uuid = values.known(_UUID_PART.sub("", match[2])), values.uuid(match[2])
    return [Device(index=int(number), name=name, uuid=uuid) for number in match[1].split(",")]


def _unread(lines: list[str]) -> Problem:
    return problem("output_unrecognised", next((line for line in lines if line.strip()), "no output"))


def read_list(output: str) -> Reading:
    """``-L``: names and UUIDs, and the number of MIG instances of the cards that have some."""
    lines, problems = sift(output)
    reading = Reading(problems=problems)
    for line in lines:
        reading.devices += _cards(line[:_LINE_LENGTH])[: MAX_DEVICES - len(reading.devices)]
        if reading.devices and _INSTANCE.match(line):
            last = reading.devices[-1]
            last.mig, last.mig_instances = "enabled", (last.mig_instances or 0) + 1
    if not reading.devices and not problems:
        reading.problems.append(_unread(lines))
    return reading


def read_nvlink(output: str, rc: int = 0) -> Reading:
    """``nvlink -s``: how many links of each card are active, but not where they lead.

    So ``nvlink`` is ``none`` where fewer than two cards have an active link, and unknown otherwise. A driver that finds
    no link at all prints nothing and succeeds.
    """
    lines, problems = sift(output)
    reading = Reading(problems=problems)
    active: list[int | None] = []
    for line in lines:
        cards = _cards(line[:_LINE_LENGTH])[: MAX_DEVICES - len(reading.devices)]
        reading.devices += cards
        active += [None] * len(cards)
        if active and _NO_LINK.search(line[:_LINE_LENGTH]):
            active[-1] = active[-1] or 0
        elif active and _LINK.match(line):
            active[-1] = (active[-1] or 0) + 1
    if not reading.devices and not problems and (rc or any(line.strip() for line in lines)):
        reading.problems.append(replace(_unread(lines), lacks="links"))
    if not reading.problems and None not in active and sum(1 for count in active if count) < 2:
        reading.nvlink = "none"
    return reading
