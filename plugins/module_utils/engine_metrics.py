# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine's metrics page, in Prometheus' text format, and what it tells about requests. Text in, data out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)


def samples(page: str) -> Iterator[tuple[str, float]]:
    """Name and value of every sample; what is no number is none."""
    for name, text in _SAMPLE.findall(page):
        try:
            yield name, float(text)
        except ValueError:
            continue


def requests_of(page: str) -> dict[str, int] | None:
    """`{"running", "waiting", "finished"}`, summed over the engine's cores; None for a page without vLLM's gauges."""
    sums: dict[str, float] = {}
    for name, value in samples(page):
        sums[name] = sums.get(name, 0.0) + value
    if "vllm:num_requests_running" not in sums:
        return None
    return {
        "running": int(sums["vllm:num_requests_running"]),
        "waiting": int(sums.get("vllm:num_requests_waiting", 0)),
        "finished": int(sums.get("vllm:request_success_total", 0)),
    }


def in_flight(engines: Sequence[dict[str, int]]) -> int:
    """Requests that some engine has and has not answered."""
    return sum(engine["running"] + engine["waiting"] for engine in engines)
