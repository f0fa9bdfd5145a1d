# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.rollout_policy import FilterModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.rollout.policy import SETTINGS, STRATEGIES

policy = FilterModule().filters()["rollout_policy"]
SPECIFIED = yaml.safe_load(
    (Path(__file__).resolve().parents[4] / "roles/rollout/meta/argument_specs.yml").read_text(encoding="utf-8")
)["argument_specs"]["models"]["options"]["gpustack_rollout"]["options"]


def test_every_setting_and_its_default_is_in_the_argument_specs() -> None:
    assert {name: option.get("default") for name, option in SPECIFIED.items()} == policy({})
    assert SPECIFIED["strategy"]["choices"] == list(STRATEGIES)
    assert SPECIFIED.keys() == SETTINGS.keys()


def test_model_overrides_the_fleet_which_overrides_the_defaults() -> None:
    found = policy({"settle": "60", "drain_timeout": 20}, {"settle": 5}, "qwen")
    assert (found["settle"], found["drain_timeout"], found["canary_requests"]) == (5, 20, 8)
    assert policy({}, "surge")["strategy"] == "surge"
    assert policy({"strategy": "drain"}, "")["strategy"] == policy({"strategy": "drain"}, None)["strategy"] == "drain"


def test_gap_minds_no_other_replica_unless_told() -> None:
    assert policy({"strategy": "gap"})["min_available"] == 0
    assert policy({"strategy": "gap", "min_available": 1})["min_available"] == 1
    assert policy({})["min_available"] is None


@pytest.mark.parametrize(
    ("fleet", "model", "said"),
    [
        ({"settel": 3}, None, "gpustack_rollout has 'settel', which is no setting there. It takes canary_prompt, "),
        ({"settle": "soon"}, None, "gpustack_rollout: settle is 'soon'; wanted is whole seconds."),
        ({"settle": True}, None, "settle is True"),
        ({"drain_timeout": -1}, None, "drain_timeout is -1"),
        ({"min_available": "all"}, None, "wanted is a number of targets, or null for all others."),
        ({"strategy": "recreate"}, None, "wanted is auto or drain or surge or blue_green or gap."),
        ({"strategy": ["drain"]}, None, "strategy is ['drain']"),
        ({"serial": [0]}, None, "serial is [0]; wanted is numbers of hosts or percentages such as 25%."),
        ({"weights": [50, 10, 100]}, None, "wanted is rising percentages"),
        ({"canary_prompt": 5}, None, "canary_prompt is 5"),
        ("drain", None, "gpustack_rollout is 'drain'; wanted is a mapping of settings"),
        ({}, "canary", "rollout of model qwen: strategy is 'canary'; wanted is auto or "),
        ({}, {"serial": [1]}, "rollout of model qwen has 'serial', which is no setting there."),
    ],
)
def test_what_is_no_setting_is_refused_in_one_sentence(fleet: Any, model: Any, said: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        policy(fleet, model, "qwen")
    assert said in str(refused.value)
