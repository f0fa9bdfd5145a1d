# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_all_clusters_by_name_without_their_tokens(fake: FakeGPUStack) -> None:
    fake.page_size_limit = 1
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks", is_default=True))
    fake.add_cluster("lab", worker_config={"huggingface_token": "hf_abcdefgh"})
    answer = call("cluster_info", fake)
    assert answer["changed"] is False
    assert [(c["name"], c["is_default"], c["workers"]) for c in answer["clusters"]] == [
        ("lab", False, 0),
        ("racks", True, 1),
    ]
    assert "registration" not in answer["clusters"][0]
    assert answer["clusters"][0]["worker_config"] == {"huggingface_token": "********"}
    assert fake.writes() == []


def test_registration_of_one_cluster(fake: FakeGPUStack) -> None:
    fake.add_cluster("racks")
    (cluster,) = call("cluster_info", fake, check=True, name="racks", registration=True)["clusters"]
    assert cluster["registration"] == {
        "token": "gpustack_0000000000000001_registration",
        "server_url": fake.url,
        "image": "gpustack/gpustack:v2.1.1",
        "env": {"GPUSTACK_TOKEN": "gpustack_0000000000000001_registration"},
        "args": [],
    }
    assert fake.counts() == {"GET": 4, "login": 1}


def test_cluster_that_does_not_exist_is_an_empty_list(fake: FakeGPUStack) -> None:
    assert call("cluster_info", fake, name="racks", registration=True)["clusters"] == []
