# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import problems_of

STOCK = ["sm_75", "sm_80", "compute_80", "sm_90"]
IMAGE = "gpustack/runner:cuda12.9-vllm0.17.1"
V100 = {"name": "Tesla V100-PCIE-32GB", "compute_capability": "7.0", "usable": True}
A100 = {"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "usable": True}


def found(architectures, devices=(V100, V100), hosts=("a",), problem=None, version="0.17.1"):
    image = {"image": IMAGE, "architectures": architectures, "problem": problem}
    fleet = {
        "hosts": {},
        "gpus": {"a": {"devices": list(devices)}},
        "engine_images": {"a": {"0.17.1": image}},
        "plans": {"m": {"backend_version": version, "placements": [{host: [0] for host in hosts}]}},
    }
    return [(each["code"], each["hosts"], each["found"], each["wanted"]) for each in problems_of(fleet, ["engine"])]


def test_a_stock_image_has_nothing_for_volta():
    assert found({"torch": STOCK}) == [
        (
            "engine_image_lacks_architecture",
            ["a"],
            f"torch in {IMAGE} is built for sm_75, sm_80, compute_80, sm_90",
            "sm_70, for Tesla V100-PCIE-32GB (compute capability 7.0)",
        )
    ]


@pytest.mark.parametrize(
    ("architectures", "libraries"),
    [
        ({"torch": ["sm_70", "sm_80"]}, []),
        ({"torch": ["sm_70"], "vllm": ["sm_75"]}, ["vllm"]),
        ({"torch": ["sm_75"], "vllm": ["sm_75"]}, ["torch", "vllm"]),
        ({"torch": []}, ["torch"]),
        (None, []),
    ],
)
def test_torch_and_vllm_both_have_to_have_code(architectures, libraries):
    assert [said.split()[0] for _code, _hosts, said, _wanted in found(architectures)] == libraries


def test_only_cards_that_lack_code_are_named():
    ((_code, _hosts, _said, wanted),) = found({"torch": STOCK}, devices=[A100, V100])
    assert wanted == "sm_70, for Tesla V100-PCIE-32GB (compute capability 7.0)"


def test_cards_that_cannot_be_used_and_unknown_ones_do_not_count():
    assert found({"torch": STOCK}, devices=[{**V100, "usable": False}, {**A100, "compute_capability": None}]) == []


@pytest.mark.parametrize(("hosts", "version"), [(("b",), "0.17.1"), (("a",), "0.16.0")])
def test_an_image_counts_where_a_plan_places_an_engine_of_its_version(hosts, version):
    assert found({"torch": STOCK}, hosts=hosts, version=version) == []


def test_an_image_that_could_not_be_looked_into_is_a_warning():
    ((code, hosts, said, _wanted),) = found(None, problem="docker pull failed: no route")
    assert (code, hosts) == ("engine_image_unknown", ["a"])
    assert said == "the image of vLLM 0.17.1 could not be looked into: docker pull failed: no route"
