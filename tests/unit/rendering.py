# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file of tasks as what it would do: for hosts of which there is none here, so that nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from jinja2.nativetypes import NativeEnvironment

MODULES = {
    "ansible.builtin.command",
    "ansible.builtin.dnf",
    "ansible.builtin.rpm_key",
}


def render(value: Any, variables: dict[str, Any]) -> Any:
    """A task's arguments with their expressions evaluated."""
    if isinstance(value, dict):
        return {name: render(item, variables) for name, item in value.items()}
    if isinstance(value, list):
        return [render(item, variables) for item in value]
    return NativeEnvironment().from_string(value).render(**variables) if isinstance(value, str) else value


def rendered(path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    """(module, arguments) of every task that would run, loops unrolled and conditions on variables evaluated."""
    actions = []
    for task in yaml.safe_load(path.read_text()):
        condition = task.get("when")
        if condition and not NativeEnvironment().from_string(f"{{{{ {condition} }}}}").render(**variables):
            continue
        (module,) = MODULES & set(task)
        for item in render(task.get("loop", [None]), variables):
            actions.append((module, render(task[module], {**variables, "item": item})))
    return actions
