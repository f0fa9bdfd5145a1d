# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.plan_html import plan_html
from ansible_collections.gpuops.gpustack.plugins.filter.plan_table import plan_table
from ansible_collections.gpuops.gpustack.plugins.filter.without_secrets import without_secrets

FIXTURES = Path(__file__).parents[2] / "fixtures" / "plans"
PLANS = {
    "qwen": {
        "feasible": True,
        "env": {"HF_TOKEN": "token-in-a-variable", "NCCL_DEBUG": "INFO"},
        "backend_parameters": ["--hf-token=token-in-a-parameter", "--max-model-len=4096"],
    }
}


def test_values_of_secret_variables_and_parameters_are_masked_and_no_others() -> None:
    assert without_secrets(PLANS)["qwen"] == {
        "feasible": True,
        "env": {"HF_TOKEN": "********", "NCCL_DEBUG": "INFO"},
        "backend_parameters": ["--hf-token=********", "--max-model-len=4096"],
    }
    assert PLANS["qwen"]["env"]["HF_TOKEN"] == "token-in-a-variable"


@pytest.mark.parametrize("render", [plan_table, plan_html], ids=["table", "page"])
def test_table_and_page_show_no_secret(render: Callable[..., str]) -> None:
    reference = yaml.safe_load((FIXTURES / "reference.yml").read_text())
    for plan in reference["plans"].values():
        plan["env"].update(PLANS["qwen"]["env"])
        plan["backend_parameters"] += PLANS["qwen"]["backend_parameters"]
    shown = render(reference["plans"], reference["fleet"])
    assert "token-in-a" not in shown
    assert "VLLM_ALLOW_LONG_MAX_MODEL_LEN" in shown


def test_something_else_than_plans_is_one_clear_error() -> None:
    with pytest.raises(AnsibleFilterError, match="wanted are plans by model name"):
        without_secrets(["qwen"])
