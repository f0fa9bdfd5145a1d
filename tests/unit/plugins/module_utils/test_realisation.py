# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.realisation import cards_of, check_names, realise

ON_A = {"gpu_ids": ["gpu-worker-a:cuda:0", "gpu-worker-a:cuda:1"], "gpus_per_replica": 2}
ON_B = {"gpu_ids": ["gpu-worker-b:cuda:0", "gpu-worker-b:cuda:1"], "gpus_per_replica": 2}
DECLARED: dict[str, Any] = {"name": "qwen", "local_path": "/m", "env": {"A": 1}, "access_policy": "public"}
TWO: dict[str, Any] = {**DECLARED, "replicas": 2, "gpu_selectors": [ON_A, ON_B]}


def selectors(realisation: Any) -> dict[str, Any]:
    return {member.name: member.fields.get("gpu_selector") for member in realisation.members}


def test_one_replica_is_one_model_as_declared() -> None:
    realisation = realise({**DECLARED, "replicas": 1})
    (member,) = realisation.members
    assert member.fields == {
        "name": "qwen",
        "source": "local_path",
        "local_path": "/m",
        "env": {"A": "1"},
        "replicas": 1,
        "huggingface_repo_id": None,
        "huggingface_filename": None,
        "model_scope_model_id": None,
        "model_scope_file_path": None,
    }
    assert (member.is_first, realisation.access_policy) == (True, "public")


def test_several_replicas_are_as_many_models_of_one_each_on_its_own_cards() -> None:
    realisation = realise(TWO)
    assert [(member.name, member.of, member.is_first) for member in realisation.members] == [
        ("qwen", "qwen", True),
        ("qwen-r2", "qwen", False),
    ]
    assert [member.fields["replicas"] for member in realisation.members] == [1, 1]
    assert [member.fields["name"] for member in realisation.members] == ["qwen", "qwen-r2"]
    assert selectors(realisation) == {"qwen": ON_A, "qwen-r2": ON_B}


def test_recreate_is_one_model_with_all_replicas_on_all_their_cards() -> None:
    (member,) = realise({**TWO, "rollout": "recreate"}).members
    assert member.fields["replicas"] == 2
    assert member.fields["gpu_selector"] == {"gpu_ids": [*ON_A["gpu_ids"], *ON_B["gpu_ids"]], "gpus_per_replica": 2}


def test_member_that_is_on_the_cards_of_another_replica_stays_there() -> None:
    assert selectors(realise(TWO, {"qwen": frozenset(ON_B["gpu_ids"])})) == {"qwen": ON_B, "qwen-r2": ON_A}


def test_member_on_cards_that_no_replica_shall_have_gets_the_first_that_are_left() -> None:
    present = {"qwen": frozenset({"gpu-worker-c:cuda:0"}), "qwen-r2": frozenset(ON_A["gpu_ids"])}
    assert selectors(realise(TWO, present)) == {"qwen": ON_B, "qwen-r2": ON_A}


def test_stopped_model_is_one_model() -> None:
    realisation = realise({**DECLARED, "replicas": 0})
    assert [member.fields["replicas"] for member in realisation.members] == [0]


def test_cards_of_a_distributed_instance_are_those_of_all_its_workers() -> None:
    instance = {
        "worker_name": "gpu-worker-a",
        "gpu_type": "cuda",
        "gpu_indexes": [0, 1],
        "distributed_servers": {"subordinate_workers": [{"worker_name": "gpu-worker-b", "gpu_indexes": [0, 1]}]},
    }
    assert cards_of(instance) == {*ON_A["gpu_ids"], *ON_B["gpu_ids"]}
    assert cards_of({"worker_name": None, "gpu_indexes": None, "distributed_servers": None}) == frozenset()


@pytest.mark.parametrize(
    ("declarations", "message"),
    [
        ([TWO, {"name": "qwen-r2", "local_path": "/n"}], "Model 'qwen-r2' is declared, and a replica of 'qwen' is"),
        ([{"name": "qwen-r2", "local_path": "/n"}, TWO], "Model 'qwen-r2' is declared, and a replica of 'qwen' is"),
        ([DECLARED, DECLARED], "Model 'qwen' is declared twice"),
    ],
)
def test_two_models_of_one_name_are_refused(declarations: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_names([realise(declaration) for declaration in declarations])


def test_name_of_a_replica_that_there_is_not_is_free() -> None:
    check_names([realise(TWO), realise({"name": "qwen-r3", "local_path": "/n"})])
    check_names([realise({**TWO, "rollout": "recreate"}), realise({"name": "qwen-r2", "local_path": "/n"})])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpu_selectors": [ON_A]}, "has 2 replicas and 1 gpu_selectors"),
        ({"gpu_selector": ON_A}, "has gpu_selector and gpu_selectors"),
        ({"gpu_selectors": None, "gpu_selector": ON_A}, "one gpu_selector for all"),
        ({"name": "1st"}, "name is '1st'"),
        ({"scaling_schedule": {"enabled": True}}, "has a scaling_schedule and 2 replicas"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        realise({**TWO, **changes})
