# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, change and remove, each in check mode, for real, and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from fault_proxy import FaultProxy

Options = dict[str, Any]
Call = Callable[..., dict[str, Any]]

MODEL: Options = {"source": "local_path", "local_path": "/m", "backend": "vLLM", "replicas": 0}


@dataclass(frozen=True)
class Life:
    """`same` says `create` in other words; `changed` are the fields of the diff; `remaining` is what must survive."""

    module: str
    name: Options
    create: Options
    same: Options
    update: Options
    changed: set[str]
    read: Callable[[ApiServer], list[dict[str, Any]]]
    remaining: Options = field(default_factory=dict)
    absent: Options = field(default_factory=dict)


def backend_versions(server: ApiServer) -> list[dict[str, Any]]:
    backend = server.request("GET", "/v2/inference-backends/backend_name/vLLM")
    return [{"name": name, **config} for name, config in backend["version_configs"].items()]


LIVES = [
    Life(
        "cluster",
        {"name": "edge"},
        {"description": "Two hosts", "worker_config": {"system_reserved": {"ram": 2, "vram": 0}}},
        {"worker_config": {"system_reserved": {"ram": "2", "vram": "0"}}},
        {"description": "Three hosts", "worker_config": {"debug": True}},
        {"description", "worker_config"},
        lambda server: server.items("/v2/clusters"),
        remaining={"provider": "Docker", "state": "ready"},
    ),
    Life(
        "backend_version",
        {"name": "0.17.1-v100-custom"},
        {"image_name": "docker.io/vllm/vllm-openai:v0.17.1", "entrypoint": "vllm serve", "env": {"LEVEL": 1}},
        {"env": {"LEVEL": "1"}},
        {"image_name": "docker.io/vllm/vllm-openai:v0.17.1-1"},
        {"image_name"},
        backend_versions,
        remaining={"entrypoint": "vllm serve", "custom_framework": "cuda"},
    ),
    Life(
        "user",
        {"name": "alice"},
        {"full_name": "Alice", "user_password": "Looking_Glass1"},
        {"full_name": "Alice", "user_password": "Another_One1"},
        {"full_name": "Alice Liddell", "is_admin": True},
        {"full_name", "is_admin"},
        lambda server: [{**user, "name": user["username"]} for user in server.items("/v2/users")],
        remaining={"is_active": True},
    ),
    Life(
        "model",
        {"name": "qwen"},
        {
            "local_path": "/m",
            "replicas": 0,
            "backend_parameters": ["--max-model-len=4096"],
            "extended_kv_cache": {"enabled": True},
            "categories": ["llm", "embedding"],
            "wait": False,
        },
        {"categories": ["embedding", "llm"], "wait": False},
        {"description": "Chat", "backend_parameters": ["--max-model-len=8192"], "wait": False},
        {"description", "backend_parameters"},
        lambda server: server.items("/v2/models"),
        remaining={"categories": ["llm", "embedding"], "distributed_inference_across_workers": True},
        absent={"wait": False},
    ),
    Life(
        "model_route",
        {"name": "chat"},
        {"description": "The chat model", "targets": [{"model": "a", "weight": 90}, {"model": "b", "weight": 10}]},
        {"targets": [{"model": "b"}, {"model": "a"}]},
        {"targets": [{"model": "a", "weight": 50}], "access_policy": "allowed_users", "users": ["admin"]},
        {"targets", "access_policy", "users"},
        lambda server: server.items("/v2/model-routes"),
        remaining={"description": "The chat model", "targets": 1},
    ),
]


@pytest.fixture
def models(server: ApiServer, cluster: dict[str, Any]) -> None:
    """Two models for routes to lead to."""
    for name in {"a", "b"} - set(server.names("/v2/models")):
        server.request("POST", "/v2/models", {"name": name, "cluster_id": cluster["id"], **MODEL})


def stored(life: Life, server: ApiServer) -> dict[str, Any] | None:
    return next((item for item in life.read(server) if item["name"] == life.name["name"]), None)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.module)
def test_life_of(life: Life, server: ApiServer, proxy: FaultProxy, call: Call) -> None:
    gone = {**life.name, **life.absent, "state": "absent"}
    call(life.module, **gone)
    new, changed = {**life.name, **life.create}, {**life.name, **life.update}

    assert call(life.module, check=True, **new)["changed"] is True
    assert (proxy.writes(), stored(life, server)) == ([], None)
    assert call(life.module, **new)["changed"] is True
    created = stored(life, server)
    assert created is not None
    assert sum(value not in (None, "", [], {}) for value in created.values()) > len(new)  # the server filled some in
    for same in (new, {**life.name, **life.same}):
        assert call(life.module, **same)["changed"] is False
        assert proxy.writes() == []

    answer = call(life.module, check=True, **changed)
    assert (answer["changed"], proxy.writes(), stored(life, server)) == (True, [], created)
    assert set(answer["diff"]["after"]) == set(answer["diff"]["before"]) == life.changed
    answer = call(life.module, **changed)
    assert (answer["changed"], set(answer["diff"]["after"])) == (True, life.changed)
    now = stored(life, server) or {}
    assert {name: now[name] for name in life.remaining} == life.remaining
    assert call(life.module, **changed)["changed"] is False
    assert proxy.writes() == []

    assert call(life.module, check=True, **gone)["changed"] is True
    assert proxy.writes() == []
    assert stored(life, server) is not None
    assert call(life.module, **gone)["changed"] is True
    assert stored(life, server) is None
    assert call(life.module, **gone)["changed"] is False
    assert proxy.writes() == []


def test_life_of_api_key(server: ApiServer, proxy: FaultProxy, call: Call, tmp_path: Path) -> None:
    key = {"name": "load-test", "description": "Load test", "path": str(tmp_path / "key")}
    changed, gone = {**key, "description": "Nightly load test"}, {**key, "state": "absent"}
    file = tmp_path / "key"
    call("api_key", **gone)
    assert call("api_key", check=True, **key)["changed"] is True
    assert (proxy.writes(), file.exists()) == ([], False)
    answer = call("api_key", **key)
    assert answer["changed"] is True
    secret = file.read_text().strip()
    assert secret.startswith("gpustack_")
    assert secret not in str(answer)
    assert call("api_key", **key)["changed"] is False
    assert call("api_key", check=True, **changed)["diff"] == {
        "before": {"description": "Load test"},
        "after": {"description": "Nightly load test"},
    }
    assert proxy.writes() == []
    assert call("api_key", **changed)["changed"] is True
    assert call("api_key", **changed)["changed"] is False
    assert [k["description"] for k in server.items("/v2/api-keys") if k["name"] == "load-test"] == ["Nightly load test"]
    file.write_text("gpustack_0011223344556677_00112233445566778899aabbccddeeff\n")
    assert "the server refuses what is in it" in call("api_key", **changed)["msg"]
    assert call("api_key", **changed, recreate=True)["changed"] is True
    assert file.read_text().strip() not in ("", secret)
    assert call("api_key", check=True, **gone)["changed"] is True
    assert proxy.writes() == []
    assert call("api_key", **gone)["changed"] is True
    assert (file.exists(), "load-test" in server.names("/v2/api-keys")) == (False, False)
    assert call("api_key", **gone)["changed"] is False


def test_life_of_worker(server: ApiServer, worker: dict[str, Any], proxy: FaultProxy, call: Call) -> None:
    name, labels = {"name": "gpu-worker-a"}, {"rack": 12}
    assert call("worker", check=True, **name, labels=labels)["diff"]["after"]["labels"] == {
        **worker["labels"],
        "rack": "12",
    }
    assert proxy.writes() == []
    assert call("worker", **name, labels=labels)["changed"] is True
    assert call("worker", **name, labels=labels)["changed"] is False
    answer = call("worker", **name, maintenance=True, maintenance_message="New driver")
    assert (answer["changed"], answer["worker"]["state"]) == (True, "maintenance")
    assert call("worker", **name, labels=labels, maintenance=True, maintenance_message="New driver")["changed"] is False
    assert call("worker", **name, maintenance=False)["changed"] is True
    assert call("worker", **name, maintenance=False)["changed"] is False
    (row,) = server.items("/v2/workers", name="gpu-worker-a")
    assert row["labels"] == {**worker["labels"], "rack": "12"}
    assert call("worker", check=True, **name, state="absent")["changed"] is True
    assert proxy.writes() == []
    assert call("worker", **name, state="absent")["changed"] is True
    assert "gpu-worker-a" not in server.names("/v2/workers")
    assert call("worker", **name, state="absent")["changed"] is False


def test_life_of_model_file(server: ApiServer, worker: dict[str, Any], proxy: FaultProxy, call: Call) -> None:
    file = {"worker": "gpu-worker-a", "local_path": "/var/lib/models/Qwen", "wait": False}
    assert call("model_file", check=True, **file)["changed"] is True
    assert proxy.writes() == []
    assert call("model_file", **file)["changed"] is True
    assert call("model_file", **file)["changed"] is False
    assert call("model_file", check=True, **file, cleanup_on_delete=True)["diff"]["after"] == {
        "cleanup_on_delete": True
    }
    assert proxy.writes() == []
    assert call("model_file", **file, cleanup_on_delete=True)["changed"] is True
    assert call("model_file", **file, cleanup_on_delete=True)["changed"] is False
    (row,) = server.items("/v2/model-files", worker_id=worker["id"])
    assert (row["local_path"], row["cleanup_on_delete"]) == ("/var/lib/models/Qwen", True)
    assert call("model_file", check=True, **file, state="absent")["changed"] is True
    assert proxy.writes() == []
    assert call("model_file", **file, state="absent")["changed"] is True
    assert call("model_file", **file, state="absent")["changed"] is False


def test_instance_is_replaced_once(server: ApiServer, cluster: dict[str, Any], proxy: FaultProxy, call: Call) -> None:
    body = {"name": "waiting", "cluster_id": cluster["id"], **MODEL, "replicas": 1}
    model = server.request("POST", "/v2/models", body)
    try:
        (before,) = await_instances(server, model["id"], set())
        assert call("model_instance", check=True, name=before)["replaced"] == [before]
        assert proxy.writes() == []
        assert call("model_instance", name=before, wait=False)["replaced"] == [before]
        (after,) = await_instances(server, model["id"], {before})
        assert call("model_instance", name=before)["changed"] is False
        (row,) = call("model_instance_info", model="waiting")["model_instances"]
        assert (row["name"], row["model"]) == (after, "waiting")
    finally:
        server.request("DELETE", f"/v2/models/{model['id']}")


def await_instances(server: ApiServer, model_id: int, gone: set[str]) -> list[str]:
    """The names of the model's instances, once there are some and none of those that are gone."""
    for _attempt in range(60):
        names = [row["name"] for row in server.items("/v2/model-instances", model_id=model_id)]
        if names and gone.isdisjoint(names):
            return names
        time.sleep(0.5)
    raise AssertionError(f"no new instance of model {model_id} after 30 s")


@pytest.mark.usefixtures("models", "worker")
@pytest.mark.parametrize(
    ("module", "key", "name"),
    [
        ("cluster_info", "clusters", "racks"),
        ("worker_info", "workers", "gpu-worker-a"),
        ("model_info", "models", "a"),
        ("model_route_info", "model_routes", None),
        ("model_file_info", "model_files", None),
        ("model_instance_info", "model_instances", None),
        ("backend_version_info", "backend_versions", None),
        ("user_info", "users", "admin"),
        ("api_key_info", "api_keys", None),
    ],
)
def test_info_lists_what_is_there_and_writes_nothing(
    module: str, key: str, name: str | None, proxy: FaultProxy, call: Call
) -> None:
    answer = call(module)
    assert answer["changed"] is False
    assert proxy.writes() == []
    found = [item["name"] for item in answer[key]]
    assert found == sorted(found)
    assert name is None or name in found


def test_fields_of_newer_servers_are_refused_by_older_ones(
    server: ApiServer, proxy: FaultProxy, call: Call, tmp_path: Path, cluster: dict[str, Any]
) -> None:
    model = {"name": "newer", "local_path": "/m", "replicas": 0, "wait": False, "lora_list": [{"lora_name": "x"}]}
    key = {"name": "newer", "path": str(tmp_path / "key"), "scope": ["inference"]}
    for module, options in (("model", model), ("api_key", key)):
        answer = call(module, check=True, **options)
        if server.version < (2, 2, 0):
            assert "needs GPUStack 2.2.0 or newer; this server is 2.1.1" in answer["msg"]
        else:
            assert answer["changed"] is True
    assert "newer" not in server.names("/v2/models")


def test_newest_fields_of_a_model_are_kept(server: ApiServer, call: Call, cluster: dict[str, Any]) -> None:
    if server.version < (2, 3, 0):
        pytest.skip("this release has none")
    model = {
        "name": "newest",
        "local_path": "/m",
        "replicas": 0,
        "wait": False,
        "lora_list": [{"lora_name": "support", "source": "local_path", "local_path": "/a"}],
        "scaling_schedule": {
            "enabled": True,
            "baseline_replicas": 0,
            "rules": [{"name": "day", "start_cron": "0 7 * * 1-5", "duration_seconds": 600, "replicas": 1}],
        },
        "native_anthropic_api": True,
        "revision_history_limit": 3,
    }
    assert call("model", **model)["changed"] is True
    assert call("model", **model)["changed"] is False
    assert call("model", **{**model, "replicas": 2})["changed"] is False  # the schedule decides that
    assert call("model", name="newest", state="absent", wait=False)["changed"] is True
