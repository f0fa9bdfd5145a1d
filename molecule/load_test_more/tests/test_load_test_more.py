# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load tests that take longer. The tests are the steps of one story and run in the order written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo_fleet import REPORTED_PARAMETERS, Fleet, site
from load_tests import MODEL, PACE, PLANNED, SOAK_SECONDS, load_test, variables


@pytest.fixture(scope="module", name="fleet")
def fixture_fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    yield fleet
    fleet.delete_all_models()


def test_what_dies_of_long_prompts_alone_fails_in_the_stage_that_has_them(fleet: Fleet, tmp_path: Path) -> None:
    fleet.delete_all_models()
    parameters = [
        parameter.replace("tensor-parallel-size=2", "tensor-parallel-size=4") for parameter in REPORTED_PARAMETERS
    ]
    parameters.remove("--pipeline-parallel-size=2")
    env = {**PACE, "BENCH_LONGEST_PROMPT_TOKENS": "20000"}
    fleet.deploy(MODEL, "Qwen2.5-14B-Instruct", backend_parameters=parameters, env=env)
    fleet.wait_until_running(MODEL, 600)
    code, found, _place = load_test(tmp_path, "short,long", [])
    assert code != 0
    verdicts = {entry["stage"]["name"]: entry["verdict"] for entry in found["stages"]}
    assert verdicts == {"short-1": "passed", "long-1": "passed", "long-2": "failed"}
    assert found["stops"][0]["crashes"][0]["id"] == "cuda-out-of-memory"


def test_many_requests_at_once_reach_the_engine_and_pass(fleet: Fleet, tmp_path: Path) -> None:
    run = site(*variables(tmp_path, "short", [PLANNED]))
    assert run.returncode == 0, run.stdout[-5000:]
    code, found, _place = load_test(tmp_path, "concurrent", [PLANNED])
    assert (code, found["verdict"], found["reasons"]) == (0, "passed", [])
    assert found["stages"][0]["seen"]["in_engine"] >= 5
    print(json.dumps(found["stages"][0], indent=1))


def test_a_soak_goes_on_for_its_time_and_is_watched_all_the_while(fleet: Fleet, tmp_path: Path) -> None:
    code, found, _place = load_test(tmp_path, "soak", [PLANNED])
    assert (code, found["verdict"], found["reasons"]) == (0, "passed", [])
    figures = found["stages"][0]["figures"]
    assert figures["ended_at"] - figures["started_at"] > 0.9 * SOAK_SECONDS
    times = [sample["at"] for sample in found["samples"]]
    assert times[-1] - times[0] > 0.9 * SOAK_SECONDS
    print(json.dumps(figures, indent=1))
