# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that was filled by hand, adopted, and applied: to itself, and to a server of another release."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server import PASSWORD, PROJECT, ApiServer
from fault_proxy import FaultProxy

OLDEST, NEWEST = "v2.1.1", "v2.3.0"
WORKER = "gpu-worker-adopted"
SECRETS = {
    "vault_gpustack_admin_password": PASSWORD,
    "vault_0_17_1_adopted_custom_hf_token": "hf_of_the_backend",
    "vault_adopted_chat_api_token": "token of the engine",
    "vault_adopted_chat_hf_token": "hf_of_the_model",
    "vault_adopted_chat_http_proxy": "http://user:word@proxy:3128",
}
FILES = ("group_vars/all/models.yml", "group_vars/all/resources.yml")


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!unsafe", lambda loader, node: node.value)


def fill(server: ApiServer) -> None:
    """As somebody does it in years of clicking."""
    cluster = server.request("POST", "/v2/clusters", {"name": "adopted", "provider": "Docker", "description": "Racks"})
    worker = server.register_worker(WORKER, cluster["id"])
    labels = {"os": "Linux", "arch": "amd64", "worker-name": WORKER, "rack": "12"}
    maintenance = {"enabled": True, "message": "fans {{ soon }}"}
    server.request("PUT", f"/v2/workers/{worker['id']}", {"name": WORKER, "labels": labels, "maintenance": maintenance})
    backend = server.request("GET", "/v2/inference-backends/backend_name/vLLM")
    version = {
        "image_name": "docker.io/vllm/vllm-openai:v0.17.1",
        "entrypoint": "vllm serve",
        "run_command": "{{model_path}} --host {{worker_ip}} --port {{port}}",
        "custom_framework": "cuda",
        "env": {"HF_TOKEN": SECRETS["vault_0_17_1_adopted_custom_hf_token"]},
    }
    versions = {**(backend["version_configs"] or {}), "0.17.1-adopted-custom": version}
    server.request(
        "PUT", f"/v2/inference-backends/{backend['id']}", {"backend_name": "vLLM", "version_configs": versions}
    )
    common = {"backend": "vLLM", "replicas": 0, "enable_model_route": True, "cluster_id": cluster["id"]}
    chat = {
        "name": "adopted-chat",
        "source": "local_path",
        "local_path": "/var/lib/models/X",
        "backend_version": "0.17.1-adopted-custom",
        "backend_parameters": ["--max-model-len=4096", "--api-token", SECRETS["vault_adopted_chat_api_token"]],
        "env": {
            "HF_TOKEN": SECRETS["vault_adopted_chat_hf_token"],
            "HTTP_PROXY": SECRETS["vault_adopted_chat_http_proxy"],
            "EMPTY": "",
            "TEMPLATE": "{{ no }}",
        },
        "worker_selector": {"rack": "12"},
        "description": "Made: by hand",
        "restart_on_error": False,
        "access_policy": "public",
        "extended_kv_cache": {"enabled": True, "ram_size": 8},
        "speculative_config": {"enabled": True, "algorithm": "ngram", "num_draft_tokens": 4},
    }
    other = {
        "name": "adopted-other",
        "source": "huggingface",
        "huggingface_repo_id": "Qwen/Qwen2.5-0.5B",
        "placement_strategy": "binpack",
        "distributed_inference_across_workers": False,
        "categories": ["llm"],
    }
    made = [server.request("POST", "/v2/models", {**common, **model}) for model in (chat, other)]
    targets = [{"model_id": model["id"], "weight": weight} for model, weight in zip(made, (90, 10))]
    route = {"name": "adopted-both", "description": "Two", "categories": ["llm"], "targets": targets}
    server.request("POST", "/v2/model-routes", route)


def empty(server: ApiServer) -> None:
    """Nothing of it is left for other tests."""
    for path in ("/v2/model-routes", "/v2/models", "/v2/workers", "/v2/clusters"):
        for item in server.items(path):
            if "adopted" in item["name"] and item["name"] in server.names(path):
                server.request("DELETE", f"{path}/{item['id']}")
    backend = server.request("GET", "/v2/inference-backends/backend_name/vLLM")
    versions = {name: config for name, config in (backend["version_configs"] or {}).items() if "adopted" not in name}
    server.request(
        "PUT", f"/v2/inference-backends/{backend['id']}", {"backend_name": "vLLM", "version_configs": versions}
    )


def play(playbook: str, inventory: str, *arguments: str, **environment: str) -> str:
    run = subprocess.run(
        ["ansible-playbook", playbook, "-i", inventory, *arguments],
        cwd=PROJECT,
        env={**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    output = run.stdout + run.stderr
    assert run.returncode == 0, output
    assert [name for name, secret in SECRETS.items() if secret in output] == []
    return output


def adopt(proxy: FaultProxy, directory: Path, *arguments: str) -> str:
    """Run the playbook; no request of it writes."""
    output = play(
        "playbooks/adopt.yml",
        "localhost,",
        *("--extra-vars", f"gpustack_adopt_directory={directory}", *arguments),
        GPUSTACK_SERVER_URL=proxy.url,
        GPUSTACK_USERNAME="admin",
        GPUSTACK_PASSWORD=PASSWORD,
    )
    assert proxy.writes() == []
    return output


def apply(server: ApiServer, directory: Path) -> dict[str, int]:
    """Apply the inventory; the counts of Ansible's recap."""
    output = play(
        "tests/api/apply.yml", str(directory), "--extra-vars", f"gpustack_server_url={server.url}", "--diff", "-vvv"
    )
    return {name: int(count) for name, count in re.findall(r"(changed|failed)=(\d+)", output)}


def named(directory: Path) -> dict[str, Any]:
    """What of the adopted this test has made, by variable and name."""
    found: dict[str, Any] = {}
    for file in FILES:
        for variable, rows in yaml.load((directory / file).read_text(), _Loader).items():
            for row in rows:
                if "adopted" in row["name"]:
                    found[f"{variable} {row['name']}"] = {
                        name: value for name, value in row.items() if name != "default"
                    }
    return found


@pytest.fixture(name="adopted", scope="module")
def fixture_adopted(servers: dict[str, ApiServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The inventory of the oldest release, with the secrets filled in."""
    server, directory = servers[OLDEST], tmp_path_factory.mktemp("inventories") / "live"
    fill(server)
    try:
        with FaultProxy(server.url) as proxy:
            output = adopt(proxy, directory)
        assert "vault_adopted_chat_hf_token: HF_TOKEN of model adopted-chat" in output
        vault = directory / "group_vars/all/vault.yml"
        assert vault.stat().st_mode & 0o777 == 0o600
        assert set(yaml.safe_load(vault.read_text())) >= set(SECRETS)
        vault.write_text(yaml.safe_dump({**yaml.safe_load(vault.read_text()), **SECRETS}))
        yield directory
    finally:
        empty(server)


def test_applied_to_the_same_server_it_changes_nothing(servers: dict[str, ApiServer], adopted: Path) -> None:
    assert apply(servers[OLDEST], adopted) == {"changed": 0, "failed": 0}


def test_applied_to_a_server_of_the_newest_release_it_rebuilds_the_same(
    servers: dict[str, ApiServer], adopted: Path, tmp_path: Path
) -> None:
    server = servers[NEWEST]
    cluster = server.request("POST", "/v2/clusters", {"name": "adopted", "provider": "Docker"})
    server.register_worker(WORKER, cluster["id"])
    try:
        assert apply(server, adopted)["changed"] >= 5
        assert apply(server, adopted) == {"changed": 0, "failed": 0}
        with FaultProxy(server.url) as proxy:
            adopt(proxy, tmp_path / "again")
        expected = named(adopted)
        assert len(expected) == 6
        assert named(tmp_path / "again") == expected
    finally:
        empty(server)


def test_what_only_the_newest_release_has_is_adopted_as_well(servers: dict[str, ApiServer], tmp_path: Path) -> None:
    server, secret = servers[NEWEST], "hf_of_the_role"
    cluster = server.request("POST", "/v2/clusters", {"name": "adopted", "provider": "Docker"})
    roles = [
        {"name": "prefill", "replicas": 2, "backend_parameters": ["--max-num-seqs=8"], "env": {"HF_TOKEN": secret}},
        {"name": "decode", "extended_kv_cache": {"enabled": True, "ram_size": 4}},
        {"name": "router"},
    ]
    model = {
        "name": "adopted-roles",
        "source": "local_path",
        "local_path": "/var/lib/models/X",
        "backend": "vLLM",
        "replicas": 0,
        "cluster_id": cluster["id"],
        "enable_model_route": True,
        "roles": roles,
        "disaggregation": {"mode": "vllm-nixl"},
        "gather": {"strategy": "PreferGather"},
    }
    try:
        server.request("POST", "/v2/models", model)
        with FaultProxy(server.url) as proxy:
            output = adopt(proxy, tmp_path / "live")
        assert secret not in output
        vault = tmp_path / "live/group_vars/all/vault.yml"
        (asked,) = [name for name in yaml.safe_load(vault.read_text()) if "hf_token" in name]
        vault.write_text(yaml.safe_dump({"vault_gpustack_admin_password": PASSWORD, asked: secret}))
        assert apply(server, tmp_path / "live") == {"changed": 0, "failed": 0}
        (found,) = [model for model in server.items("/v2/models") if model["name"] == "adopted-roles"]
        assert found["roles"][0]["env"] == {"HF_TOKEN": secret}
    finally:
        empty(server)


def test_inventory_that_is_there_is_not_written_over(servers: dict[str, ApiServer], adopted: Path) -> None:
    before = {path: path.read_text() for path in adopted.rglob("*.yml")}
    with FaultProxy(servers[OLDEST].url) as proxy:
        with pytest.raises(AssertionError, match=r"hosts.yml is there already; set gpustack_adopt_force=true"):
            adopt(proxy, adopted)
        assert proxy.passed == []
        adopt(proxy, adopted, "--extra-vars", "gpustack_adopt_force=true", "--check")
    assert {path: path.read_text() for path in adopted.rglob("*.yml")} == before


def test_dynamic_inventory_lists_the_workers_of_both_releases(server: ApiServer, tmp_path: Path) -> None:
    cluster = server.request("POST", "/v2/clusters", {"name": "adopted-listed", "provider": "Docker"})
    try:
        server.register_worker("gpu-worker-adopted-listed", cluster["id"])
        path = tmp_path / "racks.gpustack.yml"
        path.write_text("plugin: gpuops.gpustack.fleet\n")
        listed = subprocess.run(
            ["ansible-inventory", "-i", str(path), "--graph"],
            cwd=PROJECT,
            env={
                **os.environ,
                "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
                "GPUSTACK_SERVER_URL": server.url,
                "GPUSTACK_USERNAME": "admin",
                "GPUSTACK_PASSWORD": PASSWORD,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        groups = {
            group
            for group in ("gpustack_workers", "cluster_adopted_listed", "label_os_linux")
            if f"@{group}:" in listed
        }
        assert groups == {"gpustack_workers", "cluster_adopted_listed", "label_os_linux"}
        assert "gpu-worker-adopted-listed" in listed
    finally:
        empty(server)
