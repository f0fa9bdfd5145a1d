# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tensor in which every place has the same value: that value and the number of places."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class Tensor:
    """The same value in so many places."""

    value: float
    places: int

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return Tensor(float(self.value != other), self.places)

    __hash__ = None  # type: ignore[assignment]

    def __int__(self) -> int:
        return int(self.value)

    def sum(self) -> Tensor:
        return Tensor(self.value * self.places, 1)


def full(shape: tuple[int], value: float, device: str) -> Tensor:
    """As torch.full() for one dimension."""
    return Tensor(value, shape[0])
