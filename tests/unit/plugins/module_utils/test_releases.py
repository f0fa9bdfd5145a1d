# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import (
    NEWER_FIELDS,
    cluster_fields,
    cluster_registry,
    refuse_newer_fields,
)

OLD, NEWEST = (2, 1, 1), (2, 3, 0)


@pytest.mark.parametrize("label", NEWER_FIELDS)
def test_newer_fields_are_refused_by_name_and_release_on_an_older_server(label: str) -> None:
    for name in NEWER_FIELDS[label]:
        refuse_newer_fields(label, {name: "x"}, NEWEST)
        refuse_newer_fields(label, {name: None}, OLD)
        with pytest.raises(
            Invalid, match=rf"{name} of .*{label} needs GPUStack 2\.[23]\.0 or newer; this server is 2.1.1"
        ):
            refuse_newer_fields(label, {name: "x"}, OLD)


@pytest.mark.parametrize(
    "declared",
    [
        {"system_default_container_registry": "r"},
        {"worker_config": {"system_default_container_registry": "r"}},
    ],
)
def test_default_registry_goes_where_the_release_keeps_it(declared: dict[str, object]) -> None:
    old, new = cluster_fields(declared, OLD), cluster_fields(declared, NEWEST)
    assert old == {"worker_config": {"system_default_container_registry": "r"}}
    assert new["system_default_container_registry"] == "r"
    assert not new.get("worker_config")
    assert (cluster_registry(old), cluster_registry(new)) == ("r", "r")
