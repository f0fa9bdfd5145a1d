# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The package repository of the bench, held against what the role wants from it."""

from __future__ import annotations

import pytest
import yaml
from repository.contents import Package, driver_repository, toolkit_repository
from stack_host import A100, V100, stack_facts

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import plan
from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack.versions import matches

RELEASE = "6.1.0-40-amd64"


def contents() -> dict[str, list[str]]:
    """Every version by name."""
    found: dict[str, list[str]] = {}
    for package in [*driver_repository(RELEASE), *toolkit_repository()]:
        found.setdefault(package.name, []).extend(package.versions)
    return found


@pytest.mark.parametrize("card", [V100, A100])
@pytest.mark.parametrize("cuda", ["libraries", "toolkit"])
def test_it_holds_every_package_that_the_roles_defaults_want(card, cuda, request):
    defaults = yaml.safe_load((request.config.rootpath / "roles/nvidia_stack/defaults/main.yml").read_text())
    names = ("driver_version", "kernel_modules", "cuda_version", "nccl_version", "container_toolkit_version")
    settings = {name: defaults[f"gpustack_nvidia_stack_{name}"] for name in names}
    urls = {f"{name}_repository_url": "http://mirror.example.org" for name in ("cuda", "container_toolkit")}
    facts = stack_facts(card, nvswitches=1, kernel={"headers": False, "release": RELEASE})
    wanted = plan(facts, {**settings, **urls, "cuda": cuda, "dcgm": True}, "a")["packages"]
    lacking = [
        package
        for package in wanted
        if not any(matches(package["version"], version) for version in contents().get(package["name"], []))
    ]
    assert lacking == []


def test_it_holds_the_traps():
    found = contents()
    assert "590.48.01-1" in found["nvidia-driver-cuda"]
    assert "2.28.3-1+cuda13.0" in found["libnccl2"]
    (runtime,) = (package for package in driver_repository(RELEASE) if package.name == "cuda-runtime-12-9")
    assert "cuda-drivers" in runtime.depends


def test_every_file_of_a_package_is_there(request):
    files = request.config.rootpath / "molecule/bench/repository/files"
    made_by_the_build = {"proprietary", "open", "libnccl.so.2"}

    def sources(package: Package) -> set[str]:
        return {*package.files.values(), *package.scripts.values()} - made_by_the_build

    packages = [*driver_repository(RELEASE), *toolkit_repository()]
    used = {source for package in packages for source in sources(package)}
    assert used == {path.name for path in files.iterdir()}
