# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `drift` has found, as one table for a person. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .wording import counted, shortened

WIDTH = 120
_COLUMNS = (30, 14, 22)  # the last column takes the rest
_SETTING_COLUMNS = (40, 24, 24)
_INDENT = 4

# What a finding makes of a column; the first of a model's findings that has a word counts.
_IN_GPUSTACK = {
    "missing": "missing",
    "renamed": "renamed",
    "not_managed": "made by hand",
    "edited": "edited",
    "not_applied": "not applied",
    "differs": "differs",
    "not_routed": "not in the route",
    "surplus": "left over",
    "undeclared": "left over",
    "foreign": "made by hand",
}
_RUNNING = {
    "instance_missing": "instances missing",
    "instance_not_running": "not running",
    "engine_missing": "engine missing",
    "old_instance": "older configuration",
    "engine_differs": "other parameters",
}

Row = Mapping[str, Any]


def table(drift: Mapping[str, Any]) -> str:
    """The outcome, a line for every model, and under it what differs. No line is longer than WIDTH."""
    lines = [_outcome(drift)]
    if drift["models"]:
        lines += ["", _line(("model", "in git", "in GPUStack", "running"), _COLUMNS)]
    for row in drift["models"]:
        lines.append(_line((row["name"], *_states(row)), _COLUMNS))
        lines += [line for finding in row["findings"] for line in _finding(finding)]
    workers = [row for row in drift["workers"] if row["findings"]]
    if workers:
        lines += ["", "  workers"]
        lines += [line for row in workers for finding in row["findings"] for line in _finding(finding)]
    return "\n".join(line.rstrip() for line in lines)


def _outcome(drift: Mapping[str, Any]) -> str:
    declared = [row for row in drift["models"] if row["declared"]]
    differing = sum(bool(row["findings"]) for row in declared)
    others = len(drift["models"]) - len(declared)
    workers = sum(bool(row["findings"]) for row in drift["workers"])
    parts = [f"{differing} of {counted(len(declared), 'declared model')}"] if differing else []
    parts += [f"{counted(others, 'model')} that {'is' if others == 1 else 'are'} not declared"] if others else []
    parts += [counted(workers, "worker")] if workers else []
    if not parts:
        return f"No drift: {counted(len(declared), 'declared model')}, configured and running as in git"
    if not drift["drifted"]:
        return f"No drift that counts; ignored: {', '.join(parts)}"
    return f"Drift: {', '.join(parts)}"


def _states(row: Row) -> tuple[str, str, str]:
    codes = [finding["code"] for finding in row["findings"]]
    configured = next((_IN_GPUSTACK[code] for code in codes if code in _IN_GPUSTACK), "as declared")
    running = next((_RUNNING[code] for code in codes if code in _RUNNING), _running(row["instances"]))
    return ("declared" if row["declared"] else "not declared", configured, running)


def _running(instances: Sequence[Row]) -> str:
    """How many instances there are, and since when."""
    if not instances:
        return "no instance"
    oldest = min(str(instance["created_at"]) for instance in instances)
    return f"{counted(len(instances), 'instance')}, since {_clock(oldest)}"


def _finding(finding: Row) -> Iterator[str]:
    sentence = f"{finding['message']} ({_when(finding)}by {finding['who']})"
    yield from textwrap.wrap(
        sentence, WIDTH, initial_indent=" " * _INDENT, subsequent_indent=" " * (_INDENT + 2), break_on_hyphens=False
    )
    if finding["settings"]:
        yield _line(("setting", "declared", "configured", "running"), _SETTING_COLUMNS, _INDENT + 2)
    for setting in finding["settings"]:
        values = (setting["name"], *(_value(setting[kind]) for kind in ("declared", "configured", "running")))
        yield _line(values, _SETTING_COLUMNS, _INDENT + 2)


def _when(finding: Row) -> str:
    since, until = finding["since"], finding["until"]
    if since and until:
        return f"between {_clock(since)} and {_clock(until)}, "
    return f"since {_clock(since)}, " if since else ""


def _clock(time: str) -> str:
    """`2026-03-01T09:30:00+00:00` → `2026-03-01 09:30:00 UTC`."""
    return f"{time[:10]} {time[11:19]} UTC"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _line(cells: Sequence[str], columns: Sequence[int], indent: int = 2) -> str:
    """Cells in columns; a longer one is shortened, so that the columns stay in line."""
    widths = (*columns, WIDTH - indent - sum(columns))
    return " " * indent + "".join(f"{shortened(cell, width - 1):<{width}}" for cell, width in zip(cells, widths))
