# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built collection, installed into an empty place."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from installed import Place

CHECKOUT = Path(__file__).resolve().parents[2]
VERSION = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["version"]


@pytest.fixture(scope="session", name="built")
def fixture_built() -> Path:
    return CHECKOUT / "build" / f"gpuops-gpustack-{VERSION}.tar.gz"


@pytest.fixture(scope="session", name="place")
def fixture_place(tmp_path_factory: pytest.TempPathFactory, built: Path) -> Place:
    place = Place(tmp_path_factory.mktemp("installed"))
    place.run("ansible-galaxy", "collection", "install", "--no-deps", "--collections-path", "collections", built)
    return place
