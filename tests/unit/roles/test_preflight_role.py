# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role preflight asks and judges, as it is written."""

from __future__ import annotations

from typing import Any

import pytest
from rendering import rendered


@pytest.fixture(name="variables")
def fixture_variables() -> dict[str, Any]:
    facts = {
        "gpustack_host": {"containers": {}, "container_storage": {"path": "/var/lib/docker", "free_gib": 5.0}},
        "gpustack_gpu": {"cuda_version": "13.0", "devices": []},
        "gpustack_api": {"model_files": []},
    }
    plan = {"backend_version": "0.17.1-volta-custom", "download": {"model": "site/model", "size_gib": 27.6}}
    controller = {
        "ansible_facts": facts,
        "gpustack_models_plans": {"qwen": plan},
        "gpustack_resources_backend_versions": [
            {
                "name": "0.17.1-volta-custom",
                "image_name": "registry.example.org/vllm:volta",
                "env": {"TOKEN": "s3cret"},
            },
            {"name": "0.5.9-custom", "backend": "SGLang", "image_name": "registry.example.org/sglang:site"},
            {"name": "0.18.0-custom", "entrypoint": "vllm serve"},
        ],
    }
    worker = {"ansible_facts": facts, "gpustack_worker_declared": {"name": "rack-7", "model_storage": ""}}
    return {
        "inventory_hostname": "gpu-1",
        "groups": {"all": ["gpu-1"], "gpustack_workers": ["gpu-1"]},
        "hostvars": {"localhost": controller, "gpu-1": worker},
        "ansible_facts": facts,
        "ansible_check_mode": False,
        "ansible_play_hosts_all": ["gpu-1"],
        "__gpustack_preflight_problems": [],
    }


def test_the_images_of_declared_backend_versions_are_looked_into(request, variables):
    look = rendered(request.config.rootpath / "roles/preflight/tasks/engines.yml", variables)[0]
    assert look == (
        "gpuops.gpustack.engine_image_facts",
        {
            "versions": ["0.17.1-volta-custom"],
            "images": {
                "0.17.1-volta-custom": "registry.example.org/vllm:volta",
                "0.5.9-custom": "registry.example.org/sglang:site",
            },
            "cuda_version": "13.0",
            "registry": "",
            "worker_container": "gpustack-worker",
        },
    )


def test_an_image_that_is_named_counts_more_than_one_that_is_declared(request, variables):
    variables["gpustack_preflight_engine_images"] = {"0.17.1-volta-custom": "localhost/other:1"}
    _module, asked = rendered(request.config.rootpath / "roles/preflight/tasks/engines.yml", variables)[0]
    assert asked["images"]["0.17.1-volta-custom"] == "localhost/other:1"


def test_downloads_are_held_against_the_disks_of_the_workers(request, variables):
    judged, *_rest = rendered(request.config.rootpath / "roles/preflight/tasks/models.yml", variables)
    (problem,) = judged[1]["__gpustack_preflight_problems"]
    assert (problem["code"], problem["hosts"]) == ("model_space_low", ["gpu-1"])
    assert problem["wanted"].startswith("at least 67.6 GiB, for what is still to be downloaded: site/model with 27.6")


@pytest.mark.parametrize(("volume", "paths"), [("gpustack-worker-data", []), ("/data/gpustack", ["/data/gpustack"])])
def test_a_directory_that_models_are_downloaded_to_is_measured(request, variables, volume, paths):
    variables["gpustack_worker_data_volume"] = volume
    actions = dict(rendered(request.config.rootpath / "roles/preflight/tasks/facts.yml", variables))
    assert actions["gpuops.gpustack.host_facts"]["disk_paths"] == paths
    declared = actions["ansible.builtin.set_fact"]["gpustack_worker_declared"]
    assert declared["model_storage"] == (paths[0] if paths else "")
