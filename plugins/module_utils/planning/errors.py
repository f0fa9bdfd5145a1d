# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the planner raises, and how it names the nearest known word for a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PlanError(ValueError):
    """The input cannot be planned: one sentence that says what was found, what was wanted and what to do.

    A model that is described correctly but does not fit is no error: its plan has ``feasible: false``.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` for the known word closest to this one, or nothing when none is close."""
    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f" (did you mean {matches[0]}?)" if matches else ""
