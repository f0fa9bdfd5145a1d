# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a card's own values tell against it, wherever they were printed."""

from __future__ import annotations

from collections.abc import Mapping

from . import values
from .problems import problem
from .reading import Problem

# A card that cannot even tell these is not working; any other unreadable value is a sensor's affair.
_VITAL = ("name", "uuid", "memory_total")


def faults(
    told: Mapping[str, str], sensors: Mapping[str, str], address: str | None, index: int | None
) -> list[Problem]:
    """The problems in a card's values: ``told`` by our names, ``sensors`` by the tool's, neither with unasked ones."""
    states = {name: values.fault(value) for name, value in {**sensors, **told}.items()}
    for state, code in (("lost", "gpu_lost"), ("reset", "gpu_requires_reset")):
        name = next((name for name, found in states.items() if found == state), None)
        if name:
            return [problem(code, f"{name} is {told.get(name) or sensors.get(name)}", address, index)]
    found = []
    vital = next((name for name in _VITAL if states.get(name) == "error"), None)
    memory = told.get("memory_total")
    if vital:
        found.append(problem("gpu_error", f"{vital} is {told[vital]}", address, index))
    elif memory is not None and values.mib(memory) is None:
        code = "memory_denied" if states["memory_total"] == "denied" else "memory_not_reported"
        found.append(problem(code, f"its total is {memory.strip() or 'empty'}", address, index))
    failed = [name for name in sensors if states[name] == "error"]
    if failed and not vital:
        found.append(problem("sensor_error", f"{', '.join(failed)}: {sensors[failed[0]]}", address, index))
    return found
