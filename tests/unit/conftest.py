# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Here and not in pyproject.toml, which `ansible-test units` does not read.
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "unit"), str(TESTS / "support")]

from fake_gpustack import FakeGPUStack

# A busy machine is no fault of the code: no test is judged by the time it takes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def fake() -> Iterator[FakeGPUStack]:
    """A GPUStack server with nothing on it."""
    with FakeGPUStack() as server:
        yield server
