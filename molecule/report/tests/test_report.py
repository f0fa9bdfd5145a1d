# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The field report, from its first page to its last.

A model deployed by hand, with pipeline parallelism over Volta cards, dies at the first chat; ``site.yml`` puts the same
model right, and long concurrent chats pass. The tests are the steps of one story and run in the order written.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from demo_fleet import REPORTED_PARAMETERS, Fleet, engine_command_lines, site, wait_for

REPORTED = "qwen2.5-14b-instruct"
LARGE = "qwen2.5-32b-instruct"
LINES_OF_THE_REPORT = [
    "'_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'",
    "ray.exceptions.ActorUnavailableError",
]
SHORTER_CONTEXT = (
    '{"gpustack_models_declared": [{"name": "qwen2.5-14b-instruct", "gpus": 4, "context": 32768, "tools": true, '
    '"concurrency": 4, "source": {"local_path": "/var/lib/models/Qwen2.5-14B-Instruct"}}]}'
)
LARGE_DECLARED = (
    '{"gpustack_models_declared": [{"name": "qwen2.5-32b-instruct", "gpus": 4, "context": 32768, "tools": true, '
    '"source": {"local_path": "/var/lib/models/Qwen2.5-32B-Instruct"}}]}'
)
# About 12,000 tokens each: longer than a chat, as the report's checklist asks for.
LONG_QUESTION = (
    "Summarise the following minutes of the meeting. " + "The rack was moved, the cable was labelled. " * 1300
)


@pytest.fixture(scope="module", name="fleet")
def fixture_fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    yield fleet
    fleet.delete_all_models()


def crash_with_one_chat(fleet: Fleet, model: str) -> None:
    """Ask once, and see the engine die of it with the report's lines, and GPUStack count a restart."""
    fleet.chat_when_routed(model, "Hello?", max_tokens=200)
    # The restarted engine begins a new log, so this is the time to read the old one.
    wait_for(
        lambda: all(line in fleet.log(fleet.instances(model)[0]) for line in LINES_OF_THE_REPORT),
        f"the lines of the report in the log of {model}",
        60,
        interval_seconds=0.5,
    )
    wait_for(lambda: any(instance["restart_count"] for instance in fleet.instances(model)), "a restart", 120, 1)


def assert_survives_long_concurrent_chats(fleet: Fleet, model: str) -> None:
    before = {instance["name"] for instance in fleet.instances(model)}
    answers = fleet.concurrent_chats(model, [f"{number}. {LONG_QUESTION}" for number in range(8)], max_tokens=100)
    assert [answer.status_code for answer in answers] == [200] * 8
    assert all(answer.json()["usage"]["prompt_tokens"] > 8000 for answer in answers)
    instances = fleet.instances(model)
    assert {instance["name"] for instance in instances} == before
    assert [(instance["state"], instance["restart_count"] or 0) for instance in instances] == [("running", 0)]


def test_parameters_of_the_report_start_and_die_at_the_first_chat(fleet: Fleet) -> None:
    fleet.delete_all_models()
    fleet.deploy(
        REPORTED, "Qwen2.5-14B-Instruct", backend_parameters=REPORTED_PARAMETERS, env={"RAY_CGRAPH_get_timeout": "300"}
    )
    fleet.wait_until_running(REPORTED)
    crash_with_one_chat(fleet, REPORTED)


def test_site_puts_the_same_model_right(fleet: Fleet) -> None:
    run = site()
    assert run.returncode == 0, run.stdout[-5000:]
    (command,) = engine_command_lines(REPORTED)
    assert {"--tensor-parallel-size=4", "--pipeline-parallel-size=1", "--max-model-len=65536"} <= set(command)
    assert "RAY_CGRAPH_get_timeout" not in (fleet.model(REPORTED) or {})["env"]
    assert_survives_long_concurrent_chats(fleet, REPORTED)


def test_second_run_changes_nothing(fleet: Fleet) -> None:
    instance = fleet.instances(REPORTED)[0]["name"]
    run = site()
    assert "Nothing changed: everything is as declared." in run.stdout, run.stdout[-3000:]
    assert fleet.instances(REPORTED)[0]["name"] == instance


def test_changed_context_is_shown_first_and_applied_by_the_next_run(fleet: Fleet) -> None:
    before = fleet.instances(REPORTED)[0]["name"]
    shown = site("--check", "--diff", "--extra-vars", SHORTER_CONTEXT)
    assert shown.returncode == 0, shown.stdout[-5000:]
    assert "-    - --max-model-len=65536" in shown.stdout
    assert "+    - --max-model-len=32768" in shown.stdout
    assert "Done: 1 thing on 1 host would change." in shown.stdout
    assert fleet.instances(REPORTED)[0]["name"] == before

    run = site("--extra-vars", SHORTER_CONTEXT)
    assert run.returncode == 0, run.stdout[-5000:]
    (command,) = engine_command_lines(REPORTED)
    assert "--max-model-len=32768" in command
    assert "VLLM_ALLOW_LONG_MAX_MODEL_LEN" not in (fleet.model(REPORTED) or {})["env"]


def test_gpustack_left_alone_picks_pipeline_parallelism_and_dies(fleet: Fleet) -> None:
    fleet.delete_all_models()
    fleet.deploy(LARGE, "Qwen2.5-32B-Instruct")
    fleet.wait_until_running(LARGE)
    (command,) = engine_command_lines(LARGE)
    text = " ".join(command).replace("=", " ")
    assert "--tensor-parallel-size 2" in text
    assert "--pipeline-parallel-size 2" in text
    crash_with_one_chat(fleet, LARGE)


def test_the_same_model_declared_and_planned_answers(fleet: Fleet) -> None:
    run = site("--extra-vars", LARGE_DECLARED)
    assert run.returncode == 0, run.stdout[-5000:]
    (command,) = engine_command_lines(LARGE)
    assert {"--tensor-parallel-size=4", "--pipeline-parallel-size=1"} <= set(command)
    assert_survives_long_concurrent_chats(fleet, LARGE)
