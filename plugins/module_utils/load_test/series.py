# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A series of samples that stays bounded: when there are too many, two become one, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MOST_SAMPLES = 600

Sample = dict[str, Any]


class Series:
    """``together`` makes one sample of several consecutive ones."""

    def __init__(self, together: Callable[[Sequence[Sample]], Sample]) -> None:
        self.samples: list[Sample] = []
        self._together = together
        self._stride = 1
        self._pending: list[Sample] = []

    def add(self, sample: Sample) -> None:
        self._pending.append(sample)
        if len(self._pending) < self._stride:
            return
        self.samples.append(self._together(self._pending))
        self._pending = []
        if len(self.samples) >= MOST_SAMPLES:
            self.samples = [self._together(self.samples[at : at + 2]) for at in range(0, len(self.samples), 2)]
            self._stride *= 2
