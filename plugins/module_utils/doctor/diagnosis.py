# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A log held against the catalogue: what was found, causes before consequences. Text in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import redaction
from . import log
from .signature import ANYTHING, CAUSE, Signature
from .signatures import CATALOGUE

_EVIDENCE_LENGTH = 400
# Of a line that repeats without end only the first occurrences are asked which process wrote them.
_NAMED_PROCESSES = 500


@dataclass
class _Match:
    """A signature in a log: where it was first and last, and where the lines of all its occurrences begin."""

    signature: Signature
    first: int
    line: str
    last: int
    lines: set[int] = field(default_factory=set)
    processes: dict[str, None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.lines)


def diagnose(text: str, catalogue: Sequence[Signature] = CATALOGUE) -> list[dict[str, Any]]:
    """What the log means, causes first, each by its first line; consequences after them in the same order.

    ``[{"id", "role", "severity", "means", "not_means", "cause", "remedy", "setting", "source", "versions", "line",
    "last_line", "count", "text", "processes", "because", "first_error"}]``

    * ``line``, ``last_line``: numbers from 1; ``count``: matching lines, repeated ones included
    * ``text``: the first matching line without colours, timestamp, process and secrets
    * ``because``: for a consequence the id of the earliest finding that can have brought it about, else null
    * ``first_error``: for a consequence ``{"line", "text"}`` of the first error above it that is none, else null

    Never raises, whatever the text holds.
    """
    text = log.without_colours(text)
    found = {match.signature.id: match for match in _matches(text, catalogue)}
    counted = [match for match in found.values() if _counts(match.signature, found)]
    counted.sort(key=lambda match: (match.signature.role != CAUSE, match.first))
    numbers = _line_numbers(text, [position for match in counted for position in (match.first, match.last)])
    return [_finding(match, counted, numbers, text) for match in counted]


def _matches(text: str, catalogue: Sequence[Signature]) -> Iterator[_Match]:
    """Every signature that the text holds. Plain texts are looked for first: that is what makes long logs quick."""
    places: dict[str, list[Signature]] = {}
    for signature in catalogue:
        for said in signature.says:
            places.setdefault(said, []).append(signature)
    found: dict[str, _Match] = {}
    for said, signatures in places.items():
        position = text.find(said)
        while position >= 0:
            begin, line = log.line_around(text, position)
            end = text.find("\n", position)
            for signature in signatures:
                if signature.matches(line):
                    _note(found, signature, begin, line)
            position = text.find(said, end) if end >= 0 else -1
    yield from found.values()


def _note(found: dict[str, _Match], signature: Signature, begin: int, line: str) -> None:
    match = found.get(signature.id)
    if match is None:
        match = found[signature.id] = _Match(signature, begin, line, begin)
    if begin < match.first:
        match.first, match.line = begin, line
    if begin in match.lines:  # two texts of one signature in one line are one occurrence
        return
    match.lines.add(begin)
    match.last = max(match.last, begin)
    if match.count <= _NAMED_PROCESSES:
        process, _said = log.bare(line)
        if process:
            match.processes[process] = None


def _counts(signature: Signature, found: Mapping[str, _Match]) -> bool:
    """Whether what the signature needs beside it was found as well."""
    if not signature.beside:
        return True
    if ANYTHING in signature.beside:
        return any(match.signature.role == CAUSE and not match.signature.beside for match in found.values())
    return any(other in found for other in signature.beside)


def _line_numbers(text: str, positions: Sequence[int]) -> dict[int, int]:
    """Numbers of the lines that begin at these positions."""
    numbers: dict[int, int] = {}
    number, counted_to = 1, 0
    for position in sorted(set(positions)):
        number += text.count("\n", counted_to, position)
        counted_to = position
        numbers[position] = number
    return numbers


def _finding(match: _Match, counted: Sequence[_Match], numbers: Mapping[int, int], text: str) -> dict[str, Any]:
    signature = match.signature
    because = _because(match, counted)
    return {
        "id": signature.id,
        "role": signature.role,
        "severity": signature.severity,
        "means": signature.means,
        "not_means": signature.not_means,
        "cause": signature.cause,
        "remedy": signature.remedy,
        "setting": signature.setting,
        "source": signature.source,
        "versions": signature.versions,
        "line": numbers[match.first],
        "last_line": numbers[match.last],
        "count": match.count,
        "text": _shown(match.line),
        "processes": sorted(match.processes),
        "because": because,
        "first_error": None if signature.role == CAUSE else _first_error(match, counted, text),
    }


def _because(match: _Match, counted: Sequence[_Match]) -> str | None:
    """The earliest cause that this follows from. Ranks write into one log in no strict order, so it may stand below."""
    causes = [other for other in counted if other is not match and match.signature.follows(other.signature)]
    return min(causes, key=lambda other: other.first).signature.id if causes else None


def _first_error(match: _Match, counted: Sequence[_Match], text: str) -> dict[str, Any] | None:
    consequences = [other.signature for other in counted if other.signature.role != CAUSE]
    for begin, line in log.error_lines(text, match.first):
        if not any(signature.means_line(line) for signature in consequences):
            return {"line": _line_numbers(text, [begin])[begin], "text": _shown(line)}
    return None


def _shown(line: str) -> str:
    return redaction.redact_text(log.bare(line)[1])[:_EVIDENCE_LENGTH]
