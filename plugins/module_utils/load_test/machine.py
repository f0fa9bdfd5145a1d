# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine this runs on, from /proc."""

from __future__ import annotations

from pathlib import Path

_IDLE = (3, 4)  # idle and iowait, among the fields of /proc/stat's first line


def busy_and_total(stat: str) -> tuple[int, int] | None:
    """Ticks in which processors worked, and all ticks, of the text of /proc/stat."""
    fields = stat.split("\n", 1)[0].split()
    if len(fields) < 6 or fields[0] != "cpu":
        return None
    # guest time (the ninth field on) is already in user time
    ticks = [int(field) for field in fields[1:9]]
    return sum(ticks) - sum(ticks[place] for place in _IDLE), sum(ticks)


class BusyShare:
    """The share of the processors in use between two calls."""

    def __init__(self, path: str = "/proc/stat") -> None:
        self._path = Path(path)
        self._before = self._read()

    def since_last(self) -> float | None:
        """0 to 1; None where the system does not tell, or no time has passed."""
        before, now = self._before, self._read()
        self._before = now
        if before is None or now is None or now[1] <= before[1]:
            return None
        return round((now[0] - before[0]) / (now[1] - before[1]), 3)

    def _read(self) -> tuple[int, int] | None:
        try:
            return busy_and_total(self._path.read_text(encoding="ascii"))
        except OSError:
            return None
