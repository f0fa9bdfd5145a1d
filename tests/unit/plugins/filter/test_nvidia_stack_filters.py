# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import fields

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from stack_host import SETTINGS, V100, installed_facts

from ansible_collections.gpuops.gpustack.plugins.filter import nvidia_stack_plan, nvidia_stack_problems
from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack.settings import Settings

plan = nvidia_stack_plan.FilterModule().filters()["nvidia_stack_plan"]
problems = nvidia_stack_problems.FilterModule().filters()["nvidia_stack_problems"]


def test_plan_and_problems_of_a_host():
    facts = installed_facts(V100, held=[])
    wanted = plan(facts, SETTINGS, "a")
    assert wanted["kernel_modules"] == "proprietary"
    gpu = {"cuda_version": "13.0", "devices": [{"usable": True}]}
    state = {"facts": facts, "plan": wanted, "settings": SETTINGS, "gpu": gpu}
    assert [one["code"] for one in problems({"a": state})] == ["packages_not_held"]


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (plan, ["text", {}, "a"], "a str was given, the facts of nvidia_stack_facts are wanted"),
        (plan, [{}, SETTINGS, "a"], "See the filter's documentation"),
        (plan, [installed_facts(V100), {**SETTINGS, "driver_version": "newest"}, "a"], "the driver version 'newest'"),
        (problems, [[]], "a list was given, a dictionary is wanted"),
        (problems, [{"a": {}}], "See the filter's documentation"),
    ],
)
def test_wrong_input_is_one_clear_error(function, arguments, message):
    with pytest.raises(AnsibleFilterError, match=message):
        function(*arguments)


@pytest.mark.parametrize("name", ["nvidia_stack_plan", "nvidia_stack_problems"])
def test_the_sidecar_documents_the_filter(name, request):
    sidecar = request.config.rootpath / "plugins/filter" / f"{name}.yml"
    assert yaml.safe_load(sidecar.read_text())["DOCUMENTATION"]["name"] == name


def test_the_documented_settings_are_those_that_are_taken(request):
    sidecar = yaml.safe_load((request.config.rootpath / "plugins/filter/nvidia_stack_plan.yml").read_text())
    documented = sidecar["DOCUMENTATION"]["options"]["settings"]["suboptions"]
    assert list(documented) == [field.name for field in fields(Settings)]
