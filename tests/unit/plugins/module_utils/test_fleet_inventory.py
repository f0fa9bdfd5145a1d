# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.fleet_inventory import (
    GROUPINGS,
    group_name,
    groups_of,
    host_variables,
)


def worker(**fields: Any) -> dict[str, Any]:
    def gpu(index: int, name: str, capability: str | None) -> dict[str, Any]:
        return {"index": index, "name": name, "compute_capability": capability, "memory_used_mib": 4}

    return {
        "name": "gpu-worker-a",
        "cluster": "racks",
        "state": "ready",
        "state_message": None,
        "ip": "192.0.2.11",
        "ifname": "eth0",
        "labels": {"os": "Linux", "worker-name": "gpu-worker-a", "rack": "12"},
        "maintenance": {"enabled": False, "message": None},
        "heartbeat_time": "2026-03-01T09:30:00Z",
        "gpu_devices": [gpu(0, "Tesla V100-PCIE-32GB", "7.0"), gpu(1, "Tesla T4", "7.5"), gpu(2, "Tesla T4", "7.5")],
        **fields,
    }


def test_host_is_reached_where_its_engines_listen() -> None:
    variables = host_variables(worker())
    assert variables["ansible_host"] == variables["gpustack_worker_ip"] == "192.0.2.11"
    assert variables["gpustack_worker_interface"] == "eth0"


def test_worker_without_an_address_gets_none() -> None:
    assert list(host_variables(worker(ip=None, ifname=""))) == ["fleet_worker"]


def test_description_counts_cards_and_leaves_out_what_passes() -> None:
    described = host_variables(worker())["fleet_worker"]
    assert described["gpus"] == 3
    assert described["cards"] == ["Tesla T4", "Tesla V100-PCIE-32GB"]
    assert described["compute_capabilities"] == ["7.0", "7.5"]
    assert described["state"] == "ready"
    assert "heartbeat_time" not in described
    assert described["gpu_devices"][1] == {"index": 1, "name": "Tesla T4", "compute_capability": "7.5"}


def test_groups_say_cluster_state_cards_capabilities_and_labels() -> None:
    assert groups_of(worker(), GROUPINGS) == [
        "gpustack_workers",
        "card_tesla_t4",
        "card_tesla_v100_pcie_32gb",
        "cluster_racks",
        "compute_capability_7_0",
        "compute_capability_7_5",
        "label_os_linux",
        "label_rack_12",
        "state_ready",
    ]


def test_only_the_asked_groups_are_made() -> None:
    maintained = worker(state="maintenance", maintenance={"enabled": True, "message": "fans"})
    assert groups_of(maintained, ["maintenance"]) == ["gpustack_workers", "maintenance"]
    assert groups_of(worker(), ["maintenance"]) == ["gpustack_workers"]
    assert groups_of(worker(cluster=None), ["cluster"]) == ["gpustack_workers"]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("card", "NVIDIA A100-SXM4-80GB (MIG)"), "card_nvidia_a100_sxm4_80gb_mig"),
        (("label", "zone.example/rack", "A–7"), "label_zone_example_rack_a_7"),
    ],
)
def test_group_names_are_plain(parts: tuple[str, ...], name: str) -> None:
    assert group_name(*parts) == name


def test_label_without_a_value_is_its_name() -> None:
    assert groups_of(worker(labels={"spare": ""}), ["labels"]) == ["gpustack_workers", "label_spare"]


def test_worker_without_gpus_has_no_card_group() -> None:
    assert groups_of(worker(gpu_devices=[]), ["card", "compute_capability"]) == ["gpustack_workers"]
