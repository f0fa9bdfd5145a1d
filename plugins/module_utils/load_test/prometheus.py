# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of an engine's metrics page, what a load test looks at."""

from __future__ import annotations

from collections import defaultdict

from ..engine_metrics import samples

# vLLM's names, and ours. Of several engines behind one page (data parallel ranks) the values add up; shares do not.
_GAUGES = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
}
_SHARES = {
    "vllm:kv_cache_usage_perc": "kv_cache_usage",
    "vllm:gpu_cache_usage_perc": "kv_cache_usage",  # before 0.10
}
_COUNTERS = {
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "answer_tokens",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:e2e_request_latency_seconds_sum": "latency_seconds",
    "vllm:e2e_request_latency_seconds_count": "answered",
    "vllm:time_to_first_token_seconds_sum": "first_token_seconds",
    "vllm:time_to_first_token_seconds_count": "first_tokens",
}
_NAMES = {**_GAUGES, **_SHARES, **_COUNTERS}
COUNTED = tuple(_COUNTERS.values())


def engine_figures(page: str) -> dict[str, float]:
    """``{"running", "waiting", "kv_cache_usage" (0 to 1), "prompt_tokens", …}``; what the page lacks is left out."""
    figures: dict[str, float] = defaultdict(float)
    for name, value in samples(page):
        ours = _NAMES.get(name)
        if ours is None:
            continue
        if name in _SHARES:
            figures[ours] = max(figures[ours], value)
        else:
            figures[ours] += value
    return dict(figures)
