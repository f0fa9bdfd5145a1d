# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import problems_of

REPOSITORY = "Qwen/Qwen2.5-14B-Instruct"
MIRROR = "qwen/mirrored"


def plan(model, size_gib, *hosts):
    return {"download": {"model": model, "size_gib": size_gib}, "placements": [{host: [0, 1] for host in hosts}]}


def file(worker, model, state="ready"):
    return {"worker": worker, "huggingface_repo_id": model, "model_scope_model_id": None, "state": state}


@pytest.fixture(name="fleet")
def fixture_fleet():
    """Two workers that run, with 50 GiB free each, and a model of 27.6 GiB that comes to both."""
    facts = {"container_storage": {"path": "/var/lib/docker", "free_gib": 50.0}, "containers": {"gpustack-worker": {}}}
    return {
        "hosts": {name: {**facts} for name in ("gpu-1", "gpu-2")},
        "workers": {"gpu-1": {"name": "rack-7"}, "gpu-2": {"name": None}},
        "plans": {"qwen": plan(REPOSITORY, 27.6, "gpu-1", "gpu-2")},
        "image_space_gib": 40.0,
        "model_files": [],
    }


def found(fleet):
    return [
        (each["code"], each["severity"], each["hosts"], each["found"], each["wanted"])
        for each in problems_of(fleet, ["plan"])
    ]


def test_there_is_room(fleet):
    assert found(fleet) == []


def test_models_are_added_up_on_each_host_that_gets_them(fleet):
    fleet["plans"]["other"] = plan(MIRROR, 22.5, "gpu-2")
    assert found(fleet) == [
        (
            "model_space_low",
            "error",
            ["gpu-2"],
            "50 GiB free in /var/lib/docker",
            "at least 50.1 GiB, for what is still to be downloaded: Qwen/Qwen2.5-14B-Instruct with 27.6 GiB, "
            "qwen/mirrored with 22.5 GiB",
        )
    ]


def test_two_models_of_one_repository_are_downloaded_once(fleet):
    fleet["plans"]["again"] = fleet["plans"]["qwen"]
    assert found(fleet) == []


def test_a_worker_that_is_not_there_yet_needs_its_images_too(fleet):
    fleet["hosts"]["gpu-1"]["containers"] = {}
    ((_code, _severity, hosts, _found, wanted),) = found(fleet)
    assert hosts == ["gpu-1"]
    assert wanted.startswith("at least 67.6 GiB")
    assert wanted.endswith("with 27.6 GiB, beside 40 GiB for images")


@pytest.mark.parametrize(
    ("files", "hosts"),
    [
        ([], ["gpu-1", "gpu-2"]),
        ([file("rack-7", REPOSITORY)], ["gpu-2"]),  # GPUStack calls gpu-1 so
        ([file("rack-7", REPOSITORY, "downloading"), file("gpu-2", REPOSITORY)], []),
        ([file("rack-7", REPOSITORY, "error"), file("gpu-2", MIRROR)], ["gpu-1", "gpu-2"]),
    ],
)
def test_what_a_worker_has_or_fetches_already_needs_no_room(fleet, files, hosts):
    for facts in fleet["hosts"].values():
        facts["container_storage"] = {"path": "/var/lib/docker", "free_gib": 5.0}
    fleet["model_files"] = files
    assert [host for problem in found(fleet) for host in problem[2]] == hosts


def test_a_directory_of_the_sites_own_counts_instead_of_dockers(fleet):
    fleet["workers"]["gpu-1"]["model_storage"] = "/data/gpustack"
    fleet["hosts"]["gpu-1"].update(disk_free_gib={"/data/gpustack": 20.0}, containers={})
    ((_code, _severity, hosts, free, wanted),) = found(fleet)
    assert (hosts, free) == (["gpu-1"], "20 GiB free in /data/gpustack")
    assert "images" not in wanted


def test_a_size_that_nothing_tells_is_said_and_not_guessed(fleet):
    fleet["plans"] = {"as-is": {"download": {"model": MIRROR, "size_gib": None}, "placements": []}}
    assert found(fleet) == [
        (
            "model_size_unknown",
            "warning",
            ["gpu-1", "gpu-2"],
            "qwen/mirrored still to be downloaded, of a size that nothing tells",
            "room for it in /var/lib/docker, where 50 GiB are free",
        )
    ]


def test_models_on_disk_and_hosts_that_nobody_looked_at_say_nothing(fleet):
    fleet["plans"] = {"local": {"download": None, "placements": [{"gpu-1": [0]}]}}
    assert found(fleet) == []
    fleet["plans"] = {"qwen": plan(REPOSITORY, 27.6, "gpu-1")}
    fleet["hosts"] = {"gpu-1": {"container_storage": None}}
    assert found(fleet) == []
