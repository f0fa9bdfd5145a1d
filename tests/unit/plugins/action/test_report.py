# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.gpuops.gpustack.plugins.action import report


@pytest.fixture(name="run")
def fixture_run(monkeypatch):
    """Runs the action with these arguments; returns the result and what was shown."""

    def run(arguments, no_log=False, check_mode=False):
        task = MagicMock(args=arguments, no_log=no_log, async_val=False, check_mode=check_mode, diff=False)
        action = report.ActionModule(task, MagicMock(), MagicMock(check_mode=check_mode), None, None, None)
        action._load_name = "gpuops.gpustack.report"  # as its loader would
        shown = []
        action._display = MagicMock(display=lambda text: shown.append(text))
        return action.run(task_vars={}), shown

    return run


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_text_is_shown_as_it_is(run, check_mode):
    text = "2 hosts ready\n\n  a  'quoted' \"text\" {{ braces }} ü\n"
    result, shown = run({"text": text}, check_mode=check_mode)
    assert shown == [text[:-1]]
    assert result["changed"] is False
    assert "failed" not in result


def test_a_secret_text_is_not_shown(run):
    _result, shown = run({"text": "secret"}, no_log=True)
    assert shown == []


@pytest.mark.parametrize("arguments", [{}, {"text": "a", "colour": "red"}])
def test_other_arguments_are_refused(run, arguments):
    with pytest.raises((AnsibleActionFail, AnsibleError)):
        run(arguments)
