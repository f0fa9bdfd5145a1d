# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome as JUnit XML, which continuous integration reads: a test case for each thing that is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from ..smi.values import clean

_ELEMENTS = {"failed": "failure", "inconclusive": "error", "not run": "skipped"}
_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
# What holds of the whole test, and the limit that judges it.
_WHOLE = (("engines keep running", "restarts"), ("memory as planned", "kv_tokens_deviation_percent"))


def junit(record: Mapping[str, Any]) -> str:
    """A failed case is a failure, an inconclusive one an error. Beside the stages, what holds of the whole test."""
    suite = ElementTree.Element("testsuite", name=f"load test of {record['model']}", timestamp=record["time"])
    for entry in record["stages"]:
        name = entry["stage"]["name"]
        reasons = [reason for reason in record["reasons"] if reason["stage"] == name]
        _case(suite, record["model"], name, _seconds(entry), entry["verdict"], reasons)
    for name, code in _WHOLE:
        reasons = [reason for reason in record["reasons"] if reason["code"] == code and reason["stage"] is None]
        _case(suite, record["model"], name, 0.0, "failed" if reasons else "passed", reasons)
    judged = {code for _name, code in _WHOLE}
    others = [reason for reason in record["reasons"] if reason["stage"] is None and reason["code"] not in judged]
    if others:
        _case(suite, record["model"], "test", 0.0, others[0]["verdict"], others)
    suite.set("tests", str(len(suite)))
    for attribute, element in _COUNTS.items():
        suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(
    suite: ElementTree.Element,
    model: str,
    name: str,
    seconds: float,
    verdict: str,
    reasons: Sequence[Mapping[str, Any]],
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=model, name=name, time=f"{seconds:.3f}")
    if verdict in _ELEMENTS:
        found = ElementTree.SubElement(case, _ELEMENTS[verdict])
        if reasons:
            found.set("message", clean(reasons[0]["message"]))
            found.text = clean("\n".join(reason["message"] for reason in reasons))


def _seconds(entry: Mapping[str, Any]) -> float:
    figures = entry["figures"] or {}
    return (figures["ended_at"] - figures["started_at"]) if figures.get("ended_at") else 0.0
