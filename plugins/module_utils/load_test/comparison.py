# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A test beside the last one of the same model that was passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# What makes two stages the same question.
_ASKED = ("prompt_tokens", "answer_tokens", "concurrency")
Figures = Mapping[str, Any]
_FIGURES: tuple[tuple[str, Callable[[Figures], Any]], ...] = (
    ("first_token_p95_seconds", lambda figures: (figures["first_token_seconds"] or {}).get("p95")),
    ("token_p95_seconds", lambda figures: (figures["token_seconds"] or {}).get("p95")),
    ("answer_tokens_per_second", lambda figures: figures["answer_tokens_per_second"]),
)


def compare(stages: Sequence[Mapping[str, Any]], last: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """``{"time", "fingerprint", "stages": [{"name", figure: change}]}``; None without an earlier test.

    A change is a share: 0.1 is a tenth more. Only stages that ask the same in both are compared.
    """
    if last is None:
        return None
    earlier = {_question(entry["stage"]): entry for entry in last["stages"] if entry["figures"]}
    rows = []
    for entry in stages:
        before = earlier.get(_question(entry["stage"]))
        if before is None or not entry["figures"]:
            continue
        row: dict[str, Any] = {"name": entry["stage"]["name"]}
        for name, figure in _FIGURES:
            then, now = figure(before["figures"]), figure(entry["figures"])
            row[name] = now / then - 1 if then and now is not None else None
        rows.append(row)
    return {"time": last["time"], "fingerprint": last["fingerprint"], "stages": rows}


def _question(stage: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(stage[name] for name in _ASKED)
