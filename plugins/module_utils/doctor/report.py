# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings as a person reads them: on the terminal, and the variables of the page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from ..wording import counted, joined

WIDTH = 120
_LABEL = 10


def text_of(result: Mapping[str, Any]) -> str:
    """The outcome in the first line, then causes, then what follows from them."""
    blocks = [f"{outcome(result)}."]
    for number, finding in enumerate(result["findings"], 1):
        blocks.append("\n".join(_paragraph(number, finding)))
    return "\n\n".join(blocks)


def outcome(result: Mapping[str, Any]) -> str:
    """One sentence: how many causes, consequences and warnings, and where."""
    looked, findings = result["looked_at"], result["findings"]
    hosts = counted(len(looked["hosts"]), "host")
    if not looked["hosts"]:
        return "No host could be looked at"
    if not findings:
        return f"Healthy: nothing found on {hosts}" + (" and the server" if looked["server"] else "")
    causes = [finding for finding in findings if not finding["symptom"] and finding["severity"] == "error"]
    symptoms = [finding for finding in findings if finding["symptom"]]
    warnings = len(findings) - len(causes) - len(symptoms)
    shown = [
        text
        for number, text in (
            (len(causes), counted(len(causes), "cause")),
            (len(symptoms), counted(len(symptoms), "consequence")),
            (warnings, counted(warnings, "warning")),
        )
        if number
    ]
    healthy = "Healthy, but " if result["exit_code"] == 0 else ""
    return f"{healthy}{joined(shown)} found on {hosts}. First: {_heading(findings[0])}"


def _heading(finding: Mapping[str, Any]) -> str:
    subject = ", ".join(finding["hosts"])
    return f"{subject}: {finding['title']}" if subject else str(finding["title"])


def kind(finding: Mapping[str, Any]) -> str:
    """``cause``, ``consequence`` or ``warning``."""
    if finding["symptom"]:
        return "consequence"
    return "cause" if finding["severity"] == "error" else "warning"


def because(finding: Mapping[str, Any]) -> str:
    """What a consequence follows from; empty where that is not known."""
    cause = finding["because"]
    return f"{cause['code']}{' on ' + ', '.join(cause['hosts']) if cause['hosts'] else ''}" if cause else ""


def rows(finding: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Labels and texts of a finding, those that it has."""
    for label, text in (
        ("found", finding["found"]),
        ("wanted" if not finding["link"] else "why", finding["wanted"]),
        ("do", finding["remedy"]),
        ("applied by", finding["setting"]),
        ("follows", because(finding)),
        ("not", finding["not_means"]),
        ("source", finding["link"]),
    ):
        if text:
            yield label, str(text)


def _paragraph(number: int, finding: Mapping[str, Any]) -> Iterator[str]:
    yield f"{number:>3}. {_heading(finding)} [{kind(finding)}: {finding['code']}]"
    for label, text in rows(finding):
        head = f"     {label:<{_LABEL}} "
        lines = [line for part in text.splitlines() for line in textwrap.wrap(part, WIDTH - len(head)) or [""]]
        yield head + lines[0]
        for line in lines[1:]:
            yield " " * len(head) + line


def page_of(result: Mapping[str, Any], generated_at: str) -> dict[str, Any]:
    """The variables of ``doctor.html.j2``."""
    findings = [
        {**finding, "number": number, "kind": kind(finding), "heading": _heading(finding), "rows": list(rows(finding))}
        for number, finding in enumerate(result["findings"], 1)
    ]
    return {
        "title": "Fleet health",
        "generated_at": generated_at,
        "outcome": outcome(result),
        "healthy": result["exit_code"] == 0,
        "findings": findings,
        "looked_at": result["looked_at"],
    }
