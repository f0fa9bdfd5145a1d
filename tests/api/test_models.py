# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All declared models in one call: what passes on the wire, what is refused before it, and what faults come to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from api_server import ApiServer
from fault_proxy import Fault, FaultProxy

Options = dict[str, Any]
Call = Callable[..., dict[str, Any]]

BOUND = "--max-model-len=4096"
# Version, models, instances and targets of routes.
LOOKS = [("GET", path) for path in ("/version", "/v2/models", "/v2/model-instances", "/v2/model-route-targets")]


def declared(name: str, **fields: Any) -> Options:
    return {
        "name": name,
        "local_path": "/var/lib/models/X",
        "replicas": 0,
        "backend_parameters": [BOUND],
        "env": {"WORKERS": 4},
        **fields,
    }


ONE, TWO, THREE = (declared(f"many-{number}") for number in (1, 2, 3))
LONGER = declared("many-2", backend_parameters=["--max-model-len=8192"])


@pytest.fixture(autouse=True)
def clean(server: ApiServer, cluster: dict[str, Any]) -> None:
    """Nothing of other tests that this collection has written, since that would be pruned too."""
    for model in server.items("/v2/models"):
        if "GPUOPS_CONFIGURATION" in (model["env"] or {}) or model["name"].startswith("many"):
            server.request("DELETE", f"/v2/models/{model['id']}")


@pytest.fixture
def apply(call: Call) -> Callable[..., dict[str, Any]]:
    """The models without waiting: without workers no engine ever runs."""

    def run(*models: Options, check: bool = False, **options: Any) -> dict[str, Any]:
        return call("models", check=check, models=list(models), wait=False, **{"evaluation": "ignore", **options})

    return run


Apply = Callable[..., dict[str, Any]]


def many(server: ApiServer) -> dict[str, Options]:
    return {model["name"]: model for model in server.items("/v2/models") if model["name"].startswith("many")}


def looks(proxy: FaultProxy) -> list[tuple[str, str]]:
    return [(request.method, request.path) for request in proxy.passed if request.path != "/auth/login"]


def test_life_of_models(server: ApiServer, proxy: FaultProxy, apply: Apply) -> None:
    assert apply(ONE, TWO, check=True)["changed"] is True
    assert (proxy.writes(), many(server)) == ([], {})
    assert apply(ONE, TWO)["changed"] is True
    assert proxy.writes() == [("POST", "/v2/models")] * 2
    created = many(server)
    assert created["many-1"]["distributed_inference_across_workers"] is True  # the server's own
    for _again in range(2):
        assert apply(TWO, ONE)["changed"] is False
        assert looks(proxy) == LOOKS

    shown = apply(ONE, LONGER, check=True)
    assert (shown["changed"], proxy.writes(), many(server)) == (True, [], created)
    (difference,) = shown["diff"]
    assert difference["after_header"] == "model many-2"
    assert (difference["before"], difference["after"]) == (
        {"backend_parameters": [BOUND]},
        {"backend_parameters": ["--max-model-len=8192"]},
    )
    answer = apply(ONE, LONGER)
    assert answer["diff"] == shown["diff"]
    assert [(model["name"], model["changed"]) for model in answer["models"]] == [("many-1", False), ("many-2", True)]
    assert proxy.writes() == [("PUT", f"/v2/models/{created['many-2']['id']}")]
    assert apply(ONE, LONGER)["changed"] is False
    assert looks(proxy) == LOOKS

    assert apply(ONE)["changed"] is False  # what is not declared stays
    assert apply(ONE, prune=True, check=True)["pruned"] == ["many-2"]
    assert (proxy.writes(), set(many(server))) == ([], {"many-1", "many-2"})
    assert apply(ONE, prune=True)["pruned"] == ["many-2"]
    assert (set(many(server)), "many-2" in server.names("/v2/model-routes")) == ({"many-1"}, False)
    assert apply(ONE, prune=True)["changed"] is False
    assert looks(proxy) == LOOKS


def test_models_made_by_hand_are_pruned_only_when_told_so(
    server: ApiServer, proxy: FaultProxy, cluster: dict[str, Any], apply: Apply
) -> None:
    body = {"source": "local_path", "local_path": "/m", "backend": "vLLM", "replicas": 0, "cluster_id": cluster["id"]}
    server.request("POST", "/v2/models", {"name": "many-by-hand", **body})
    assert apply(prune=True)["pruned"] == []
    answer = apply(check=True, prune=True, prune_foreign=True)
    assert "many-by-hand" in answer["pruned"]
    assert proxy.writes() == []


def test_replicas_are_models_behind_one_route(server: ApiServer, proxy: FaultProxy, apply: Apply) -> None:
    two = declared("many-1", replicas=2)
    assert apply(two)["models"][0]["members"] == ["many-1", "many-1-r2"]
    assert {name: model["replicas"] for name, model in many(server).items()} == {"many-1": 1, "many-1-r2": 1}
    assert [name for name in server.names("/v2/model-routes") if name.startswith("many")] == ["many-1"]
    assert apply(two)["changed"] is False
    assert looks(proxy) == LOOKS
    apply(ONE)
    for _step in range(2):
        apply(ONE)
    assert {name: model["replicas"] for name, model in many(server).items()} == {"many-1": 0}


def test_refusal_of_one_stops_no_other(server: ApiServer, apply: Apply) -> None:
    refused = {**TWO, "backend_parameters": ["--port=9000"]}  # by GPUStack itself, which chooses the port
    answer = apply(ONE, refused, THREE)
    assert answer["msg"].startswith("1 of 3 models failed. many-2: GPUStack refuses POST /v2/models with status 4")
    assert [model["failed"] for model in answer["models"]] == [False, True, False]
    assert set(many(server)) == {"many-1", "many-3"}
    assert apply(ONE, TWO, THREE)["changed"] is True
    assert set(many(server)) == {"many-1", "many-2", "many-3"}


REFUSED = {
    "two of one name": ([ONE, {**ONE, "replicas": 1}], "many-1"),
    "a name that no request can call": ([declared("many models")], "name is 'many models'"),
    "unknown field": ([{**ONE, "environment_variables": {"A": "1"}}], "environment_variables"),
    "wrong type": ([{**ONE, "replicas": "a few"}], "replicas"),
    "wrong type in depth": ([{**ONE, "extended_kv_cache": {"ram_size": "much"}}], "ram_size"),
    "not a text": ([{**ONE, "env": {"A": {"b": 1}}}], "env has values that are neither text nor number: A"),
    "less than none": ([{**ONE, "replicas": -1}], "replicas is -1; wanted is 0"),
    "not one of the choices": ([{**ONE, "placement_strategy": "anywhere"}], "spread, binpack"),
    "another spelling": ([{**ONE, "backend": "vllm"}], "Write 'vLLM'"),
    "a number without its GPUs": ([{**ONE, "gpu_selector": {"gpus_per_replica": 2}}], "gpu_ids"),
    "a command without its backend": ([{**ONE, "run_command": "serve"}], "only with backend 'Custom'"),
    "no place of the weights": ([{"name": "many-1"}], "nothing says where its weights are"),
    "two places of the weights": ([{**ONE, "huggingface_repo_id": "a/b"}], "mutually exclusive"),
    "no such cluster": ([{**ONE, "cluster": "nowhere"}], "nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nonsense_is_one_error_before_the_first_write(
    case: str, server: ApiServer, proxy: FaultProxy, apply: Apply
) -> None:
    models, message = REFUSED[case]
    answer = apply(THREE, *models)
    assert answer["failed"] is True
    assert message in answer["msg"]
    assert "Traceback" not in str(answer)
    assert (proxy.writes(), many(server)) == ([], {})


ROLES = {
    "roles": [
        {
            "name": "prefill",
            "replicas": 2,
            "backend_parameters": ["--max-num-seqs=8"],
            "env": {"ROLE_TOKEN": "planted-in-a-role"},
        },
        {"name": "decode", "extended_kv_cache": {"enabled": True, "ram_size": 4}, "worker_selector": {"zone": 1}},
        {"name": "router", "resources": {"cpu": 1, "memory": 1073741824}, "dependencies": ["prefill", "decode"]},
    ],
    "disaggregation": {"mode": "vllm-nixl"},
    "gather": {"strategy": "PreferGather"},
}
NEWEST = {
    "lora_list": [{"lora_name": "support", "source": "local_path", "local_path": "/a"}],
    "scaling_schedule": {"enabled": False, "baseline_replicas": 1},
    "revision_history_limit": 3,
    "native_anthropic_api": True,
    "extended_kv_cache": {"enabled": True, "mode": "local"},
}


def test_fields_of_a_newer_server_are_refused_before_the_first_write_or_kept(
    server: ApiServer, proxy: FaultProxy, apply: Apply
) -> None:
    newer = {**TWO, **NEWEST}
    if server.version >= (2, 3, 0):
        assert apply(ONE, newer)["changed"] is True
        assert apply(ONE, newer)["changed"] is False
        return
    for field, value in {**NEWEST, **ROLES}.items():
        answer = apply(ONE, {**TWO, field: value})
        assert "or newer; this server is 2.1.1, which would drop it" in answer["msg"], field
        assert (proxy.writes(), many(server)) == ([], {})


def test_roles_are_written_as_a_whole_and_what_gpustack_fills_in_is_no_difference(
    server: ApiServer, proxy: FaultProxy, apply: Apply
) -> None:
    if server.version < (2, 3, 0):
        pytest.skip("this release has none")
    answer = apply(ONE, {**TWO, **ROLES})
    assert answer["changed"] is True
    assert "planted-in-a-role" not in str(answer)
    proxy.reset()
    assert apply(ONE, {**TWO, **ROLES})["changed"] is False
    assert proxy.writes() == []
    prefill, decode, router = many(server)["many-2"]["roles"]
    assert (prefill["replicas"], prefill["env"]) == (2, {"ROLE_TOKEN": "planted-in-a-role"})
    assert (decode["extended_kv_cache"]["ram_size"], decode["worker_selector"]) == (4, {"zone": "1"})
    assert router["resources"] == {"cpu": 1.0, "memory": 1073741824}

    changed = [ROLES["roles"][0], {**ROLES["roles"][1], "worker_selector": None}, ROLES["roles"][2]]
    answer = apply(ONE, {**TWO, **ROLES, "roles": changed})
    (difference,) = answer["diff"]
    assert [role["worker_selector"] for role in difference["before"]["roles"]] == [None, {"zone": "1"}, None]
    assert [role["worker_selector"] for role in difference["after"]["roles"]] == [None, None, None]
    assert "planted-in-a-role" not in str(answer)
    assert many(server)["many-2"]["roles"][1]["worker_selector"] is None

    refused = apply(ONE, {**TWO, "roles": [{"name": "prefill", "env": {"A": {"b": 1}}}]})
    assert "env of role prefill has values that are neither text nor number: A" in refused["msg"]
    refused = apply(ONE, {**TWO, **ROLES, "replicas": 1, "roles": ROLES["roles"][:1]})
    assert "exactly one decode role" in refused["msg"]


def test_dry_run_of_the_server_disagrees_with_both_views(server: ApiServer, proxy: FaultProxy, apply: Apply) -> None:
    """A cluster without workers has room for nothing."""
    planned = declared("many-1", replicas=1, planned="tensor parallel size 4 on gpu-worker-a")
    warned = apply(planned, check=True, evaluation="warn")
    (disagreement,) = warned["disagreements"]
    assert (disagreement["member"], disagreement["planned"]) == ("many-1", "tensor parallel size 4 on gpu-worker-a")
    assert disagreement["gpustack"] in str(warned["warnings"])
    answer = apply(planned, evaluation="fail")
    assert "planned is tensor parallel size 4 on gpu-worker-a; GPUStack says: " in answer["msg"]
    assert "Nothing was changed." in answer["msg"]
    assert [request for request in proxy.writes() if request[1] != "/v2/model-evaluations"] == []
    assert many(server) == {}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut"),
        Fault("lost"),
        Fault(500),
        Fault("slow", seconds=2.5),
        Fault("lost", "PUT"),
        Fault(500, "PUT"),
    ],
    ids=["cut-before", "cut-after", "500", "time-out", "cut-after-a-change", "500-at-a-change"],
)
def test_run_after_a_fault_ends_in_the_declared_state(
    fault: Fault, server: ApiServer, proxy: FaultProxy, apply: Apply
) -> None:
    wanted = [ONE, TWO, THREE]
    if fault.method == "PUT":
        apply(ONE, LONGER, THREE)
        proxy.reset()
    proxy.faults = [Fault(fault.kind, fault.method, "/v2/models", seconds=fault.seconds)]
    assert apply(*wanted, timeout=2)["failed"] is True
    proxy.reset()
    assert apply(*wanted).get("failed") is None
    assert apply(*wanted)["changed"] is False
    found = [model for model in server.items("/v2/models") if model["name"].startswith("many")]
    assert sorted((model["name"], *model["backend_parameters"]) for model in found) == [
        (f"many-{number}", BOUND) for number in (1, 2, 3)
    ]


def test_rate_limit_delays_and_changes_nothing_else(server: ApiServer, proxy: FaultProxy, apply: Apply) -> None:
    proxy.faults = [
        Fault(429, "GET", "/v2/models", times=2, headers={"Retry-After": "0"}),
        Fault(429, "POST", "/v2/models", times=2),
    ]
    assert apply(ONE, TWO).get("failed") is None
    assert proxy.writes() == [("POST", "/v2/models")] * 4
    assert set(many(server)) == {"many-1", "many-2"}


def test_listing_that_changes_between_its_pages_makes_nothing_twice(
    server: ApiServer, proxy: FaultProxy, apply: Apply
) -> None:
    wanted = [declared(f"many-{number}") for number in range(6)]
    apply(*wanted)
    newest = max(many(server).values(), key=lambda model: model["id"])
    pages = 0

    def change(method: str, path: str) -> None:
        nonlocal pages
        pages += (method, path) == ("GET", "/v2/models")
        if pages == 2 and newest["name"] in many(server):
            server.request("DELETE", f"/v2/models/{newest['id']}")  # newest first: all others move forward

    proxy.page_size, proxy.on_request = 2, change
    answer = apply(*wanted)
    assert answer.get("failed") is None
    assert [model["name"] for model in answer["models"] if model["changed"]] in ([], [newest["name"]])
    proxy.reset()
    apply(*wanted)
    assert server.names("/v2/models").count("many-0") == 1
    assert set(many(server)) == {model["name"] for model in wanted}


@pytest.mark.nightly
def test_server_that_is_restarted_in_the_middle(server: ApiServer, proxy: FaultProxy, apply: Apply) -> None:
    wanted = [declared(f"many-{number}") for number in range(20)]
    restart = threading.Thread(target=server.restart)

    def strike(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v2/models") and len(proxy.writes()) == 10:
            restart.start()
            restart.join()

    proxy.on_request = strike
    first = apply(*wanted)
    assert first["failed"] is True
    server.wait()
    proxy.reset()
    host, port = server.url.removeprefix("http://").split(":")
    proxy.upstream = (host, int(port))
    assert 0 < len(many(server)) < 20
    assert apply(*wanted).get("failed") is None
    assert apply(*wanted)["changed"] is False
    assert sorted(many(server)) == sorted(model["name"] for model in wanted)
