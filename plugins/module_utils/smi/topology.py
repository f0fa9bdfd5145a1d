# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrices of ``nvidia-smi topo -m`` (how cards are connected) and ``topo -p2p r`` (who reads whose memory)."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

from .problems import problem, sift
from .reading import MAX_DEVICES, Device, Link, Reading, nvlink_cover

_COLUMN = re.compile(r"GPU([0-9]{1,3})(?![0-9])")
_ROW = re.compile(r"\s*GPU([0-9]{1,3})(?=\s)(.*)")
_WORDS = r"NV[0-9]{1,2}|X|SYS|NODE|PHB|PXB|PIX|SOC|OK|CNS|GNS|TNS|NS|DR|U"
_WORD = re.compile(_WORDS)
# Terminals lose the TAB at which they wrap a line: "NODENODE".
_GLUED = re.compile(rf"(?:{_WORDS}){{1,40}}")
_P2P = {"OK": True, "CNS": False, "GNS": False, "TNS": False, "NS": False, "DR": False}

Pair = tuple[int, int]


def _cells(text: str) -> list[str]:
    cells: list[str] = []
    for part in text.split():
        cells += _WORD.findall(part) if _GLUED.fullmatch(part) else [part]
    return cells


def _matrix(lines: list[str]) -> tuple[list[int], dict[Pair, str]]:
    """The cards, and the word for each pair of them (lower first) that either half of the matrix tells."""
    columns: list[int] = []
    rows: dict[int, list[str]] = {}
    for line in lines:
        row = _ROW.match(line)
        if row and not _COLUMN.match(row[2].lstrip()):
            rows.setdefault(int(row[1]), _cells(row[2]))
        elif not columns and not rows:
            columns = [int(number) for number in _COLUMN.findall(line)]
    # Where the header is cut off, the rows that are there stand for the columns.
    columns = list(dict.fromkeys(columns)) or sorted(rows)
    cards = sorted({*columns, *rows})
    if len(cards) > MAX_DEVICES:
        return [], {}
    words: dict[Pair, str] = {}
    for card, cells in rows.items():
        for column, word in zip(columns, cells):
            if column != card:
                words.setdefault((min(card, column), max(card, column)), word)
    return cards, words


def _read(output: str, tool: str, rc: int) -> tuple[Reading, dict[Pair, str]]:
    lines, problems = sift(output)
    cards, words = _matrix(lines)
    reading = Reading(devices=[Device(index=card) for card in cards], problems=problems)
    pairs = {pair: words.get(pair, "") for pair in combinations(cards, 2)}
    missing = [pair for pair, word in pairs.items() if not word]
    if not cards and not problems:
        said = next((line for line in lines if line.strip()), "no output")
        reading.problems.append(problem("topology_unavailable", f"{tool} (exit code {rc}): {said}"))
    if missing:
        first, second = missing[0]
        told = f"{tool} has {len(cards)} cards and lacks {len(missing)} pairs, GPU{first} with GPU{second} first"
        reading.problems.append(replace(problem("output_incomplete", told), lacks="links"))
    return reading, pairs


def _nvlinks(word: str) -> int | None:
    """``NV4`` is four links, any other known word none."""
    if word.startswith("NV") and word[2:].isdecimal():
        return int(word[2:])
    return 0 if _WORD.fullmatch(word) else None


def read_matrix(output: str, rc: int = 0) -> Reading:
    """``topo -m``: a link for every pair of cards; of an unknown one neither word nor count."""
    reading, pairs = _read(output, "topo -m", rc)
    reading.links = {pair: Link(topology=word or None, nvlinks=_nvlinks(word)) for pair, word in pairs.items()}
    reading.nvlink = nvlink_cover(reading.links) if reading.devices else None
    return reading


def read_p2p(output: str, rc: int = 0) -> Reading:
    """``topo -p2p r``: whether peer reads work between each pair, as the driver says it."""
    reading, pairs = _read(output, "topo -p2p r", rc)
    reading.links = {pair: Link(p2p_read=_P2P.get(word)) for pair, word in pairs.items()}
    return reading
