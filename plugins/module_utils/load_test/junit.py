# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome as JUnit XML, which continuous integration reads: a test case for each thing that is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

_ELEMENTS = {"failed": "failure", "inconclusive": "error"}


def junit(record: Mapping[str, Any]) -> str:
    """A failed case is a failure, an inconclusive one an error. Beside the stages, what holds of the whole test."""
    cases = [(entry["stage"]["name"], entry["stage"]["name"], _seconds(entry)) for entry in record["stages"]]
    whole = [("engines keep running", "restarts"), ("memory as planned", "kv_tokens_deviation_percent")]
    suite = ElementTree.Element("testsuite", name=f"load test of {record['model']}", timestamp=record["time"])
    counts = dict.fromkeys(_ELEMENTS.values(), 0)
    for name, stage, seconds in cases:
        reasons = [reason for reason in record["reasons"] if reason["stage"] == stage]
        _case(suite, record, name, seconds, reasons, counts)
    for name, code in whole:
        reasons = [reason for reason in record["reasons"] if reason["code"] == code and reason["stage"] is None]
        _case(suite, record, name, 0.0, reasons, counts)
    suite.set("tests", str(len(cases) + len(whole)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(
    suite: ElementTree.Element,
    record: Mapping[str, Any],
    name: str,
    seconds: float,
    reasons: list[Mapping[str, Any]],
    counts: dict[str, int],
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=record["model"], name=name, time=f"{seconds:.3f}")
    if reasons:
        kind = _ELEMENTS[reasons[0]["verdict"]]
        counts[kind] += 1
        found = ElementTree.SubElement(case, kind, message=reasons[0]["message"])
        found.text = "\n".join(reason["message"] for reason in reasons)


def _seconds(entry: Mapping[str, Any]) -> float:
    figures = entry.get("figures") or {}
    return (figures["ended_at"] - figures["started_at"]) if figures.get("ended_at") else 0.0
