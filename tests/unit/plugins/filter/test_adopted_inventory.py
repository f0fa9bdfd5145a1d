# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fake server is adopted as playbooks/adopt.yml does it, from what the _info modules return."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from api_modules import call
from fake_gpustack import FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.filter.adopted_inventory import adopted_inventory
from ansible_collections.gpuops.gpustack.plugins.filter.model_declarations import model_declarations

BY_HAND: dict[str, Any] = {
    "source": "local_path",
    "local_path": "/var/lib/models/X",
    "backend": "vLLM",
    "cluster_id": 1,
}


class Unsafe(str):
    """A text that is no template."""


class Loader(yaml.SafeLoader):
    """Reads what was written as Ansible does."""


Loader.add_constructor("!unsafe", lambda loader, node: Unsafe(node.value))


def adopt(fake: FakeGPUStack) -> dict[str, Any]:
    return adopted_inventory(
        {
            "server_url": fake.url,
            "version": fake.version,
            "models": call("model_info", fake)["models"],
            "routes": call("model_route_info", fake)["model_routes"],
            "clusters": call("cluster_info", fake)["clusters"],
            "backend_versions": call("backend_version_info", fake)["backend_versions"],
            "workers": call("worker_info", fake)["workers"],
        }
    )


def variables(adopted: dict[str, Any]) -> dict[str, Any]:
    """All variables of the written inventory."""
    read: dict[str, Any] = {}
    for path, content in adopted["files"].items():
        if path.startswith("group_vars/"):
            read.update(yaml.load(content, Loader))
    return read


def models(adopted: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = variables(adopted)["gpustack_models_declared"]
    return found


@pytest.fixture(autouse=True, name="racks")
def fixture_racks(fake: FakeGPUStack) -> dict[str, Any]:
    return fake.add_cluster("racks", is_default=True)


def test_model_made_by_hand_is_declared_as_it_is_without_what_gpustack_chooses_anyway(fake: FakeGPUStack) -> None:
    fake.add_model("by-hand", **BY_HAND, backend_version="0.17.1", backend_parameters=["--max-model-len=4096"])
    (model,) = models(adopt(fake))
    assert model == {
        "name": "by-hand",
        "plan": False,
        "source": {"local_path": "/var/lib/models/X"},
        "backend_version": "0.17.1",
        "backend_parameters": ["--max-model-len=4096"],
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"replicas": 3, "description": "Made: by hand"},
        {"placement_strategy": "binpack", "distributed_inference_across_workers": False, "cpu_offloading": True},
        {"worker_selector": {"rack": "12"}, "restart_on_error": False, "categories": ["llm"]},
        {"gpu_selector": {"gpu_ids": ["gpu-worker-a:cuda:0"]}, "env": {"EMPTY": "", "A": "1"}},
        {"extended_kv_cache": {"enabled": True, "ram_size": 8}},
        {"speculative_config": {"enabled": True, "algorithm": "ngram", "num_draft_tokens": 4}},
        {"backend": "Custom", "image_name": "x/y:1", "run_command": "serve {{model_path}}"},
        {"access_policy": "public"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_adopted_model_applied_to_the_same_server_changes_nothing(fake: FakeGPUStack, fields: dict[str, Any]) -> None:
    fake.add_model("by-hand", **{**BY_HAND, **fields})
    declared = models(adopt(fake))
    if fields != {"access_policy": "public"}:
        assert (
            declared[0].items()
            >= {name: value for name, value in fields.items() if name not in ("gpu_selector",)}.items()
        )
    options = model_declarations(declared, {})
    result = call("models", fake, models=options, wait=False, evaluation="ignore")
    assert (result["changed"], result["diff"]) == (False, [])
    assert fake.writes() == []


def test_adopted_model_applied_to_an_empty_server_is_the_same_model(fake: FakeGPUStack) -> None:
    fake.add_model(
        "by-hand", **BY_HAND, backend_version="0.17.1", env={"A": "{{ no template }}"}, categories=["llm"], replicas=2
    )
    with FakeGPUStack() as fresh:
        fresh.add_cluster("racks", is_default=True)
        call("models", fresh, models=model_declarations(models(adopt(fake)), {}), wait=False, evaluation="ignore")
        assert models(adopt(fresh)) == models(adopt(fake))


def test_replicas_that_are_models_of_their_own_are_declared_as_one(fake: FakeGPUStack) -> None:
    declared = {"name": "chat", "local_path": "/m", "replicas": 2, "rollout": "drain"}
    call("models", fake, models=[declared], wait=False, evaluation="ignore")
    call("models", fake, models=[declared], wait=True, evaluation="ignore")
    adopted = adopt(fake)
    (model,) = models(adopted)
    assert (model["name"], model["replicas"], model["rollout"]) == ("chat", 2, "drain")
    assert "GPUOPS_CONFIGURATION" not in str(adopted)
    assert "gpustack_resources_routes" not in variables(adopted)
    again = call("models", fake, models=model_declarations([model], {}), wait=False, evaluation="ignore")
    assert again["changed"] is False
    fake.add_model(
        "chat-surge",
        source="local_path",
        local_path="/m",
        env={"GPUOPS_CONFIGURATION": "0123456789ab 2026-03-01T09:00:00Z chat"},
    )
    assert [(one["name"], one["replicas"]) for one in models(adopt(fake))] == [("chat", 2)]


def test_secrets_are_left_to_the_vault_and_listed(fake: FakeGPUStack) -> None:
    fake.add_model(
        "by-hand",
        **BY_HAND,
        env={"HF_TOKEN": "hf_verysecret", "HTTP_PROXY": "http://user:pass-word@proxy:3128"},
        backend_parameters=["--hf-token=othersecret", "--api-token", "thirdsecret", "--x={{braces}}"],
    )
    fake.add_backend("vLLM", {"1-custom": {"image_name": "x/y:1", "env": {"HF_TOKEN": "hf_backend"}}})
    adopted = adopt(fake)
    for secret in ("hf_verysecret", "pass-word", "othersecret", "thirdsecret", "hf_backend"):
        assert secret not in str(adopted)
    (model,) = models(adopted)
    assert model["env"] == {
        "HF_TOKEN": "{{ vault_by_hand_hf_token_2 }}",
        "HTTP_PROXY": "{{ vault_by_hand_http_proxy }}",
    }
    assert model["backend_parameters"] == [
        "--hf-token={{ vault_by_hand_hf_token }}",
        "--api-token",
        "{{ vault_by_hand_api_token }}",
        "--x={{braces}}",
    ]
    assert isinstance(model["backend_parameters"][3], Unsafe)
    assert adopted["secrets"] == [
        "vault_gpustack_admin_password: password of the administrator",
        "vault_1_custom_hf_token: HF_TOKEN of backend version 1-custom",
        "vault_by_hand_hf_token: hf-token of model by-hand",
        "vault_by_hand_api_token: api-token of model by-hand",
        "vault_by_hand_hf_token_2: HF_TOKEN of model by-hand",
        "vault_by_hand_http_proxy: HTTP_PROXY of model by-hand",
    ]
    vault = yaml.safe_load(adopted["files"]["group_vars/all/vault.yml"])
    assert set(vault.values()) == {"CHANGE-ME"}
    assert [line.partition(":")[0] for line in adopted["secrets"]] == list(vault)


def test_text_with_braces_is_no_template(fake: FakeGPUStack) -> None:
    fake.add_model("by-hand", **{**BY_HAND, "backend": "Custom"}, image_name="x", run_command="serve {{model_path}}")
    adopted = adopt(fake)
    assert 'run_command: !unsafe "serve {{model_path}}"' in adopted["files"]["group_vars/all/models.yml"]
    assert isinstance(models(adopted)[0]["run_command"], Unsafe)


def test_only_routes_that_no_model_brings_along_are_declared(fake: FakeGPUStack) -> None:
    fake.add_model("chat", **BY_HAND, description="Chat")
    fake.add_model("extra", **BY_HAND)
    targets = [{"model": "chat", "weight": 90}, {"model": "extra", "weight": 10}]
    call("model_route", fake, name="both", description="Two", targets=targets)
    call("model_route", fake, name="extra", targets=[{"model": "extra", "weight": 7}])
    found = variables(adopt(fake))["gpustack_resources_routes"]
    assert [route["name"] for route in found] == ["both", "extra"]
    assert found[0]["targets"] == targets
    for route in found:
        assert call("model_route", fake, **route)["changed"] is False


def test_workers_become_hosts_and_keep_their_own_labels(fake: FakeGPUStack, racks: dict[str, Any]) -> None:
    edge = fake.add_cluster(
        "edge", description="Two hosts", worker_config={"system_reserved": {"ram": 2}, "debug": None}
    )
    labels = {"os": "Linux", "arch": "amd64", "worker-name": "gpu-worker-a", "rack": "12"}
    fake.add_worker("gpu-worker-a", racks, labels=labels, maintenance={"enabled": True, "message": "fans"})
    fake.add_worker("gpu-worker-b", edge, ip="192.0.2.12")
    adopted = adopt(fake)
    hosts = yaml.safe_load(adopted["files"]["hosts.yml"])
    assert hosts["gpustack_workers"]["hosts"] == {
        "gpu-worker-a": {
            "ansible_host": "192.0.2.11",
            "gpustack_worker_ip": "192.0.2.11",
            "gpustack_worker_interface": "eth0",
        },
        "gpu-worker-b": {
            "ansible_host": "192.0.2.12",
            "gpustack_worker_ip": "192.0.2.12",
            "gpustack_worker_interface": "eth0",
            "gpustack_worker_cluster": "edge",
        },
    }
    read = variables(adopted)
    assert read["gpustack_resources_workers"] == [
        {"name": "gpu-worker-a", "labels": {"rack": "12"}, "maintenance": True, "maintenance_message": "fans"}
    ]
    assert read["gpustack_resources_clusters"] == [
        {"name": "edge", "description": "Two hosts", "worker_config": {"system_reserved": {"ram": 2}}},
        {"name": "racks", "default": True},
    ]
    assert (read["gpustack_server_cluster"], read["gpustack_server_version"]) == ("racks", "2.1.1")


def test_model_in_another_cluster_names_it(fake: FakeGPUStack) -> None:
    edge = fake.add_cluster("edge")
    fake.add_model("chat", **{**BY_HAND, "cluster_id": edge["id"]})
    assert models(adopt(fake))[0]["cluster"] == "edge"


def test_what_cannot_be_declared_is_told(fake: FakeGPUStack) -> None:
    fake.add_model("quiet", **{**BY_HAND, "backend": None})
    fake.targets.clear()
    fake.routes.clear()
    assert adopt(fake)["notes"] == [
        "Model quiet has no route of its name; when it is applied it gets one.",
        "Model quiet has no backend, which cannot be declared; it is vLLM here.",
    ]


def test_empty_server_is_an_inventory_too_and_the_same_one_every_time(fake: FakeGPUStack) -> None:
    adopted = adopt(fake)
    assert adopted == adopt(fake)
    assert models(adopted) == []
    assert adopted["files"]["group_vars/all/fleet.yml"].startswith(f"---\n# What {fake.url} had (GPUStack 2.1.1).\n")


@pytest.mark.parametrize("found", [None, {"models": []}, {"server_url": "u", "version": "v", "models": [{}]}])
def test_what_was_not_read_by_the_modules_is_refused(found: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"adopted_inventory: .*[Ww]anted"):
        adopted_inventory(found)
