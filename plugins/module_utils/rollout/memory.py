# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a turn has to put back, kept where it survives the controller, the worker and everybody's patience. Pure.

It stands behind the message of the worker's maintenance, which GPUStack shows to people and keeps through restarts:

    New power supply [gpuops turn {"models": ["qwen"], "ours": false, "targets": [...]}]

So a run that was killed is taken up by the next one, from whichever machine, and a message that a person wrote comes
back as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_NOTE = re.compile(r"\s*\[gpuops turn (?P<memory>\{.*\})\]$", re.DOTALL)
_MESSAGE = "Rolling update"


@dataclass(frozen=True)
class Memory:
    """`ours`: the turn switched maintenance on. `models`: names of those that ran on the worker when it began.
    `targets`: what left its route, as it is declared, with the name of its `route`."""

    ours: bool
    models: Sequence[str] = ()
    targets: Sequence[Mapping[str, Any]] = ()


def memory_of(maintenance: Mapping[str, Any] | None) -> Memory | None:
    """The memory of a turn that has begun and not ended; None when there is none."""
    match = _NOTE.search((maintenance or {}).get("message") or "")
    if match is None:
        return None
    try:
        noted = json.loads(match["memory"])
        return Memory(bool(noted["ours"]), tuple(noted["models"]), tuple(noted["targets"]))
    except (ValueError, KeyError, TypeError):
        return None  # edited into something unreadable, so nothing can be put back by it


def begun(
    maintenance: Mapping[str, Any] | None, models: Iterable[str], targets: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The maintenance of a worker whose turn has begun; one that was interrupted keeps what it remembered."""
    earlier = memory_of(maintenance)
    on = bool((maintenance or {}).get("enabled"))
    ours = earlier.ours if earlier else not on
    known = [*(earlier.targets if earlier else ())]
    known += [target for target in targets if not any(same_target(target, other) for other in known)]
    ran = sorted({*models, *(earlier.models if earlier else ())})
    note = json.dumps({"ours": ours, "models": ran, "targets": known}, separators=(",", ":"), sort_keys=True)
    return {"enabled": True, "message": f"{_person(maintenance) or _MESSAGE} [gpuops turn {note}]"}


def resumed(maintenance: Mapping[str, Any] | None) -> dict[str, Any]:
    """The maintenance of a worker that may take instances again, as far as it is for the turn to say."""
    memory = memory_of(maintenance)
    current = dict(maintenance or {})
    enabled = bool(current.get("enabled")) and not (memory is not None and memory.ours)
    return {"enabled": enabled, "message": current.get("message")}


def ended(maintenance: Mapping[str, Any] | None) -> dict[str, Any]:
    """The maintenance as it was before the turn."""
    enabled = resumed(maintenance)["enabled"]
    return {"enabled": enabled, "message": _person(maintenance) if enabled else None}


def _person(maintenance: Mapping[str, Any] | None) -> str | None:
    """The message without a turn's note; None where nothing is left that a person has written."""
    text = _NOTE.sub("", (maintenance or {}).get("message") or "")
    return None if text in ("", _MESSAGE) else text


def same_target(target: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (target["route"], target["model"]) == (other["route"], other["model"])
