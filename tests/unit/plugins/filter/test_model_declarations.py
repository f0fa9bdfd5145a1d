# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.model_declarations import model_declarations
from ansible_collections.gpuops.gpustack.plugins.module_utils.realisation import realise

DECLARED: dict[str, Any] = {
    "name": "qwen",
    "source": {"local_path": "/var/lib/models/Qwen"},
    "gpus": 2,
    "replicas": "2",
    "description": "for the chat",
}
ON_A = {"gpu_ids": ["a:cuda:0", "a:cuda:1"], "gpus_per_replica": 2}
ON_B = {"gpu_ids": ["b:cuda:0", "b:cuda:1"], "gpus_per_replica": 2}
PLAN: dict[str, Any] = {
    "replicas": 2,
    "rollout": "drain",
    "members": ["qwen", "qwen-r2"],
    "backend": "vLLM",
    "backend_version": "0.17.1",
    "backend_parameters": ["--tensor-parallel-size=2"],
    "env": {"A": "1"},
    "distributed": False,
    "gpus_per_replica": 2,
    "gpu_selectors": [ON_A, ON_B],
    "placements": [{"a": [0, 1]}, {"b": [0, 1]}],
    "predicted": {"weights_gib": 13.93, "kv_cache_gib": 13.971, "memory_gib": 31.74},
}


def test_declaration_and_plan_together_are_what_the_module_takes() -> None:
    (entry,) = model_declarations([DECLARED], {"qwen": PLAN})
    assert entry == {
        "name": "qwen",
        "local_path": "/var/lib/models/Qwen",
        "description": "for the chat",
        "replicas": 2,
        "rollout": "drain",
        "backend": "vLLM",
        "backend_version": "0.17.1",
        "backend_parameters": ["--tensor-parallel-size=2"],
        "env": {"A": "1"},
        "distributed_inference_across_workers": False,
        "gpu_selectors": [ON_A, ON_B],
        "planned": "2 of the GPUs of a or b for each of 2 replicas, with 13.93 GiB of weights and 13.97 GiB of KV "
        "cache in the 31.74 GiB of each",
    }
    assert [member.fields["gpu_selector"] for member in realise(entry).members] == [ON_A, ON_B]


def test_model_that_gpustack_places_names_no_cards() -> None:
    (entry,) = model_declarations([DECLARED], {"qwen": {**PLAN, "gpu_selectors": None}})
    assert "gpu_selectors" not in entry


def test_something_else_is_told_in_one_sentence() -> None:
    with pytest.raises(AnsibleFilterError, match=r"KeyError 'qwen'\. Wanted are the declared models, and their plans"):
        model_declarations([DECLARED], {})
