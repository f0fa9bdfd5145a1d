# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader
from fake_gpustack import API_KEY, PASSWORD, FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins import doc_fragments
from ansible_collections.gpuops.gpustack.plugins import inventory as inventory_plugins
from ansible_collections.gpuops.gpustack.plugins.module_utils import client

Inventory = Callable[..., InventoryData]


@pytest.fixture(name="plugin")
def fixture_plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin as Ansible loads it, with the defaults of its documentation; builtin plugins have short names here."""
    for package in (inventory_plugins, doc_fragments):
        monkeypatch.setattr(package, "__file__", f"{package.__path__[0]}/__init__.py")
    return inventory_loader.get("gpuops.gpustack.fleet")


@pytest.fixture(name="inventory")
def fixture_inventory(plugin: Any, fake: FakeGPUStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inventory:
    """Reads the inventory of the fake server; options replace or add to the configuration, None takes one out."""
    monkeypatch.setattr(client, "RETRY_DELAYS_SECONDS", (0.0,))

    def read(**options: Any) -> InventoryData:
        config = {"server_url": fake.url, "username": "admin", "password": PASSWORD, **options}
        given = {name: value for name, value in config.items() if value is not None}
        path = tmp_path / "racks.gpustack.yml"
        path.write_text(yaml.safe_dump({"plugin": "gpuops.gpustack.fleet", **given}))
        fake.requests.clear()
        found = InventoryData()
        plugin.parse(found, DataLoader(), str(path))
        if options.get("cache"):
            plugin.update_cache_if_changed()  # as Ansible's inventory manager does
        return found

    return read


def members(inventory: InventoryData, group: str) -> list[str]:
    return sorted(host.name for host in inventory.groups[group].get_hosts()) if group in inventory.groups else []


def variables(inventory: InventoryData, host: str) -> dict[str, Any]:
    return inventory.get_host(host).get_vars()


def test_workers_are_hosts_in_groups(fake: FakeGPUStack, inventory: Inventory) -> None:
    racks, spare = fake.add_cluster("racks"), fake.add_cluster("spare")
    fake.add_worker("gpu-worker-a", racks, labels={"rack": "12"})
    fake.add_worker("gpu-worker-b", spare, ip="192.0.2.12", state="not_ready", maintenance={"enabled": True})
    found = inventory()
    assert members(found, "gpustack_workers") == ["gpu-worker-a", "gpu-worker-b"]
    assert members(found, "cluster_racks") == members(found, "label_rack_12") == ["gpu-worker-a"]
    assert members(found, "cluster_spare") == members(found, "maintenance") == ["gpu-worker-b"]
    assert members(found, "state_not_ready") == ["gpu-worker-b"]
    assert members(found, "card_tesla_v100_pcie_32gb") == ["gpu-worker-a", "gpu-worker-b"]
    assert variables(found, "gpu-worker-b")["ansible_host"] == "192.0.2.12"
    assert fake.writes() == []


def test_thousand_workers_cost_as_many_requests_as_one(fake: FakeGPUStack, inventory: Inventory) -> None:
    racks = fake.add_cluster("racks")
    fake.add_worker("w0", racks)
    inventory()
    one = [(request.method, request.path) for request in fake.requests]
    for number in range(1, 1000):
        fake.add_worker(f"w{number}", racks)
    assert len(members(inventory(), "gpustack_workers")) == 1000
    assert [(request.method, request.path) for request in fake.requests] == one
    assert fake.counts() == {"GET": 4, "login": 1}


def test_compose_groups_and_keyed_groups_see_the_worker(fake: FakeGPUStack, inventory: Inventory) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"), advertise_address="198.51.100.7")
    found = inventory(
        group_by=[],
        compose={"ansible_host": "fleet_worker.advertise_address", "gpus": "fleet_worker.gpus"},
        groups={"volta": "'7.0' in fleet_worker.compute_capabilities", "never": "fleet_worker.gpus > 8"},
        keyed_groups=[{"key": "gpus | string", "prefix": "gpus"}],
    )
    assert variables(found, "gpu-worker-a")["ansible_host"] == "198.51.100.7"
    assert variables(found, "gpu-worker-a")["gpustack_worker_ip"] == "192.0.2.11"
    assert set(found.groups) == {"all", "ungrouped", "gpustack_workers", "volta", "gpus_2"}


def test_strict_tells_an_expression_that_fails(fake: FakeGPUStack, inventory: Inventory) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    wrong = {"compose": {"rack": "fleet_worker.labels.shelf"}}
    assert "rack" not in variables(inventory(**wrong), "gpu-worker-a")
    with pytest.raises(AnsibleError, match="Could not set rack for host gpu-worker-a"):
        inventory(**wrong, strict=True)


def test_what_a_worker_says_is_no_template(fake: FakeGPUStack, inventory: Inventory) -> None:
    text = "{{ lookup('ansible.builtin.env', 'HOME') }}"
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"), labels={"note": text})
    found = inventory(compose={"note": "fleet_worker.labels.note"})
    assert variables(found, "gpu-worker-a")["note"] == text


def test_cache_spares_the_requests_and_holds_no_secret(
    fake: FakeGPUStack, inventory: Inventory, tmp_path: Path
) -> None:
    cached = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    worker = fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    worker.update(token="gpustack_0123_worker", proxy_address="http://u:p@192.0.2.1", worker_config={"token": "t"})
    assert members(inventory(**cached), "gpustack_workers") == ["gpu-worker-a"]
    fake.add_worker("gpu-worker-b", fake.clusters[1])
    assert members(inventory(**cached), "gpustack_workers") == ["gpu-worker-a"]
    assert fake.requests == []
    (file,) = (tmp_path / "cache").iterdir()
    text = file.read_text()
    assert "192.0.2.11" in text
    for secret in (PASSWORD, "gpustack_0123_worker", "u:p@", "worker_config"):
        assert secret not in text


def test_cache_of_another_server_does_not_count(fake: FakeGPUStack, inventory: Inventory, tmp_path: Path) -> None:
    cached = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    inventory(**cached)
    with FakeGPUStack() as other:
        other.add_worker("gpu-worker-z", other.add_cluster("elsewhere"))
        assert members(inventory(**cached, server_url=other.url), "gpustack_workers") == ["gpu-worker-z"]


def test_file_counts_more_than_the_environment(
    fake: FakeGPUStack, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    monkeypatch.setenv("GPUSTACK_SERVER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GPUSTACK_API_KEY", "gpustack_of_another_server")
    assert members(inventory(), "gpustack_workers") == ["gpu-worker-a"]


def test_environment_stands_in_for_address_and_credentials(
    fake: FakeGPUStack, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.trusts_localhost = False
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    monkeypatch.setenv("GPUSTACK_SERVER_URL", fake.url)
    monkeypatch.setenv("GPUSTACK_API_KEY", API_KEY)
    assert members(inventory(server_url=None, username=None, password=None), "gpustack_workers") == ["gpu-worker-a"]


def test_connection_options_may_be_templates(
    fake: FakeGPUStack, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"))
    monkeypatch.setenv("MY_PASSWORD", PASSWORD)
    found = inventory(password="{{ lookup('env', 'MY_PASSWORD') }}")
    assert members(found, "gpustack_workers") == ["gpu-worker-a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"password": "wrong"}, "refuses the credentials"),
        ({"server_url": "http://127.0.0.1:9"}, "GPUStack at http://127.0.0.1:9 can't be reached"),
        ({"server_url": None}, "No server: set server_url"),
        ({"api_key": "k"}, "Both api_key and username or password are given"),
        ({"ca_path": "/no/such.pem", "server_url": "https://127.0.0.1:9"}, "ca_path /no/such.pem can't be used"),
        ({"group_by": ["colour"]}, "colour"),
    ],
)
def test_what_is_wrong_is_told(inventory: Inventory, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleError) as caught:
        inventory(**options)
    assert message in str(caught.value)
    assert "wrong" not in str(caught.value)


def test_only_files_of_its_name_are_read(plugin: Any, tmp_path: Path) -> None:
    for name in ("gpustack.yml", "gpustack.yaml", "racks.gpustack.yml"):
        (tmp_path / name).write_text(json.dumps({"plugin": "gpuops.gpustack.fleet"}))
        assert plugin.verify_file(str(tmp_path / name))
    for name in ("hosts.yml", "notgpustack.yml"):
        (tmp_path / name).write_text("{}")
        assert not plugin.verify_file(str(tmp_path / name))
    assert not plugin.verify_file(str(tmp_path / "missing.gpustack.yml"))
