# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests of the hosts share; none of it comes from the roles that are tested."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest


@pytest.fixture(name="inspect")
def fixture_inspect(host: Any) -> Callable[[str], dict[str, Any]]:
    """What the container engine of the host tells of one container."""

    def inspect(container: str) -> dict[str, Any]:
        return json.loads(host.check_output("docker inspect %s", container))[0]

    return inspect


@pytest.fixture(name="engine_containers")
def fixture_engine_containers(host: Any) -> Callable[[str], list[dict[str, Any]]]:
    """The containers on the host whose names match a model instance's."""

    def engine_containers(pattern: str) -> list[dict[str, Any]]:
        names = host.check_output("docker ps --format '{{.Names}}'").split()
        matching = [name for name in names if pattern in name]
        return json.loads(host.check_output("docker inspect " + " ".join(matching))) if matching else []

    return engine_containers
