# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from ansible_collections.gpuops.gpustack.plugins.action import host_facts


@pytest.fixture(name="run")
def fixture_run(monkeypatch):
    """Runs the action; the controller's clock says 1000 s before and 1004 s after the module has run."""

    def run(module_result):
        clock = iter([1000.0, 1004.0])
        monkeypatch.setattr(host_facts.time, "time", lambda: next(clock))
        action = host_facts.ActionModule(MagicMock(async_val=False), MagicMock(), MagicMock(), None, None, None)
        action._execute_module = MagicMock(return_value=module_result)
        return action.run(task_vars={})

    return run


@pytest.mark.parametrize(("time_unix_s", "offset_s"), [(1002.0, 0.0), (1044.5, 42.5), (941.0, -61.0)])
def test_the_hosts_clock_is_compared_with_the_middle_of_the_round_trip(run, time_unix_s, offset_s):
    result = run({"changed": False, "ansible_facts": {"gpustack_host": {"time_unix_s": time_unix_s}}})
    assert result["ansible_facts"]["gpustack_host"] == {
        "time_unix_s": time_unix_s,
        "clock_offset_s": offset_s,
        "clock_uncertainty_s": 2.0,
    }


def test_a_failed_module_stays_failed(run):
    assert run({"failed": True, "msg": "why"}) == {"failed": True, "msg": "why"}
