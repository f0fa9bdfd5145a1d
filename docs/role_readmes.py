#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README of every role, made from its argument_specs: `make readmes` writes them, a unit test holds them equal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"
_MARKUP = re.compile(r"\b[A-Z]+\((?:[\w.]+#\w+:)?([^)#,]*)[^)]*\)")


def readme(role: Path) -> str:
    """What README.md of this role has to say."""
    entries = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    lines = [f"# gpuops.gpustack.{role.name}", "", "<!-- Made from meta/argument_specs.yml by `make readmes`. -->"]
    for name, entry in entries.items():
        call = "" if name == "main" else f" (`tasks_from: {name}`)"
        lines += ["", f"## {_text(entry['short_description'])}{call}", "", _text(entry.get("description", ""))]
    options: dict[str, Any] = {}
    for entry in entries.values():
        options.update(entry.get("options", {}))
    if options:
        lines += ["", "## Variables", "", "| variable | default | what it is |", "|---|---|---|"]
        lines += _rows(options)
    return "\n".join(lines) + "\n"


def _rows(options: dict[str, Any], within: str = "") -> list[str]:
    """A row for each option, and behind it those for what is in it."""
    rows = []
    for name, option in sorted(options.items()):
        rows.append(f"| `{within}{name}` | {_default(option)} | {_cell(option)} |")
        rows += _rows(option.get("options", {}), f"{within}{name}.")
    return rows


def _default(option: dict[str, Any]) -> str:
    if option.get("required"):
        return "required"
    default = option.get("default")
    return "" if default is None else f"`{json.dumps(default)}`".replace("|", "\\|")


def _cell(option: dict[str, Any]) -> str:
    return _text(option["description"]).replace("|", "\\|")


def _text(text: str | list[str]) -> str:
    """Ansible's markup as Markdown, on one line."""
    joined = " ".join(text) if isinstance(text, list) else text
    return _MARKUP.sub(r"`\1`", " ".join(joined.split()))


def main() -> None:
    for role in sorted(ROLES.iterdir()):
        (role / "README.md").write_text(readme(role), encoding="utf-8")


if __name__ == "__main__":
    main()
