# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.filter.kv_cache_problems import FilterModule

PREDICTED = {"kv_cache_tokens": 400_000}
problems = FilterModule().filters()["kv_cache_problems"]


def instance(tokens: str) -> dict:
    return {"name": "qwen-x", "log": ["INFO GPU KV cache size: " + tokens + " tokens"]}


def test_figure_within_the_tolerance_is_fine() -> None:
    assert problems([instance("396,000")], PREDICTED, "5") == []


def test_figure_outside_is_told_with_both_figures() -> None:
    (problem,) = problems([instance("300,000")], PREDICTED, 5)
    assert problem.startswith("qwen-x has a KV cache of 300,000 tokens, and the plan says 400,000: -25.0 %")


def test_what_is_not_known_is_no_problem() -> None:
    assert problems([{"name": "qwen-x", "log": ["something else"]}], PREDICTED, 5) == []
    assert problems([instance("300,000")], {}, 5) == []
    assert problems([instance("300,000")], None, 5) == []
