# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the cards of a host tell while they work: memory, temperature, use. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .series import Sample

QUERY = "--query-gpu=index,memory.used,temperature.gpu,utilization.gpu --format=csv,noheader,nounits"
_FIELDS = ("memory_used_mib", "temperature_c", "utilization_percent")


def cards(output: str) -> dict[str, dict[str, float | None]]:
    """The answer to QUERY by the card's index; a value that the driver does not tell is None."""
    found: dict[str, dict[str, float | None]] = {}
    for line in output.splitlines():
        index, *cells = [cell.strip() for cell in line.split(",")]
        if index.isdigit() and len(cells) == len(_FIELDS):
            found[index] = {name: _number(cell) for name, cell in zip(_FIELDS, cells)}
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def peaks(samples: Sequence[Sample]) -> Sample:
    """Several samples ``{"at", "gpus"}`` as one: the last time, the most of each value."""
    gpus: dict[str, dict[str, float | None]] = {}
    for sample in samples:
        for index, values in sample["gpus"].items():
            most = gpus.setdefault(index, dict.fromkeys(_FIELDS))
            for name, value in values.items():
                known = [number for number in (most[name], value) if number is not None]
                most[name] = max(known, default=None)
    return {"at": samples[-1]["at"], "gpus": gpus}
