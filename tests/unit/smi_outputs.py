# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shapes of nvidia-smi's output, with values of their own, and short ways to look at what was read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "fixtures" / "smi"


def recorded(name: str) -> str:
    """The output in a fixture file, line ends as they are."""
    with (DIRECTORY / name).open(encoding="utf-8", newline="") as file:
        return file.read()


def each(facts: dict[str, Any], field: str) -> list[Any]:
    """One field of every device."""
    return [device[field] for device in facts["devices"]]


def codes(holder: dict[str, Any]) -> list[str]:
    """The codes of the problems of a host or a device."""
    return [problem["code"] for problem in holder["problems"]]
