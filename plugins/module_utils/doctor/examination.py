# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All checks, and their findings in the order in which a person should read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import engines, hosts, workers
from .finding import Finding, Look
from .signature import ERROR

CHECKS = (
    hosts.unreachable,
    hosts.preflight_findings,
    hosts.container_engines,
    hosts.connections,
    workers.server_container,
    workers.worker_containers,
    workers.registration,
    engines.old_configurations,
    engines.plan_against_reality,
    engines.logs,
    engines.states,
)

HEALTHY, FINDINGS, NOT_LOOKED = 0, 1, 2


def examine(look: Look) -> dict[str, Any]:
    """``{"exit_code", "findings", "looked_at"}``.

    Findings are dictionaries of ``Finding`` with ``because``, the code and hosts of what a symptom follows from, and
    ``times``, how many alike were found. Causes come before what follows from them: errors first, by the layer that is
    broken. ``exit_code`` is 0 for a healthy fleet, with or without warnings, 1 with findings, 2 where nothing could be
    looked at.
    """
    found = _merged([finding for check in CHECKS for finding in check(look)])
    ranked = sorted(found, key=lambda item: (item[0].symptom, item[0].severity != ERROR, item[0].layer))
    causes = [finding for finding, _times in ranked if not finding.symptom]
    ill = any(finding.symptom or finding.severity == ERROR for finding, _times in ranked)
    return {
        "exit_code": NOT_LOOKED if not look.reached else FINDINGS if ill else HEALTHY,
        "findings": [
            {**finding.as_dict(), "times": times, "because": _because(finding, causes)} for finding, times in ranked
        ],
        "looked_at": {
            "hosts": look.reached,
            "not_reached": [host for host in look.hosts if host not in look.reached],
            "server": bool((look.api or {}).get("answers")),
        },
    }


def _merged(findings: list[Finding]) -> list[tuple[Finding, int]]:
    """The same thing said by several logs of a host, or of the same engine, once."""
    merged: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.code, tuple(finding.hosts), finding.title, finding.found if not finding.link else "")
        merged.setdefault(key, []).append(finding)
    return [(alike[0], len(alike)) for alike in merged.values()]


def _because(finding: Finding, causes: list[Finding]) -> Mapping[str, Any] | None:
    """The first cause that can have brought a symptom about: on the same host, or on no one host at all."""
    if not finding.symptom:
        return None
    for cause in causes:
        shared = not cause.hosts or not finding.hosts or set(cause.hosts) & set(finding.hosts)
        if cause.severity == ERROR and shared and cause.layer <= finding.layer:
            return {"code": cause.code, "hosts": cause.hosts}
    # An engine spans hosts, so what broke on one shows on the others.
    spanning = [cause for cause in causes if cause.severity == ERROR]
    return {"code": spanning[0].code, "hosts": spanning[0].hosts} if spanning else None
