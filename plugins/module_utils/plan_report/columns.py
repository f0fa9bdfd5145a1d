# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text in columns: tables and labelled paragraphs that keep to a width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..wording import shortened

GAP = "  "


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as lines: names first, set left and shortened to keep to ``width``; then figures, set right."""
    names, *columns = zip(*rows)
    widths = [max(map(len, column)) for column in columns]
    room = min(max(map(len, names)), width - sum(widths) - len(GAP) * len(widths))
    return [
        GAP.join([shortened(name, room).ljust(room), *(cell.rjust(size) for cell, size in zip(figures, widths))])
        for name, *figures in rows
    ]


def beside(label: str, paragraphs: Sequence[str], column: int, width: int) -> list[str]:
    """A label and, from ``column`` on, wrapped paragraphs; a label too long for its column has its line to itself."""
    lines = [line for paragraph in paragraphs for line in _set_at(column, paragraph, width)]
    if lines and len(label) + len(GAP) <= column and lines[0].startswith(" " * column):
        return [label + lines[0][len(label) :], *lines[1:]]
    return [*_set_at(0, label, width), *lines]


def _set_at(column: int, paragraph: str, width: int) -> list[str]:
    """Wrapped between ``column`` and ``width``; a word too long for that, an address, starts further left, whole."""
    lines = textwrap.wrap(paragraph, width - column, break_long_words=False, break_on_hyphens=False)
    pieces = [line[start : start + width] for line in lines for start in range(0, len(line), width)]
    return [" " * min(column, width - len(piece)) + piece for piece in pieces]
