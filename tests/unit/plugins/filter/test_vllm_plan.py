# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter: plans through, planner's errors as one sentence of Ansible's."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.vllm_plan import FilterModule

vllm_plan = FilterModule().filters()["vllm_plan"]

MODEL = {"name": "small", "source": {"huggingface_repo_id": "Qwen/Qwen2.5-7B-Instruct"}}


@pytest.fixture
def fleet() -> dict[str, Any]:
    devices = [
        {
            "index": index,
            "name": "Tesla V100-PCIE-32GB",
            "compute_capability": "7.0",
            "memory_total_mib": 32768,
            "usable": True,
        }
        for index in range(2)
    ]
    link = {"0-1": {"topology": "SYS", "nvlinks": 0, "p2p_read": None}}
    return {"node-1": {"driver_version": "570.133.20", "devices": devices, "links": link, "problems": []}}


def test_a_model_gives_its_plan(fleet: dict[str, Any]) -> None:
    plan = vllm_plan(MODEL, fleet)
    assert plan["feasible"] is True
    assert plan["placement"] == {"node-1": [0]}


def test_a_list_of_models_shares_the_cards(fleet: dict[str, Any]) -> None:
    plans = vllm_plan([MODEL, {**MODEL, "name": "second"}, {**MODEL, "name": "third"}], fleet)
    assert [plan["placement"] for plan in plans] == [{"node-1": [0]}, {"node-1": [1]}, {}]
    assert [plan["feasible"] for plan in plans] == [True, True, False]


def test_a_model_that_does_not_fit_is_no_error(fleet: dict[str, Any]) -> None:
    plan = vllm_plan({**MODEL, "source": {"huggingface_repo_id": "Qwen/Qwen2.5-72B-Instruct"}}, fleet)
    assert plan["feasible"] is False
    assert plan["problems"][0]["remedies"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({**MODEL, "contxt": 1}, r"contxt is not a key of a model \(did you mean context\?\)"),
        ({**MODEL, "backend_parameters": ["--no-such-flag"]}, "--no-such-flag, which vLLM 0.17.1 does not know"),
        ("small", "wants a model or a list of models, got str"),
        ([MODEL, "small"], "wanted a mapping"),
    ],
)
def test_wrong_input_is_one_sentence(model: Any, message: str, fleet: dict[str, Any]) -> None:
    with pytest.raises(AnsibleFilterError, match=message) as raised:
        vllm_plan(model, fleet)
    assert "\n" not in str(raised.value)
