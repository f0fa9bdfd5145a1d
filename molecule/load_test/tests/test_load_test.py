# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate in front of production, on the simulated fleet; traffic is AIPerf's, through the real GPUStack.

The tests are the steps of one story and run in the order written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from demo_fleet import REPORTED_PARAMETERS, Fleet, site
from load_tests import FEW_CONNECTIONS, MODEL, PLANNED, load_test, newest_record, variables


@pytest.fixture(scope="module", name="fleet")
def fixture_fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    yield fleet
    fleet.delete_all_models()


def test_the_configuration_of_the_report_fails_and_the_crash_is_named(fleet: Fleet, tmp_path: Path) -> None:
    fleet.delete_all_models()
    fleet.deploy(
        MODEL, "Qwen2.5-14B-Instruct", backend_parameters=REPORTED_PARAMETERS, env={"RAY_CGRAPH_get_timeout": "300"}
    )
    fleet.wait_until_running(MODEL, 600)
    code, found, place = load_test(tmp_path, "short,long", [])
    assert code != 0
    assert found["verdict"] == "failed"
    crashes = [crash["id"] for crash in found["stops"][0]["crashes"]]
    assert crashes[0] == "pipeline-over-ray"
    assert {"ray-channel-timeout", "ray-channel-torn-down"} <= set(crashes[1:])
    assert "Its log shows pipeline-over-ray" in found["reasons"][0]["message"]
    assert "ray-channel-timeout" in found["reasons"][0]["message"]
    suite = ElementTree.parse(place / "junit.xml").getroot()
    assert int(suite.get("failures") or 0) >= 1
    page = (place / "report.html").read_text()
    assert "_TorchTensorAcceleratorChannel" in page
    assert "src=" not in page
    assert "<link" not in page
    assert not (place.parent / "passed").exists()


def test_site_requires_a_test_and_the_planned_configuration_passes_it(fleet: Fleet, tmp_path: Path) -> None:
    fleet.delete_all_models()
    needed = variables(tmp_path, "short,long", [PLANNED], gpustack_models_require_load_test=True)
    run = site(*needed)
    assert run.returncode == 0, run.stdout[-5000:]
    found, place = newest_record(tmp_path)
    assert (found["verdict"], found["reasons"], found["stops"]) == ("passed", [], [])
    assert max(entry["figures"]["prompt_tokens_mean"] for entry in found["stages"]) > 0.97 * 32768
    assert {path.name for path in (place.parent / "passed").iterdir()} == {"short", "long"}
    assert {host for host, samples in found["gpus"].items() if samples} == {"gpu-worker-a", "gpu-worker-b"}
    assert max(sample["kv_cache_usage"] or 0 for sample in found["samples"]) > 0.05
    assert [key for key in fleet.items("/v2/api-keys") if key["name"].startswith("load test")] == []

    again = site(*needed)
    assert "1 of 1 models have passed short, long with their present configuration" in again.stdout, again.stdout[
        -3000:
    ]
    assert newest_record(tmp_path)[1] == place


def test_a_client_that_is_the_bottleneck_proves_nothing(tmp_path: Path) -> None:
    code, found, _place = load_test(tmp_path, "concurrent", [PLANNED], gpustack_load_test_environment=FEW_CONNECTIONS)
    assert code != 0
    assert found["verdict"] == "inconclusive"
    assert [reason["code"] for reason in found["reasons"]] == ["client"]
