# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a rolling update: `{"title", "began", "hosts": {name: entry}, "models": {name: entry}}`. Pure.

An entry holds the details that were told, `steps`: `[{"step", "seconds", "at"}]`, and `seconds`: how long what counts
in its last turn took, `drain`, `change`, `ready`, `first_answer`, `back`, the `total`, and the `overhead`, which is the
total without `ready`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

_PLACES = {"host": "hosts", "model": "models"}


def parse(content: str) -> dict[str, Any]:
    """The report in a file; an empty one where the file holds none."""
    try:
        report = json.loads(content)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def text(report: Mapping[str, Any]) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def noted(
    report: Mapping[str, Any],
    kind: str,
    name: str,
    step: str,
    details: Mapping[str, Any],
    now: float,
    *,
    begins: bool = False,
    measures: str | None = None,
) -> tuple[dict[str, Any], float | None]:
    """The report with one more step, and the seconds since the step before of the same turn.

    `kind` is `host`, `model`, or `run`, which begins a new report. `begins`: with this step a turn does. `measures`
    names what has taken the time since the step before. `now` in seconds since 1970.
    """
    if kind == "run":
        return {"title": name, "began": _utc(now), **details, "hosts": {}, "models": {}}, None
    place = _PLACES[kind]
    entries = dict(report.get(place) or {})
    entry = dict(entries.get(name) or {})
    steps = list(entry.pop("steps", []))
    taken = {} if begins else dict(entry.pop("seconds", {}))
    seconds = round(now - _seconds(steps[-1]["at"]), 1) if steps and not begins else None
    if measures is not None:
        taken[measures] = seconds
    steps.append({"step": step, "seconds": seconds, "at": _utc(now)})
    if taken:
        first = max(number for number, each in enumerate(steps) if each["seconds"] is None)
        taken["total"] = round(now - _seconds(steps[first]["at"]), 1)
        taken["overhead"] = round(taken["total"] - (taken.get("ready") or 0), 1)
    entries[name] = {**entry, **details, "seconds": taken, "steps": steps}
    return {**report, place: entries}, seconds


def line(name: str, step: str, seconds: float | None, details: Mapping[str, Any]) -> str:
    """One line for a person."""
    said = [f"{key.replace('_', ' ')} {_shown(value)}" for key, value in details.items() if value not in (None, "", [])]
    took = f" after {seconds:.1f} s" if seconds is not None else ""
    return f"[{name}] {step}{took}" + (f" ({'; '.join(said)})" if said else "")


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _utc(now: float) -> str:
    return datetime.fromtimestamp(now, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
