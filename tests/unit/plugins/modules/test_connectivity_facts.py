# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module refuses; how ports answer is tested with the listener."""

from __future__ import annotations

import pytest
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.modules import connectivity_facts


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"ports": ["80"]}, "a dictionary of address and ports is wanted"),
        ("192.0.2.1", "a dictionary of address and ports is wanted"),
        ({"address": "192.0.2.1", "ports": ["http"]}, "targets: b: 'http' is no port"),
    ],
)
def test_targets_of_another_shape_are_refused(target, message):
    result = run_module(connectivity_facts.main, {"targets": {"b": target}})
    assert result["failed"]
    assert message in result["msg"]


def test_without_targets_there_is_nothing_to_tell():
    result = run_module(connectivity_facts.main, {"targets": {}})
    assert (result["changed"], result["ansible_facts"]) == (False, {"gpustack_connectivity": {}})
