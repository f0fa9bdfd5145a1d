# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a new engine is what the plan has promised. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..startup_log import startup_figures


def kv_cache_problems(
    instances: Iterable[Mapping[str, Any]], predicted: Mapping[str, Any], tolerance_percent: float
) -> list[str]:
    """One sentence for each instance whose KV cache is not the predicted one.

    `instances` of `model_info` with their `log`; `predicted` of a plan. A log that no longer holds the figure, and a
    plan that has none, tell nothing.
    """
    expected = predicted.get("kv_cache_tokens")
    problems = []
    for instance in instances:
        printed = startup_figures("\n".join(instance.get("log") or []))["kv_cache_tokens"]
        if not expected or not printed:
            continue
        deviation = 100 * (printed - expected) / expected
        if abs(deviation) > tolerance_percent:
            problems.append(
                f"{instance['name']} has a KV cache of {printed:,} tokens, and the plan says {expected:,}: "
                f"{deviation:+.1f} %, and {tolerance_percent:g} % are allowed. Something else uses its cards, or "
                "they are not what the plan was made for."
            )
    return problems
