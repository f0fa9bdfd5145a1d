# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What vLLM's metrics page tells about requests. Text in, data out."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SAMPLE = re.compile(r"^vllm:(?P<name>\w+)(?:\{[^}]*\})? (?P<value>\S+)", re.MULTILINE)


def requests_of(page: str) -> dict[str, int] | None:
    """`{"running", "waiting", "finished"}`, summed over the engine's cores; None for a page without vLLM's gauges."""
    sums: dict[str, float] = {}
    for match in _SAMPLE.finditer(page):
        sums[match["name"]] = sums.get(match["name"], 0.0) + float(match["value"])
    if "num_requests_running" not in sums:
        return None
    return {
        "running": int(sums["num_requests_running"]),
        "waiting": int(sums.get("num_requests_waiting", 0)),
        "finished": int(sums.get("request_success_total", 0)),
    }


def in_flight(engines: Sequence[dict[str, int]]) -> int:
    """Requests that some engine has and has not answered."""
    return sum(engine["running"] + engine["waiting"] for engine in engines)
