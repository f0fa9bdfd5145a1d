# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.realisation import realise
from ansible_collections.gpuops.gpustack.plugins.module_utils.reconciliation import Present, writes_of

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
ROLES = [{"name": "prefill"}, {"name": "decode"}, {"name": "router"}]


@pytest.mark.parametrize(
    ("model", "instances", "held_back", "written"),
    [
        # Which of two instances of one model would stay, and on which cards, nobody knows.
        ({"replicas": 2, "roles": None}, 2, True, ["m"]),
        ({"replicas": 1, "roles": None}, 1, False, ["m-r2"]),
        # The instances of a model with roles are one replica.
        ({"replicas": 1, "roles": ROLES}, 3, False, ["m-r2"]),
    ],
)
def test_second_replica_waits_while_the_first_model_has_several(
    model: dict[str, Any], instances: int, held_back: bool, written: list[str]
) -> None:
    fields = {"name": "m", "local_path": "/m", "backend": "vLLM", "roles": model["roles"]}
    wanted = realise({**fields, "replicas": 2})
    first = {**wanted.members[0].fields, **model, "id": 1, "env": {}, "name": "m"}
    rows = [{"name": f"m-{number}", "state": "running", "created_at": "2026-03-01"} for number in range(instances)]
    writes = writes_of(wanted, Present({"m": first}, {1: rows}), NOW, defer_running=False)
    assert (writes.held_back, [write.member.name for write in writes.writes]) == (held_back, written)
