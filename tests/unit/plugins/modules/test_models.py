# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
import yaml
from api_modules import call
from fake_gpustack import COMES_UP, CRASHES, PASSWORD, FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.doc_fragments.model_fields import ModuleDocFragment
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import OPTIONS

ON_A = {"gpu_ids": ["gpu-worker-a:cuda:0", "gpu-worker-a:cuda:1"]}
ON_B = {"gpu_ids": ["gpu-worker-b:cuda:0", "gpu-worker-b:cuda:1"]}
QWEN: dict[str, Any] = {
    "name": "qwen",
    "local_path": "/var/lib/models/Qwen",
    "backend_parameters": ["--max-model-len=32768"],
    "gpu_selectors": [ON_A],
}
LONGER = {**QWEN, "backend_parameters": ["--max-model-len=65536"]}
TWO = {**QWEN, "replicas": 2, "gpu_selectors": [ON_A, ON_B]}
TWO_LONGER = {**TWO, "backend_parameters": ["--max-model-len=65536"]}
BGE: dict[str, Any] = {"name": "bge", "local_path": "/var/lib/models/Bge"}
# Version, models, instances, targets; from this machine the password needs a log-in of its own.
NOTHING_TO_DO = {"GET": 4, "login": 1}


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    """Instances run on the cards they are pinned to, else on those of the first worker."""
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("gpu-worker-a", "gpu-worker-b"):
        fake.add_worker(name, cluster)

    def life(row: dict[str, Any]) -> list[dict[str, Any]]:
        selector = fake.models[row["model_id"]]["gpu_selector"] or ON_A
        worker = selector["gpu_ids"][0].split(":")[0]
        return [{**step, **({"worker_name": worker} if "worker_name" in step else {})} for step in COMES_UP]

    fake.life = life
    return fake


def apply(fleet: FakeGPUStack, *models: dict[str, Any], check: bool = False, **options: Any) -> dict[str, Any]:
    answer = call("models", fleet, check=check, models=list(models), **options)
    assert "Traceback" not in str(answer)
    return answer


def model(fleet: FakeGPUStack, name: str) -> dict[str, Any]:
    return next(row for row in fleet.models.values() if row["name"] == name)


def in_route(fleet: FakeGPUStack, name: str) -> list[str]:
    targets = [target for target in fleet.targets.values() if target["route_name"] == name]
    return sorted(fleet.models[target["model_id"]]["name"] for target in targets)


def running(fleet: FakeGPUStack) -> dict[str, list[str]]:
    """Where the running instances of each model are."""
    found: dict[str, list[str]] = {}
    for row in fleet.instances.values():
        found.setdefault(row["model_name"], []).append(
            row["worker_name"] if row["state"] == "running" else row["state"]
        )
    return found


# One run after the other


def test_check_mode_says_what_would_be_and_writes_nothing(fleet: FakeGPUStack) -> None:
    answer = apply(fleet, TWO, BGE, check=True)
    assert (answer["changed"], fleet.writes()) == (True, [])
    assert [(part["after_header"], part["before"]) for part in answer["diff"]] == [
        ("model qwen", ""),
        ("model qwen-r2", ""),
        ("model bge", ""),
    ]
    assert answer["diff"][1]["after"]["gpu_selector"] == ON_B


def test_first_run_writes_each_model_once_reads_all_back_and_waits_for_all(fleet: FakeGPUStack) -> None:
    answer = apply(fleet, TWO, BGE)
    assert answer["changed"] is True
    posts = [
        (r.body["name"], r.body["enable_model_route"]) for r in fleet.requests if r.path == "/v2/models" and r.body
    ]
    assert posts == [("qwen", True), ("qwen-r2", False), ("bge", True)]
    assert [r.path for r in fleet.requests if r.path.startswith("/v2/models/")] == []
    assert running(fleet) == {"qwen": ["gpu-worker-a"], "qwen-r2": ["gpu-worker-b"], "bge": ["gpu-worker-a"]}
    assert (in_route(fleet, "qwen"), in_route(fleet, "bge")) == (["qwen", "qwen-r2"], ["bge"])
    assert [(entry["name"], entry["members"], entry["failed"]) for entry in answer["models"]] == [
        ("qwen", ["qwen", "qwen-r2"], False),
        ("bge", ["bge"], False),
    ]
    assert answer["models"][0]["progress"].startswith("qwen: 2 of 2 running; ")


def test_second_run_asks_four_times_and_changes_nothing(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO, BGE)
    answer = apply(fleet, TWO, BGE)
    assert (answer["changed"], answer["diff"]) == (False, [])
    assert fleet.counts() == NOTHING_TO_DO


def test_many_models_cost_no_more_requests_than_one(fleet: FakeGPUStack) -> None:
    many = [{"name": f"m{number}", "local_path": "/m", "replicas": 0} for number in range(150)]
    apply(fleet, *many)
    assert fleet.writes() == [("POST", "/v2/models")] * 150
    assert fleet.counts()["GET"] < 20
    assert apply(fleet, *many)["changed"] is False
    assert fleet.counts() == NOTHING_TO_DO


def test_change_is_shown_in_check_mode_and_costs_one_write(fleet: FakeGPUStack) -> None:
    apply(fleet, QWEN, BGE)
    fleet.advance(60)
    (old,) = fleet.instances_of("qwen")
    shown = apply(fleet, LONGER, BGE, check=True)
    (part,) = shown["diff"]
    assert part["after"] == {"backend_parameters": LONGER["backend_parameters"]}
    assert part["before"] == {"backend_parameters": QWEN["backend_parameters"]}
    assert shown["models"][0]["recreated_instances"] == [old["name"]]
    assert fleet.writes() == []
    answer = apply(fleet, LONGER, BGE)
    assert fleet.writes() == [
        ("PUT", f"/v2/models/{model(fleet, 'qwen')['id']}"),
        ("DELETE", f"/v2/model-instances/{old['id']}"),
    ]
    assert answer["models"][0]["recreated_instances"] == [old["name"]]
    assert [entry["changed"] for entry in answer["models"]] == [True, False]


def test_change_that_engines_do_not_inherit_leaves_them_running(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    before = sorted(fleet.instances)
    answer = apply(fleet, {**TWO, "description": "for the chat"}, defer_running=True)
    assert (answer["changed"], answer["rollouts"]) == (True, [])
    assert sorted(fleet.instances) == before
    assert [row["description"] for row in fleet.models.values()] == ["for the chat", "for the chat"]


# Several replicas


def test_replicas_are_replaced_one_after_the_other_and_out_of_the_route(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    old = {row["name"] for row in fleet.instances.values()}
    answer = apply(fleet, TWO_LONGER, drain_seconds=7)
    steps = [(method, path.rsplit("/", 1)[0]) for method, path in fleet.writes()]
    change = [("PUT", "/v2/models"), ("PUT", "/v2/models")]
    one = [("DELETE", "/v2/model-route-targets"), ("DELETE", "/v2/model-instances"), ("PUT", "/v2/model-routes")]
    assert steps == change + one + one
    assert set(answer["models"][0]["recreated_instances"]) == old
    assert in_route(fleet, "qwen") == ["qwen", "qwen-r2"]
    assert running(fleet) == {"qwen": ["gpu-worker-a"], "qwen-r2": ["gpu-worker-b"]}
    assert apply(fleet, TWO_LONGER)["changed"] is False


def _route(fleet: FakeGPUStack) -> int:
    return next(route["id"] for route in fleet.routes.values() if route["name"] == "qwen")


def test_configuration_that_does_not_come_up_stops_at_the_first_replica(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    fleet.life = lambda row: CRASHES
    answer = apply(fleet, TWO_LONGER)
    assert answer["failed"] is True
    assert "1 of 1 models failed. qwen: The engine of " in answer["msg"]
    assert len([row for row in fleet.instances.values() if row["state"] == "running"]) == 1
    assert len(in_route(fleet, "qwen")) == 1


def test_running_replicas_are_left_to_somebody_else_when_told_so(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO, BGE)
    fleet.advance(60)
    before = sorted(fleet.instances)
    answer = apply(fleet, TWO_LONGER, BGE, defer_running=True)
    assert (answer["changed"], fleet.writes()) == (False, [])
    assert [(r["model"], r["member"], r["differs"]) for r in answer["rollouts"]] == [
        ("qwen", "qwen", ["backend_parameters"]),
        ("qwen", "qwen-r2", ["backend_parameters"]),
    ]
    assert sorted(fleet.instances) == before


def test_instances_of_an_interrupted_run_are_left_to_somebody_else_too(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    apply(fleet, TWO_LONGER, recreate=False, wait=False)
    answer = apply(fleet, TWO_LONGER, defer_running=True)
    assert [(r["member"], r["differs"]) for r in answer["rollouts"]] == [("qwen", []), ("qwen-r2", [])]
    assert fleet.writes() == []


def test_second_replica_leaves_the_first_where_it_is(fleet: FakeGPUStack) -> None:
    """Though it runs on the cards that the plan has for the other."""
    apply(fleet, {**QWEN, "gpu_selectors": [ON_B]})
    fleet.advance(60)
    (first,) = fleet.instances_of("qwen")
    answer = apply(fleet, TWO)
    assert running(fleet) == {"qwen": ["gpu-worker-b"], "qwen-r2": ["gpu-worker-a"]}
    assert [row["id"] for row in fleet.instances_of("qwen")] == [first["id"]]
    assert in_route(fleet, "qwen") == ["qwen", "qwen-r2"]
    assert answer["models"][0]["recreated_instances"] == []
    assert apply(fleet, TWO)["changed"] is False


def test_first_replica_that_was_not_pinned_is_pinned_without_a_restart(fleet: FakeGPUStack) -> None:
    apply(fleet, {**QWEN, "gpu_selectors": None})
    fleet.advance(60)
    (first,) = fleet.instances_of("qwen")
    apply(fleet, TWO)
    assert [row["id"] for row in fleet.instances_of("qwen")] == [first["id"]]
    assert model(fleet, "qwen")["gpu_selector"]["gpu_ids"] == ON_A["gpu_ids"]


def test_replica_that_is_no_longer_declared_goes_out_of_the_route_first(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    (first,) = fleet.instances_of("qwen")
    second = model(fleet, "qwen-r2")
    answer = apply(fleet, QWEN)
    paths = [path for method, path in fleet.writes() if method == "DELETE"]
    assert [path.rsplit("/", 1)[0] for path in paths] == ["/v2/model-route-targets", "/v2/models"]
    assert paths[1] == f"/v2/models/{second['id']}"
    assert [row["id"] for row in fleet.instances.values()] == [first["id"]]
    assert (in_route(fleet, "qwen"), answer["changed"]) == (["qwen"], True)
    assert apply(fleet, QWEN)["changed"] is False


def test_plain_replicas_become_replicas_that_drain_and_back(fleet: FakeGPUStack) -> None:
    plain = {**TWO, "rollout": "recreate"}
    apply(fleet, plain)
    assert (model(fleet, "qwen")["replicas"], len(fleet.instances)) == (2, 2)
    kept = max(fleet.instances)
    apply(fleet, TWO)
    assert [row["id"] for row in fleet.instances_of("qwen")] == [kept]
    assert in_route(fleet, "qwen") == ["qwen", "qwen-r2"]
    assert apply(fleet, TWO)["changed"] is False
    apply(fleet, plain)
    assert [row["name"] for row in fleet.models.values()] == ["qwen"]
    assert kept in fleet.instances
    assert model(fleet, "qwen")["replicas"] == 2
    assert apply(fleet, plain)["changed"] is False


def test_model_is_stopped_with_all_its_replicas(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    apply(fleet, {**QWEN, "replicas": 0, "gpu_selectors": None})
    assert (list(fleet.instances), [row["name"] for row in fleet.models.values()]) == ([], ["qwen"])


def test_interrupted_roll_out_is_completed_by_the_next_run(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    target = next(t for t in fleet.targets.values() if t["model_id"] == model(fleet, "qwen-r2")["id"])
    apply(fleet, TWO_LONGER, recreate=False, wait=False)
    del fleet.targets[target["id"]]
    apply(fleet, TWO_LONGER)
    assert in_route(fleet, "qwen") == ["qwen", "qwen-r2"]
    assert apply(fleet, TWO_LONGER)["changed"] is False


def out_of_route(fleet: FakeGPUStack, name: str) -> None:
    target = next(t for t in fleet.targets.values() if t["model_id"] == model(fleet, name)["id"])
    del fleet.targets[target["id"]]


def test_replica_that_an_interrupted_roll_out_left_out_serves_until_its_turn(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    apply(fleet, TWO_LONGER, recreate=False, wait=False)
    out_of_route(fleet, "qwen-r2")
    answer = apply(fleet, TWO_LONGER, defer_running=True)
    assert (answer.get("failed", False), in_route(fleet, "qwen")) == (False, ["qwen", "qwen-r2"])
    assert [rollout["member"] for rollout in answer["rollouts"]] == ["qwen", "qwen-r2"]


def test_check_mode_tells_of_a_replica_that_gets_requests_again(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    out_of_route(fleet, "qwen-r2")
    shown = apply(fleet, TWO, check=True)
    assert (shown["changed"], in_route(fleet, "qwen")) == (True, ["qwen"])
    assert [part["after"] for part in shown["diff"]] == [{"added": ["qwen-r2"]}]
    assert apply(fleet, TWO)["changed"] is True


def test_check_mode_tells_of_an_older_engine_while_a_newer_one_still_starts(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    apply(fleet, TWO_LONGER, recreate=False, wait=False)
    newer, older = sorted(fleet.instances.values(), key=lambda row: row["model_name"])
    newer.update(state="starting", created_at="2199-01-01T00:00:00Z")
    shown = apply(fleet, TWO_LONGER, check=True)
    assert (shown["changed"], shown["models"][0]["recreated_instances"]) == (True, [older["name"]])


def test_what_somebody_put_into_the_route_stays_there(fleet: FakeGPUStack) -> None:
    apply(fleet, QWEN)
    canary = fleet.add_model("canary", source="local_path", local_path="/c", cluster_id=1)
    target = next(t for t in fleet.targets.values() if t["model_id"] == canary["id"])
    target.update(route_id=_route(fleet), route_name="qwen", weight=5)
    apply(fleet, TWO)
    assert in_route(fleet, "qwen") == ["canary", "qwen", "qwen-r2"]
    assert [t["weight"] for t in fleet.targets.values() if t["model_id"] == canary["id"]] == [5]


# Names


def test_two_models_of_one_name_are_refused_before_the_first_write(fleet: FakeGPUStack) -> None:
    answer = apply(fleet, TWO, {**BGE, "name": "qwen-r2"})
    assert "Model 'qwen-r2' is declared, and a replica of 'qwen' is called so as well" in answer["msg"]
    assert answer["msg"].endswith("Nothing was changed.")
    assert fleet.writes() == []


def test_foreign_model_of_a_replicas_name_is_not_taken_over(fleet: FakeGPUStack) -> None:
    fleet.add_model("qwen-r2", source="local_path", local_path="/m", cluster_id=1)
    answer = apply(fleet, TWO)
    assert "GPUStack has a model of that name that was not made by this collection" in answer["msg"]
    assert fleet.writes() == []


def test_route_that_leads_elsewhere_is_not_taken_over(fleet: FakeGPUStack) -> None:
    fleet.add_model("other", source="local_path", local_path="/m", cluster_id=1)
    next(iter(fleet.routes.values()))["name"] = "qwen"
    next(iter(fleet.targets.values()))["route_name"] = "qwen"
    answer = apply(fleet, QWEN)
    assert "a model route of that name that leads to something else" in answer["msg"]
    assert fleet.writes() == []


def test_route_without_targets_is_used(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    apply(fleet, TWO_LONGER)
    for name in ("qwen", "qwen-r2"):
        fleet._delete_model(None, model(fleet, name)["id"])  # type: ignore[arg-type]
    apply(fleet, QWEN)
    assert in_route(fleet, "qwen") == ["qwen"]


# Models that are no longer declared


def test_only_what_this_collection_has_written_is_pruned(fleet: FakeGPUStack) -> None:
    fleet.add_model("by-hand", source="local_path", local_path="/m", cluster_id=1)
    apply(fleet, TWO, BGE)
    assert apply(fleet, BGE)["changed"] is False
    shown = apply(fleet, BGE, prune=True, check=True)
    assert (shown["pruned"], fleet.writes()) == (["qwen", "qwen-r2"], [])
    answer = apply(fleet, BGE, prune=True)
    assert (answer["pruned"], answer["changed"]) == (["qwen", "qwen-r2"], True)
    assert sorted(row["name"] for row in fleet.models.values()) == ["bge", "by-hand"]
    assert apply(fleet, BGE, prune=True)["changed"] is False
    assert apply(fleet, BGE, prune=True, prune_foreign=True)["pruned"] == ["by-hand"]


def test_route_of_a_pruned_model_goes_though_a_replica_was_ever_drained(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    fleet.advance(60)
    apply(fleet, TWO_LONGER)
    apply(fleet, BGE, prune=True)
    assert [route["name"] for route in fleet.routes.values()] == ["bge"]


def test_renamed_declaration_is_a_new_model_and_the_old_one_is_pruned(fleet: FakeGPUStack) -> None:
    apply(fleet, TWO)
    answer = apply(fleet, {**TWO, "name": "chat"}, prune=True)
    assert answer["pruned"] == ["qwen", "qwen-r2"]
    assert sorted(row["name"] for row in fleet.models.values()) == ["chat", "chat-r2"]


# Faults


def test_refusal_of_one_model_stops_no_other(fleet: FakeGPUStack) -> None:
    answer = apply(fleet, {**QWEN, "backend_parameters": ["--port=1"]}, BGE)
    assert answer["failed"] is True
    assert answer["msg"].startswith("1 of 2 models failed. qwen: GPUStack refuses POST /v2/models with status 400")
    assert [(entry["name"], entry["failed"]) for entry in answer["models"]] == [("qwen", True), ("bge", False)]
    assert running(fleet) == {"bge": ["gpu-worker-a"]}


def test_crash_of_one_model_stops_no_other_and_its_log_is_returned(fleet: FakeGPUStack) -> None:
    comes_up = fleet.life
    fleet.life = lambda row: CRASHES if row["model_name"] == "qwen" else comes_up(row)
    fleet.logs["qwen"] = "first\nCUDA error: out of memory"
    answer = apply(fleet, QWEN, BGE)
    failed, fine = answer["models"]
    assert failed["log"] == ["first", "CUDA error: out of memory"]
    assert "Its log (see `log`) ends with: CUDA error: out of memory" in answer["msg"]
    assert (fine["failed"], fine["progress"][:19]) == (False, "bge: 1 of 1 running")


@pytest.mark.parametrize("fault", ["cut", "lost", 500])
def test_run_after_one_that_broke_off_ends_in_the_declared_state(fleet: FakeGPUStack, fault: Any) -> None:
    for requests_before in range(7, 11):
        fleet.models.clear()
        fleet.instances.clear()
        fleet.routes.clear()
        fleet.targets.clear()
        fleet.faults = [None] * requests_before + [fault]
        apply(fleet, TWO, BGE)
        fleet.faults = []
        answer = apply(fleet, TWO, BGE)
        assert answer.get("msg") is None
        assert sorted(row["name"] for row in fleet.models.values()) == ["bge", "qwen", "qwen-r2"]
        assert in_route(fleet, "qwen") == ["qwen", "qwen-r2"]


def test_field_that_the_server_drops_without_a_word_is_an_error_of_its_model(fleet: FakeGPUStack) -> None:
    fleet.dropped_fields = frozenset({"speculative_config"})
    answer = apply(fleet, {**QWEN, "speculative_config": {"enabled": True}}, BGE)
    assert (
        "1 of 2 models failed. qwen: GPUStack accepted the model but did not keep: speculative_config." in answer["msg"]
    )


def test_restart_of_the_server_while_waiting_is_survived(fleet: FakeGPUStack) -> None:
    fleet.faults = [None] * 14 + [503] * 8
    answer = apply(fleet, QWEN)
    assert (answer.get("msg"), answer["changed"]) == (None, True)


def test_wrong_password_is_told_by_the_first_request(fleet: FakeGPUStack) -> None:
    fleet.trusts_localhost = False
    answer = apply(fleet, QWEN, password="wrong")
    assert answer["error"] == "Unauthorized"


# GPUStack's own view


def says(**answer: Any) -> Any:
    return lambda spec: {"compatible": False, **answer}


def test_disagreement_is_an_error_with_both_views_before_the_first_write(fleet: FakeGPUStack) -> None:
    fleet.evaluation = says(compatibility_messages=["Unsupported architecture."])
    answer = apply(fleet, {**QWEN, "planned": "2 GPUs on gpu-worker-a"}, BGE, evaluation="fail")
    assert "qwen: planned is 2 GPUs on gpu-worker-a; GPUStack says: Unsupported architecture" in answer["msg"]
    assert "bge: planned is to run with what is declared; GPUStack says: Unsupported architecture" in answer["msg"]
    assert fleet.writes() == []


def test_disagreement_is_a_warning_and_in_the_answer_when_wanted_so(fleet: FakeGPUStack) -> None:
    fleet.evaluation = says(compatibility_messages=["No."], scheduling_messages=["No room\nat all."])
    answer = apply(fleet, BGE, evaluation="warn")
    assert answer["disagreements"] == [
        {"member": "bge", "planned": "to run with what is declared", "gpustack": "No. No room at all"}
    ]
    assert running(fleet) == {"bge": ["gpu-worker-a"]}


def test_dry_run_is_asked_in_check_mode_and_only_about_what_changes(fleet: FakeGPUStack) -> None:
    apply(fleet, QWEN, BGE)
    apply(fleet, LONGER, {**BGE, "description": "new"}, check=True, evaluation="fail")
    (asked,) = [r.body for r in fleet.requests if r.path == "/v2/model-evaluations"]
    assert [spec["name"] for spec in asked["model_specs"]] == ["qwen"]
    assert apply(fleet, QWEN, BGE, evaluation="fail")["changed"] is False
    assert fleet.counts() == NOTHING_TO_DO


def test_lack_of_room_is_no_disagreement_while_the_model_itself_holds_the_cards(fleet: FakeGPUStack) -> None:
    apply(fleet, QWEN)
    fleet.advance(60)
    fleet.evaluation = says(compatibility_messages=["Unable."], scheduling_messages=["No room."])
    assert apply(fleet, LONGER, evaluation="fail")["changed"] is True
    fleet.evaluation = says(compatibility_messages=["Unsupported."])
    assert "GPUStack says: Unsupported" in apply(fleet, QWEN, evaluation="fail")["msg"]


def test_worker_that_can_not_be_asked_yet_is_asked_again(fleet: FakeGPUStack) -> None:
    answers = [{"compatible": False, "compatibility_messages": ["no such file"]}, {"compatible": True}]
    fleet.evaluation = lambda spec: answers.pop(0)
    assert apply(fleet, BGE, evaluation="fail")["disagreements"] == []


# Bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contxt": 1}, "contxt"),
        ({"env": ["A"]}, "env"),
        ({"replicas": "two"}, "replicas"),
        ({"replicas": -1}, "replicas is -1; wanted is 0 (stopped) or more."),
        ({"rollout": "later"}, "value of rollout must be one of: drain, recreate, got: later"),
        ({"name": None}, "missing required arguments: name"),
        ({"local_path": None}, "nothing says where its weights are"),
        ({"lora_list": [{"lora_name": "a"}]}, "lora_list of a model needs GPUStack 2.2.0 or newer"),
        ({"cluster": "lab"}, "There is no cluster 'lab'; there are: racks."),
        ({"huggingface_repo_id": "Qwen/Q"}, "mutually exclusive"),
        ({"huggingface_filename": "x"}, "missing parameter(s) required by 'huggingface_filename'"),
        (
            {"gpu_selectors": [{"gpus_per_replica": 1}]},
            "missing required arguments: gpu_ids found in models -> gpu_selectors",
        ),
    ],
)
def test_nonsense_is_refused_before_the_first_write(fleet: FakeGPUStack, changes: dict[str, Any], message: str) -> None:
    declared = {name: value for name, value in {**QWEN, **changes}.items() if value is not None}
    answer = apply(fleet, BGE, declared)
    assert answer["failed"] is True
    assert message in answer["msg"]
    assert (fleet.writes(), fleet.models) == ([], {})


def test_all_that_is_wrong_is_told_at_once(fleet: FakeGPUStack) -> None:
    answer = apply(fleet, {**QWEN, "name": "1st"}, {**BGE, "backend": "vllm"})
    assert "name is '1st'" in answer["msg"]
    assert "Write 'vLLM'" in answer["msg"]


# Secrets


def test_secrets_are_in_no_output(fleet: FakeGPUStack) -> None:
    secret = {
        **QWEN,
        "env": {"HF_TOKEN": "hf_abcdefgh", "SHORT_KEY": "x", "VLLM_USE_V1": "1"},
        "backend_parameters": ["--api-key=sk-abcdefgh", "--enforce-eager"],
    }
    for answer in (apply(fleet, secret, BGE, check=True), apply(fleet, secret, BGE)):
        assert not [text for text in ("hf_abcdefgh", "sk-abcdefgh", PASSWORD) if text in str(answer)]
        if "invocation" in answer:  # ansible-core 2.21 leaves it out
            (options, _other) = answer["invocation"]["module_args"]["models"]
            assert options["env"] == {"HF_TOKEN": "********", "SHORT_KEY": "********", "VLLM_USE_V1": "1"}
        assert answer["diff"][0]["after"]["backend_parameters"] == ["--api-key=********", "--enforce-eager"]
    assert model(fleet, "qwen")["env"]["HF_TOKEN"] == "hf_abcdefgh"


def test_access_is_compared_with_the_route_and_changed_there(fleet: FakeGPUStack) -> None:
    apply(fleet, {**TWO, "access_policy": "public"})
    (route,) = fleet.routes.values()
    assert route["access_policy"] == "public"
    answer = apply(fleet, {**TWO, "access_policy": "authed"})
    assert answer["diff"][0]["after"] == {"access_policy": "authed"}
    assert route["access_policy"] == "authed"
    assert apply(fleet, {**TWO, "access_policy": "authed"})["changed"] is False


def test_schedule_of_the_server_decides_the_number_of_replicas(fleet: FakeGPUStack) -> None:
    apply(fleet, QWEN)
    model(fleet, "qwen").update(replicas=3, scaling_schedule={"enabled": True, "paused": False})
    assert apply(fleet, QWEN, wait=False)["changed"] is False
    assert model(fleet, "qwen")["replicas"] == 3


def test_documentation_tells_every_option_of_a_model() -> None:
    def names(options: dict[str, Any], inner: str) -> dict[str, Any]:
        return {name: names(option.get(inner) or {}, inner) for name, option in options.items()}

    documented = yaml.safe_load(ModuleDocFragment.LISTED)["options"]["models"]["suboptions"]
    own = {"rollout": {}, "planned": {}, "gpu_selectors": {"gpu_ids": {}, "gpus_per_replica": {}}}
    assert names(documented, "suboptions") == {**names(OPTIONS, "options"), **own}
    assert documented["huggingface_repo_id"]["description"][1] == (
        "A new model needs exactly one of O(models[].huggingface_repo_id), O(models[].model_scope_model_id) and "
        "O(models[].local_path)."
    )
    assert "O(gpuops.gpustack.model_route#module:generic_proxy)" in documented["generic_proxy"]["description"][0]
