# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load tests on the simulated fleet: the configuration of the field report fails, the planned one passes.

The tests are the steps of one story and run in the order written. Traffic is AIPerf's, through the real GPUStack. The
engines answer slowly, so that the generator needs little of the two processors that all of this shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from demo_fleet import MODELS, Fleet, site

REPORTED = "qwen2.5-14b-instruct"
# The report's "before" column.
BEFORE = [
    "--tensor-parallel-size=2",
    "--pipeline-parallel-size=2",
    "--distributed-executor-backend=ray",
    "--max-model-len=32768",
    "--generation-config=vllm",
]
PLANNED = {
    "name": REPORTED,
    "gpus": 4,
    "context": 32768,
    "concurrency": 4,
    "source": {"local_path": f"{MODELS}/Qwen2.5-14B-Instruct"},
    "env": {"BENCH_TOKENS_PER_SECOND": "8", "BENCH_PREFILL_TOKENS_PER_SECOND": "40000"},
}
PROFILES = {
    "short": [{"prompt_tokens": 256, "answer_tokens": 64, "concurrency": 1, "requests": 2}],
    "long": [
        {"context_share": 0.25, "answer_tokens": 32, "concurrency": 1, "requests": 1},
        {"context_share": 1, "answer_tokens": 32, "concurrency": 1, "requests": 2},
    ],
    "concurrent": [{"prompt_tokens": 1000, "answer_tokens": 64, "concurrency": 12, "requests": 24}],
}


@pytest.fixture(scope="module", name="fleet")
def fixture_fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    yield fleet
    fleet.delete_all_models()


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def variables(results: Path, profile: str, declared: list[dict[str, Any]], **others: Any) -> list[str]:
    given = {
        "gpustack_models_declared": declared,
        "gpustack_load_test_models": [REPORTED],
        "gpustack_load_test_run": profile.split(),
        "gpustack_load_test_profiles": PROFILES,
        "gpustack_load_test_directory": str(results),
        **others,
    }
    return ["--extra-vars", json.dumps(given)]


def record(results: Path) -> tuple[dict[str, Any], Path]:
    """The newest record of a load test, and where it is."""
    newest = max(results.glob(f"{REPORTED}/*/*/result.json"), key=lambda path: path.parent.name)
    return json.loads(newest.read_text()), newest.parent


def load_test(
    results: Path, profile: str, declared: list[dict[str, Any]], **others: Any
) -> tuple[int, dict[str, Any], Path]:
    run = site(*variables(results, profile, declared, **others), playbook="playbooks/load_test.yml")
    assert list(results.glob(f"{REPORTED}/*/*/result.json")), run.stdout[-5000:] + run.stderr[-2000:]
    return run.returncode, *record(results)


def test_the_configuration_of_the_report_fails_and_the_crash_is_named(fleet: Fleet, results: Path) -> None:
    fleet.delete_all_models()
    fleet.deploy(REPORTED, "Qwen2.5-14B-Instruct", backend_parameters=BEFORE, env={"RAY_CGRAPH_get_timeout": "300"})
    fleet.wait_until_running(REPORTED, 600)
    code, found, place = load_test(results, "short long", [])
    assert code != 0
    assert found["verdict"] == "failed"
    assert len(found["stops"]) >= 1
    crashes = [crash["id"] for crash in found["stops"][0]["crashes"]]
    assert crashes[0] == "ray-channel-timeout"
    assert "ray-channel-torn-down" in crashes[1:]
    assert "ray-channel-timeout" in found["reasons"][0]["message"]
    suite = ElementTree.parse(place / "junit.xml").getroot()
    assert int(suite.get("failures") or 0) >= 1
    page = (place / "report.html").read_text()
    assert "_TorchTensorAcceleratorChannel" in page
    assert "src=" not in page
    assert "<link" not in page
    assert not (place.parent / "passed.json").exists()


def test_site_requires_a_test_and_the_planned_configuration_passes_it(fleet: Fleet, results: Path) -> None:
    fleet.delete_all_models()
    needed = variables(results, "short long", [PLANNED], gpustack_models_require_load_test=True)
    run = site(*needed)
    assert run.returncode == 0, run.stdout[-5000:]
    found, place = record(results)
    assert (found["verdict"], found["reasons"], found["stops"]) == ("passed", [], [])
    assert max(entry["figures"]["prompt_tokens_mean"] for entry in found["stages"]) > 0.97 * 32768
    assert (place.parent / "passed.json").exists()
    assert {host for host, samples in found["gpus"].items() if samples} == {"gpu-worker-a", "gpu-worker-b"}
    assert max(sample["kv_cache_usage"] or 0 for sample in found["samples"]) > 0.05
    assert fleet.items("/v2/api-keys") == []

    again = site(*needed)
    assert "1 of 1 models have passed one with their present configuration" in again.stdout, again.stdout[-3000:]
    assert record(results)[1] == place


def test_a_client_that_is_the_bottleneck_proves_nothing(results: Path) -> None:
    code, found, _place = load_test(
        results, "concurrent", [PLANNED], gpustack_load_test_environment={"AIPERF_HTTP_CONNECTION_LIMIT": "2"}
    )
    assert code != 0
    assert found["verdict"] == "inconclusive"
    assert [reason["code"] for reason in found["reasons"]] == ["client"]


def test_with_connections_enough_the_same_load_passes(results: Path) -> None:
    code, found, _place = load_test(results, "concurrent", [PLANNED])
    assert (code, found["verdict"], found["reasons"]) == (0, "passed", [])
    assert found["stages"][0]["seen"]["in_engine"] >= 10


def test_what_dies_of_long_prompts_alone_fails_in_the_stage_that_has_them(fleet: Fleet, results: Path) -> None:
    fleet.delete_all_models()
    env = {**PLANNED["env"], "BENCH_LONGEST_PROMPT_TOKENS": "20000"}
    parameters = [parameter.replace("size=2", "size=4", 1) for parameter in BEFORE if "pipeline" not in parameter]
    fleet.deploy(REPORTED, "Qwen2.5-14B-Instruct", backend_parameters=parameters, env=env)
    fleet.wait_until_running(REPORTED, 600)
    code, found, _place = load_test(results, "short long", [])
    assert code != 0
    verdicts = {entry["stage"]["name"]: entry["verdict"] for entry in found["stages"]}
    assert verdicts == {"short-1": "passed", "long-1": "passed", "long-2": "failed"}
    assert found["stops"][0]["crashes"][0]["id"] == "cuda-out-of-memory"
