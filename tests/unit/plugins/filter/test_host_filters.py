# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import fields

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter import (
    engine_differences,
    preflight_line,
    preflight_problems,
    preflight_text,
    startup_figures,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight.fleet import Fleet

MODULES = (preflight_line, preflight_problems, preflight_text, engine_differences, startup_figures)
FILTERS = {name: function for module in MODULES for name, function in module.FilterModule().filters().items()}


def test_preflight_problems_and_their_text():
    fleet = {"hosts": {"a": {"shm_size_mib": 64}}, "workers": {"a": {}}, "shared_memory_gib": 64}
    problems = FILTERS["preflight_problems"](fleet)
    assert [problem["code"] for problem in problems] == ["shared_memory_too_small"]
    text = FILTERS["preflight_text"](problems, ["a", "b"])
    assert text.splitlines()[0] == "1 problem on 1 of 2 hosts, nothing was changed"
    line = FILTERS["preflight_line"](problems, "nothing happened")
    assert line.startswith("Nothing happened: a: /dev/shm of 64 MiB. ")


def test_engine_differences():
    (difference,) = FILTERS["engine_differences"]({}, {}, "m", replicas="2")
    assert difference["message"] == "m: replicas is 0, planned is 2"


def test_startup_figures():
    assert FILTERS["startup_figures"]("GPU KV cache size: 1,024 tokens")["kv_cache_tokens"] == 1024


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("preflight_problems", ["text"], "a str was given, a dictionary is wanted"),
        ("preflight_problems", [{}], "the key hosts is missing"),
        ("preflight_problems", [{"hosts": {"a": "down"}, "workers": {"a": {}}, "ports": {}}], "documentation"),
        ("preflight_text", [[{"no": "problem"}], []], "The result of preflight_problems"),
        ("preflight_line", [[{"no": "problem"}]], "The result of preflight_problems"),
        ("preflight_text", [None, []], "The result of preflight_problems"),
        ("engine_differences", ["plan", {}, "m"], "the plan is a str"),
        ("engine_differences", [{}, ["x"], "m"], "engines is a list"),
        ("engine_differences", [{}, {"a": {"instances": {"m-aaaaa": {}}}}, "m"], "The result of vllm_plan"),
        ("engine_differences", [{}, {}, "m", "many"], "The result of vllm_plan"),
        ("startup_figures", [None], "a NoneType was given, the text of a log is wanted"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_clear_error(name, arguments, message):
    with pytest.raises(AnsibleFilterError, match=message):
        FILTERS[name](*arguments)


@pytest.mark.parametrize("name", FILTERS)
def test_the_sidecar_documents_the_filter(name, request):
    sidecar = request.config.rootpath / "plugins/filter" / f"{name}.yml"
    documentation = yaml.safe_load(sidecar.read_text())["DOCUMENTATION"]
    assert documentation["name"] == name


def test_the_documented_fleet_is_the_one_that_is_taken(request):
    sidecar = yaml.safe_load((request.config.rootpath / "plugins/filter/preflight_problems.yml").read_text())
    documented = sidecar["DOCUMENTATION"]["options"]["_input"]["suboptions"]
    assert list(documented) == [field.name for field in fields(Fleet)]
