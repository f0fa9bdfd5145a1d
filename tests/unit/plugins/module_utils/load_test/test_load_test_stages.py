# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.stages import StageError, stages

DEFAULTS = yaml.safe_load((Path(__file__).resolve().parents[5] / "roles/load_test/defaults/main.yml").read_text())
CAPACITY = {"max_model_len": 65536, "concurrency": 6.98}


def one(step: dict[str, Any], capacity: dict[str, Any] = CAPACITY) -> dict[str, Any]:
    (stage,) = stages({"mine": [step]}, ["mine"], capacity)
    return stage


def step(**changes: Any) -> dict[str, Any]:
    base = {"prompt_tokens": 512, "answer_tokens": 64, "concurrency": 2, "requests": 4}
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


def test_a_step_of_plain_numbers_is_taken_as_it_is() -> None:
    assert one(step()) == {
        "name": "mine-1",
        "profile": "mine",
        "prompt_tokens": 512,
        "answer_tokens": 64,
        "concurrency": 2,
        "level": pytest.approx(2 / 6.98),
        "requests": 4,
        "seconds": None,
        "limits": {},
    }


def test_half_of_the_context_is_prompt_and_answer_together() -> None:
    assert one(step(prompt_tokens=None, context_share=0.5))["prompt_tokens"] == 32768 - 64


def test_the_whole_context_leaves_room_for_template_and_retokenised_text() -> None:
    prompt = one(step(prompt_tokens=None, context_share=1, answer_tokens=128))["prompt_tokens"]
    assert prompt == 64880 - 64 - 128  # 99 % of 65,536, less what a chat template takes


@pytest.mark.parametrize(("share", "wanted"), [(0.1, 1), (0.5, 3), (1, 6), (1.01, 8), (1.5, 11)])
def test_a_share_of_the_concurrency_fits_up_to_one_and_exceeds_it_beyond(share: float, wanted: int) -> None:
    assert one(step(concurrency=None, concurrency_share=share))["concurrency"] == wanted


def test_rounds_are_as_many_requests_as_there_are_at_once() -> None:
    assert one(step(requests=None, rounds=3))["requests"] == 6


def test_a_stage_may_end_by_time() -> None:
    stage = one(step(requests=None, seconds=90))
    assert (stage["requests"], stage["seconds"]) == (None, 90)


def test_profiles_run_in_the_order_chosen() -> None:
    found = stages({"a": [step(), step()], "b": [step()]}, ["b", "a"], CAPACITY)
    assert [stage["name"] for stage in found] == ["b-1", "a-1", "a-2"]


def test_numbers_may_be_texts_as_the_command_line_gives_them() -> None:
    assert one(step(prompt_tokens="1000"))["prompt_tokens"] == 1000


def test_built_in_profiles_go_up_to_the_context_and_past_the_concurrency() -> None:
    found = stages(DEFAULTS["gpustack_load_test_profiles"], ["smoke", "long", "concurrent", "soak"], CAPACITY)
    assert max(stage["prompt_tokens"] for stage in found) == 64688
    assert [stage["concurrency"] for stage in found if stage["profile"] == "concurrent"] == [1, 3, 6, 11]
    assert {stage["seconds"] for stage in found if stage["profile"] == "soak"} == {3600}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt_tokens": None}, "has none of prompt_tokens, context_share; wanted is one of them"),
        ({"context_share": 1}, "has prompt_tokens and context_share of"),
        ({"prompt_tokens": 65000}, "prompts of 65,000 and answers of 64 tokens; a request of this model has 65,536"),
        ({"prompt_tokens": None, "context_share": 1.2}, "context_share 1.2; a request cannot be longer than 1"),
        ({"concurrency": 0}, "has concurrency 0; wanted is a number above 0"),
        ({"requests": "many"}, "has requests 'many'; wanted is a number above 0"),
        ({"answer_tokens": None}, "has answer_tokens None"),
        ({"concurency": 3}, "has concurency; known are: answer_tokens"),
    ],
)
def test_a_wrong_step_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StageError, match="Step 1 of load test profile mine") as refusal:
        one(step(**changes))
    assert message in str(refusal.value)


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    with pytest.raises(StageError, match="no load test profile sokae; there are: smoke, soak"):
        stages({"smoke": [step()], "soak": [step()]}, ["sokae"], CAPACITY)


def test_without_capacity_there_is_nothing_to_ask() -> None:
    with pytest.raises(StageError, match="Declare the model"):
        one(step(), {"max_model_len": 65536, "concurrency": None})
