# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Problems as a person reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..wording import counted

_LABELS = ("found", "wanted", "remedy")


def text_of(
    problems: Sequence[Mapping[str, Any]], hosts: Collection[str], consequence: str = "nothing was changed"
) -> str:
    """One block of text: the outcome in the first line, then each problem with what was found, wanted and to do.

    ``hosts`` are all hosts that were looked at; ``consequence`` is what an error has led to, and may be empty.
    """
    return "\n\n".join([_outcome(problems, len(hosts), consequence), *map(_paragraph, problems)])


def line_of(problems: Sequence[Mapping[str, Any]], consequence: str = "nothing was changed") -> str:
    """One line: what errors have led to, and of the first one what was found and what to do. Empty without errors."""
    errors = [problem for problem in problems if problem["severity"] == "error"]
    if not errors:
        return ""
    first = errors[0]
    where = f"{', '.join(first['hosts'])}: " if first["hosts"] else ""
    several = f", for {counted(len(errors), 'problem')}. The first" if errors[1:] else ""
    line = f"{consequence}{several}: {where}{first['found']}. {first['remedy']}"
    return " ".join(f"{line[0].upper()}{line[1:]}".split())


def _outcome(problems: Sequence[Mapping[str, Any]], host_count: int, consequence: str) -> str:
    errors = [problem for problem in problems if problem["severity"] == "error"]
    warnings = len(problems) - len(errors)
    shown = [counted(len(errors), "problem")] if errors else []
    shown += [counted(warnings, "warning")] if warnings else []
    if not errors:
        return f"{counted(host_count, 'host')} ready" + (f", with {shown[0]}" if shown else ": no problems found")
    affected = len({host for problem in problems for host in problem["hosts"]})
    place = f" on {affected} of {counted(host_count, 'host')}" if affected else ""
    return f"{' and '.join(shown)}{place}" + (f", {consequence}" if consequence else "")


def _paragraph(problem: Mapping[str, Any]) -> str:
    subject = ", ".join(problem["hosts"])
    heading = f"{subject}: {problem['title']}" if subject else problem["title"]
    lines = [f"  {heading} [{problem['severity']}: {problem['code']}]"]
    for label in _LABELS:
        first, *rest = str(problem[label]).splitlines() or [""]
        lines += [f"    {label:<8}{first}", *(f"{'':<12}{line}" for line in rest)]
    return "\n".join(lines)
