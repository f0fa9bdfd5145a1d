# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import container_engine_info

INFO = {"ServerVersion": "20.10.24", "Runtimes": {"runc": {}, "nvidia": {}}, "CgroupDriver": "cgroupfs"}


@pytest.fixture(name="look")
def fixture_look(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def look(info, daemon_json=None, rc=0):
        fake_command(tmp_path / "bin", "docker", f"echo '{json.dumps(info)}'; exit {rc}")
        path = tmp_path / "daemon.json"
        if daemon_json is not None:
            path.write_text(daemon_json)
        return run_module(container_engine_info.main, {"daemon_json": str(path)}, check_mode=True)

    return look


def test_engine_that_answers(look):
    answer = look(INFO, '{"runtimes": {"nvidia": {"path": "x"}}}')
    assert answer["problem"] is None
    assert (answer["version"], answer["runtimes"], answer["cgroup_driver"]) == (
        "20.10.24", ["nvidia", "runc"], "cgroupfs",
    )  # fmt: skip
    assert (answer["configured_runtimes"], answer["configuration_problem"]) == (["nvidia"], None)


def test_engine_that_is_down_says_why(look):
    answer = look({"ServerErrors": ["Cannot connect to the Docker daemon"]}, "{}")
    assert (answer["installed"], answer["problem"]) == (True, "Cannot connect to the Docker daemon")


def test_no_file_is_no_runtimes_and_no_problem(look):
    answer = look(INFO)
    assert (answer["configured_runtimes"], answer["configuration_problem"]) == ([], None)


@pytest.mark.parametrize("content", ["{", "[]", "{} ,"])
def test_file_that_docker_would_refuse(look, content):
    answer = look(INFO, content)
    assert answer["configured_runtimes"] is None
    assert "daemon.json" in answer["configuration_problem"]
