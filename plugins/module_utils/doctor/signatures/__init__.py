# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue of signatures, by subject. A new one is an entry in a file here and its excerpts in the tests."""

from __future__ import annotations

from ..signature import Signature
from . import cards, containers, driver, gpustack, memory, models, ranks, ray

CATALOGUE: tuple[Signature, ...] = (
    *driver.SIGNATURES,
    *containers.SIGNATURES,
    *gpustack.SIGNATURES,
    *models.SIGNATURES,
    *cards.SIGNATURES,
    *memory.SIGNATURES,
    *ranks.SIGNATURES,
    *ray.SIGNATURES,
)
