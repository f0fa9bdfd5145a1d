# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus metrics under vLLM's names."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

SECONDS_FIRST = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
SECONDS_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
SECONDS_REQUEST = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
HISTOGRAMS = {
    "time_to_first_token_seconds": SECONDS_FIRST,
    "inter_token_latency_seconds": SECONDS_TOKEN,
    "request_time_per_output_token_seconds": SECONDS_TOKEN,
    "e2e_request_latency_seconds": SECONDS_REQUEST,
    "request_queue_time_seconds": SECONDS_REQUEST,
    "request_prompt_tokens": TOKENS,
    "request_generation_tokens": TOKENS,
}
COUNTERS = ("num_preemptions", "prompt_tokens", "generation_tokens", "prefix_cache_queries", "prefix_cache_hits")
FINISHED = ("stop", "length", "abort", "error")


class Metrics:
    """What has been counted since the start."""

    def __init__(self, model_name: str) -> None:
        self._labels = f'engine="0",model_name="{model_name}"'
        self._counts: dict[str, float] = defaultdict(float)
        self._finished: dict[str, int] = dict.fromkeys(FINISHED, 0)
        self._buckets = {name: [0] * (len(bounds) + 1) for name, bounds in HISTOGRAMS.items()}
        self._sums: dict[str, float] = defaultdict(float)

    def count(self, name: str, amount: float = 1) -> None:
        """Adds to a counter."""
        self._counts[name] += amount

    def finish(self, reason: str) -> None:
        """One request ended."""
        self._finished[reason] += 1

    def observe(self, name: str, value: float) -> None:
        """Adds one observation to a histogram."""
        self._buckets[name][bisect_left(HISTOGRAMS[name], value)] += 1
        self._sums[name] += value

    def text(self, gauges: dict[str, float]) -> str:
        """The whole page in Prometheus' text format."""
        lines: list[str] = []
        for name, value in gauges.items():
            lines += [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{self._labels}}} {float(value)}"]
        for name in COUNTERS:
            lines += [
                f"# TYPE vllm:{name}_total counter",
                f"vllm:{name}_total{{{self._labels}}} {float(self._counts[name])}",
            ]
        lines.append("# TYPE vllm:request_success_total counter")
        for reason, number in self._finished.items():
            lines.append(f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {float(number)}')
        for name, bounds in HISTOGRAMS.items():
            lines.append(f"# TYPE vllm:{name} histogram")
            total = 0
            for bound, number in zip((*bounds, "+Inf"), self._buckets[name]):
                total += number
                edge = bound if isinstance(bound, str) else float(bound)
                lines.append(f'vllm:{name}_bucket{{{self._labels},le="{edge}"}} {float(total)}')
            lines.append(f"vllm:{name}_count{{{self._labels}}} {float(total)}")
            lines.append(f"vllm:{name}_sum{{{self._labels}}} {self._sums[name]}")
        return "\n".join(lines) + "\n"
