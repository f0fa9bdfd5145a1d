# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench is a program of its own, not part of the collection: its packages are put on the path here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "molecule" / "bench"
STAND_INS = BENCH / "stand_ins"

for directory in (Path(__file__).parent, BENCH, STAND_INS / "engine", STAND_INS / "cards", STAND_INS / "gpustack"):
    sys.path.append(str(directory))

# The engine's image gets this file of the collection beside its own.
sys.modules["bench_engine.vllm_flags"] = importlib.import_module(
    "ansible_collections.gpuops.gpustack.plugins.module_utils.planning.vllm_flags"
)
