# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from stack_host import INSTALLED, SETTINGS, V100, installed_facts

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import plan, problems_of

GPU = {"cuda_version": "13.0", "devices": [{"usable": True}], "problems": []}


def state(gpu=GPU, expected_gpus=None, settings=SETTINGS, **facts):
    found = installed_facts(V100, **facts)
    return {
        "facts": found,
        "plan": plan(found, settings, "a"),
        "settings": settings,
        "gpu": gpu,
        "expected_gpus": expected_gpus,
    }


def codes(hosts):
    return [(one["severity"], one["code"], one["hosts"]) for one in problems_of(hosts)]


def test_a_fleet_that_is_as_declared():
    assert problems_of({"a": state(expected_gpus=1), "b": state()}) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"modules": {"loaded": None, "installed": None}, "dkms_log": ["cc: error"]}, "module_not_built"),
        ({"modules": {"loaded": "580.95.05", "installed": "580.105.08"}}, "module_not_loaded"),
        ({"modules": {"loaded": "580.105.08", "installed": "580.105.08"}}, "driver_moved"),
        ({"packages": {**INSTALLED, "libnccl2": "2.28.3-1+cuda13.0"}}, "packages_moved"),
        ({"held": []}, "packages_not_held"),
        ({"services": []}, "services_stopped"),
        ({"gpu": {**GPU, "cuda_version": "12.4"}}, "cuda_not_supported"),
        ({"nccl_version": 22803}, "nccl_differs"),
        ({"nccl_version": None}, "nccl_differs"),
        ({"gpu": {**GPU, "devices": []}}, "gpu_count_differs"),
        ({"expected_gpus": 2}, "gpu_count_differs"),
    ],
)
def test_what_is_not_as_declared_on_a_host(changed, code):
    assert codes({"a": state(**changed)}) == [("error", code, ["a"])]


def test_versions_differ_inside_a_branch_and_across_branches():
    def driver(version):
        packages = {
            name: f"{version}-1" if installed.startswith("580") else installed for name, installed in INSTALLED.items()
        }
        modules = {"loaded": version, "installed": version}
        return state(settings={**SETTINGS, "driver_version": version}, modules=modules, packages=packages)

    assert codes({"a": driver("580.95.05"), "b": driver("580.105.08")}) == [
        ("warning", "driver_versions_differ", ["a", "b"])
    ]
    (across,) = problems_of({"a": driver("580.95.05"), "b": driver("575.57.08")})
    assert (across["severity"], across["found"]) == ("error", "580.95.05 on a, 575.57.08 on b")


def test_nccl_must_be_one_over_the_fleet():
    other = state(settings={**SETTINGS, "nccl_version": "2.27.7-1+cuda12.9"}, nccl_version=22707)
    other["plan"]["outdated"] = []
    assert codes({"a": state(), "b": other}) == [("error", "nccl_versions_differ", ["a", "b"])]
