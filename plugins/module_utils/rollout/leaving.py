# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which targets can leave their routes without anybody noticing, and where a gap is the price. Pure.

Requests reach an engine through the worker that leads its instance, so that worker decides about a target; workers that
only lend cards to an instance do not carry its requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..route_targets import Names, declared

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Leave:
    """What happens to the routes of a turn.

    `targets` may leave, each as a route's target is declared, with the name of its `route`; `gaps` is one sentence for
    each route that stops serving for a while; `refusals` one for each that would be left with fewer targets than it
    must keep.
    """

    targets: Sequence[dict[str, Any]]
    gaps: Sequence[str]
    refusals: Sequence[str]


def leave(
    goes: Callable[[Row], bool],
    routes: Iterable[Row],
    targets: Sequence[Row],
    instances: Sequence[Row],
    models: Iterable[Row],
    min_available: int | None,
) -> Leave:
    """Decide about every route that has a target on a running instance which `goes`.

    `min_available` targets of a route must go on serving; None asks that of all that do not take part in this turn, so
    that no turn begins while another replica is down.
    """
    names = Names({model["id"]: model["name"] for model in models})
    running: dict[Any, list[Row]] = {}
    for instance in instances:
        if instance["state"] == "running":
            running.setdefault(instance["model_id"], []).append(instance)
    away: list[dict[str, Any]] = []
    gaps: list[str] = []
    refusals: list[str] = []
    for route in routes:
        own = [target for target in targets if target["route_id"] == route["id"]]
        going = [target for target in own if any(map(goes, running.get(target.get("model_id"), ())))]
        if not going:
            continue
        staying = [target for target in own if target not in going]
        serving = [target for target in staying if target.get("provider_id") or running.get(target.get("model_id"))]
        wanted = len(staying) if min_available is None else min_available
        name = route["name"]
        if len(serving) < wanted:
            refusals.append(
                f"{name} would be left with {len(serving)} of {len(own)} targets that serve, and must keep {wanted}"
            )
        elif serving:
            away += [{"route": name, **declared(target, names)} for target in going]
        else:
            gaps.append(f"{name} does not answer meanwhile{_why(going, running)}")
    return Leave(tuple(away), tuple(gaps), tuple(refusals))


def _why(going: Sequence[Row], running: Mapping[Any, Sequence[Row]]) -> str:
    if max(len(running[target["model_id"]]) for target in going) > 1:
        return " at its replica here: replicas of one GPUStack model cannot be taken out of a route one by one"
    return ": it has no other replica"
