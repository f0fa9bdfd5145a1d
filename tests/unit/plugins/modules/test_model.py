# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import COMES_UP, CRASHES, FINDS_NO_PLACE, ON_WORKER, PASSWORD, FakeGPUStack

DECLARED: dict[str, Any] = {
    "name": "qwen",
    "local_path": "/var/lib/models/Qwen",
    "backend_parameters": ["--tensor-parallel-size=4", "--max-model-len=32768"],
    "env": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": 1},
}
LONGER = {**DECLARED, "backend_parameters": ["--tensor-parallel-size=4", "--max-model-len=65536"]}
# Version, credentials (twice: from this machine the password needs a log-in of its own), the model, its instances.
NOTHING_TO_DO = {"GET": 4, "login": 1}


@pytest.fixture
def fleet(fake: FakeGPUStack) -> FakeGPUStack:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks", is_default=True))
    return fake


def stored(fleet: FakeGPUStack) -> dict[str, Any]:
    (model,) = fleet.models.values()
    return model


# The eight states


def test_create_in_check_mode_says_what_would_be_and_writes_nothing(fleet: FakeGPUStack) -> None:
    answer = call("model", fleet, check=True, **DECLARED)
    assert answer["changed"] is True
    assert answer["model"]["backend_parameters"] == DECLARED["backend_parameters"]
    assert answer["diff"]["before"] == ""
    assert answer["diff"]["after"] == {
        "name": "qwen",
        "source": "local_path",
        "local_path": "/var/lib/models/Qwen",
        "backend": "vLLM",
        "backend_parameters": ["--tensor-parallel-size=4", "--max-model-len=32768"],
        "env": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
        "cluster_id": 1,
    }
    assert fleet.writes() == []


def test_create_makes_model_and_route_and_waits_until_it_runs(fleet: FakeGPUStack) -> None:
    answer = call("model", fleet, **DECLARED)
    assert answer["changed"] is True
    assert fleet.writes() == [("POST", "/v2/models")]
    assert [route["name"] for route in fleet.routes.values()] == ["qwen"]
    assert [instance["state"] for instance in answer["instances"]] == ["running"]
    assert answer["progress"].startswith("qwen: 1 of 1 running; qwen-")
    assert stored(fleet)["env"] == {
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
        "GPUOPS_CONFIGURATION": answer["configuration"],
    }
    assert answer["configuration"].endswith(" 2026-03-01T09:30:00Z")


def test_second_run_changes_nothing_though_the_server_filled_fields_in(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    assert (stored(fleet)["backend_version"], stored(fleet)["categories"]) == ("0.17.1", ["llm"])
    answer = call("model", fleet, **DECLARED)
    assert answer["changed"] is False
    assert (answer["diff"]["before"], answer["diff"]["after"]) == ("", "")
    assert fleet.counts() == NOTHING_TO_DO


def test_update_in_check_mode_shows_the_difference_and_what_would_be_replaced(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    fleet.advance(60)
    (instance,) = fleet.instances_of("qwen")
    answer = call("model", fleet, check=True, **LONGER)
    assert answer["changed"] is True
    assert answer["diff"]["before"] == {
        "backend_parameters": DECLARED["backend_parameters"],
        "instances_of_an_older_configuration": [instance["name"]],
    }
    assert answer["diff"]["after"] == {"backend_parameters": LONGER["backend_parameters"]}
    assert answer["recreated_instances"] == [instance["name"]]
    assert fleet.counts() == NOTHING_TO_DO


def test_update_writes_once_and_replaces_the_running_instance(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    fleet.advance(60)
    (old,) = fleet.instances_of("qwen")
    answer = call("model", fleet, **LONGER)
    assert answer["changed"] is True
    assert fleet.writes() == [("PUT", "/v2/models/3"), ("DELETE", f"/v2/model-instances/{old['id']}")]
    assert answer["recreated_instances"] == [old["name"]]
    assert [(row["state"], row["stale"]) for row in answer["instances"]] == [("running", False)]
    assert stored(fleet)["backend_parameters"] == LONGER["backend_parameters"]


def test_run_after_an_update_changes_nothing(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    fleet.advance(60)
    call("model", fleet, **LONGER)
    answer = call("model", fleet, **LONGER)
    assert (answer["changed"], answer["stale_instances"]) == (False, [])
    assert fleet.counts() == NOTHING_TO_DO


def test_delete_in_check_mode_writes_nothing(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    answer = call("model", fleet, check=True, name="qwen", state="absent")
    assert answer["changed"] is True
    assert answer["diff"]["before"]["local_path"] == "/var/lib/models/Qwen"
    assert answer["diff"]["after"] == ""
    assert fleet.writes() == []


def test_delete_removes_model_instances_and_route_and_then_nothing_is_left_to_do(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    assert call("model", fleet, name="qwen", state="absent")["changed"] is True
    assert fleet.writes() == [("DELETE", "/v2/models/3")]
    assert (fleet.models, fleet.instances, fleet.routes) == ({}, {}, {})
    assert call("model", fleet, name="qwen", state="absent")["changed"] is False
    assert fleet.writes() == []


# What is compared


def test_fields_that_are_not_declared_stay_as_they_are(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    stored(fleet).update(description="written in the web interface", restart_on_error=False)
    assert call("model", fleet, **DECLARED)["changed"] is False
    call("model", fleet, **DECLARED, placement_strategy="binpack")
    kept = ("description", "restart_on_error", "placement_strategy", "distributed_inference_across_workers")
    assert [stored(fleet)[name] for name in kept] == ["written in the web interface", False, "binpack", True]


def test_update_keeps_distribution_that_was_switched_off(fleet: FakeGPUStack) -> None:
    """GPUStack sets it back to its default when a PUT does not mention it."""
    call("model", fleet, **DECLARED, distributed_inference_across_workers=False)
    call("model", fleet, **DECLARED, description="new")
    assert stored(fleet)["distributed_inference_across_workers"] is False


def test_update_keeps_image_and_command_of_a_custom_engine(fleet: FakeGPUStack) -> None:
    own = {"backend": "Custom", "image_name": "example/engine:1", "run_command": "serve {{model_path}}"}
    call("model", fleet, name="own", local_path="/m", **own)
    call("model", fleet, name="own", description="new")
    assert (stored(fleet)["image_name"], stored(fleet)["run_command"]) == ("example/engine:1", "serve {{model_path}}")


@pytest.mark.parametrize(
    ("option", "first", "same"),
    [
        ("categories", ["llm", "embedding"], ["embedding", "llm"]),
        ("gpu_selector", {"gpu_ids": ["a:cuda:0", "a:cuda:1"]}, {"gpu_ids": ["a:cuda:1", "a:cuda:0"]}),
        ("extended_kv_cache", {"enabled": True, "ram_ratio": 2.0}, {"enabled": True}),
        ("speculative_config", {"enabled": True, "algorithm": "ngram"}, {"algorithm": "ngram"}),
        ("worker_selector", {"rack": 12}, {"rack": "12"}),
        ("description", "", ""),
    ],
)
def test_values_that_mean_the_same_are_no_change(fleet: FakeGPUStack, option: str, first: Any, same: Any) -> None:
    call("model", fleet, **DECLARED, **{option: first})
    answer = call("model", fleet, **DECLARED, **{option: same})
    assert (answer.get("msg"), answer["changed"]) == (None, False)


@pytest.mark.parametrize(
    ("option", "first", "second", "result"),
    [
        ("backend_parameters", ["--a=1", "--b=2"], ["--b=2", "--a=1"], ["--b=2", "--a=1"]),
        ("env", {"A": "1", "B": "2"}, {"A": "1"}, {"A": "1"}),
        (
            "extended_kv_cache",
            {"enabled": True, "ram_ratio": 2.0},
            {"chunk_size": 256},
            {"enabled": True, "ram_ratio": 2.0, "ram_size": None, "chunk_size": 256},
        ),
        ("worker_selector", {"rack": "12"}, {}, {}),
        ("gpu_selector", {"gpu_ids": ["a:cuda:0"]}, {}, None),
        ("replicas", 1, 2, 2),
    ],
)
def test_values_that_differ_are_written(fleet: FakeGPUStack, option: str, first: Any, second: Any, result: Any) -> None:
    basis = {"name": "qwen", "local_path": "/m"}
    call("model", fleet, **basis, **{option: first})
    answer = call("model", fleet, **basis, **{option: second})
    assert answer["changed"] is True
    value = stored(fleet)[option]
    if option == "env":
        value = {name: text for name, text in value.items() if name != "GPUOPS_CONFIGURATION"}
    assert value == result
    assert call("model", fleet, **basis, **{option: second})["changed"] is False


def test_other_place_for_the_weights_takes_the_whole_place(fleet: FakeGPUStack) -> None:
    call("model", fleet, name="qwen", huggingface_repo_id="Qwen/Q", huggingface_filename="*.gguf")
    answer = call("model", fleet, name="qwen", local_path="/m")
    assert answer["changed"] is True
    fields = ("source", "local_path", "huggingface_repo_id", "huggingface_filename")
    assert [stored(fleet)[name] for name in fields] == ["local_path", "/m", None, None]


def test_access_is_compared_with_the_route_and_changed_there(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    (route,) = fleet.routes.values()
    kim = fleet.add_user("kim")
    route["users"] = [{"id": kim["id"], "username": "kim"}]
    answer = call("model", fleet, **DECLARED, access_policy="public")
    assert answer["changed"] is True
    assert answer["diff"]["after"] == {"access_policy": "public"}
    assert fleet.writes() == [("POST", f"/v2/model-routes/{route['id']}/access")]
    assert (route["access_policy"], route["users"]) == ("public", [{"id": kim["id"], "username": "kim"}])
    assert call("model", fleet, **DECLARED, access_policy="public")["changed"] is False


def test_access_without_a_route_is_refused_before_anything_is_written(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    fleet.routes.clear()
    answer = call("model", fleet, **LONGER, access_policy="public")
    assert "has no route of its name" in answer["msg"]
    assert fleet.writes() == []


# What runs


def test_instances_of_an_interrupted_run_are_replaced_by_the_next(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    fleet.advance(60)
    (old,) = fleet.instances_of("qwen")
    interrupted = call("model", fleet, **LONGER, recreate=False, wait=False)
    assert (interrupted["stale_instances"], interrupted["recreated_instances"]) == ([old["name"]], [])
    answer = call("model", fleet, **LONGER)
    assert (answer["changed"], answer["recreated_instances"]) == (True, [old["name"]])
    assert answer["diff"]["before"] == {"instances_of_an_older_configuration": [old["name"]]}
    assert fleet.writes() == [("DELETE", f"/v2/model-instances/{old['id']}")]
    assert call("model", fleet, **LONGER)["changed"] is False


def test_edit_in_the_web_interface_is_put_back_and_its_instances_replaced(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    (old,) = fleet.instances_of("qwen")
    fleet.advance(3600)
    stored(fleet)["backend_parameters"] = ["--max-model-len=1024"]
    answer = call("model", fleet, **DECLARED)
    assert (answer["changed"], answer["recreated_instances"]) == (True, [old["name"]])
    assert stored(fleet)["backend_parameters"] == DECLARED["backend_parameters"]


def test_change_that_does_not_concern_the_engine_leaves_it_running(fleet: FakeGPUStack) -> None:
    first = call("model", fleet, **DECLARED)
    fleet.advance(60)
    answer = call("model", fleet, **DECLARED, description="for the chat", restart_on_error=True)
    assert (answer["changed"], answer["recreated_instances"]) == (True, [])
    assert answer["configuration"] == first["configuration"]
    assert fleet.writes() == [("PUT", "/v2/models/3")]


def test_model_made_in_the_web_interface_is_taken_over_as_it_is(fleet: FakeGPUStack) -> None:
    model = fleet.add_model("qwen", source="local_path", local_path="/m", cluster_id=1, backend_parameters=["--a=1"])
    fleet.advance(60)
    same = {"name": "qwen", "local_path": "/m", "backend_parameters": ["--a=1"]}
    answer = call("model", fleet, **same)
    assert (answer["changed"], answer["configuration"], model["env"]) == (False, None, None)
    call("model", fleet, **same, description="ours now")
    assert model["env"] is None
    answer = call("model", fleet, **{**same, "backend_parameters": ["--a=2"]})
    assert len(answer["recreated_instances"]) == 1
    assert list(model["env"]) == ["GPUOPS_CONFIGURATION"]
    assert call("model", fleet, **{**same, "backend_parameters": ["--a=2"]})["changed"] is False


def test_replicas_are_replaced_one_after_the_other(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED, replicas=2)
    fleet.advance(60)
    old = [row["id"] for row in fleet.instances_of("qwen")]
    call("model", fleet, **LONGER, replicas=2)
    sent = [(r.method, r.path) for r in fleet.requests if "instances" in r.path]
    deletions = [sent.index(("DELETE", f"/v2/model-instances/{key}")) for key in old]
    assert deletions[1] - deletions[0] > len(COMES_UP)
    assert [row["state"] for row in fleet.instances_of("qwen")] == ["running", "running"]


def test_configuration_that_does_not_come_up_stops_at_the_first_replica(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED, replicas=2)
    fleet.advance(60)
    old = [row["name"] for row in fleet.instances_of("qwen")]
    fleet.life = lambda row: COMES_UP if row["name"] in old else CRASHES
    answer = call("model", fleet, **LONGER, replicas=2)
    assert answer["failed"] is True
    assert answer["stale_instances"] == [old[1]]
    assert [row["state"] for row in fleet.instances_of("qwen") if row["name"] == old[1]] == ["running"]


def test_instance_that_does_not_run_is_replaced_first(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED, replicas=2)
    fleet.advance(60)
    first, second = fleet.instances_of("qwen")
    second.update(state="error", restart_count=3)
    answer = call("model", fleet, **LONGER, replicas=2)
    assert answer["recreated_instances"] == [second["name"], first["name"]]


def test_without_waiting_one_instance_is_replaced_in_a_run(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED, replicas=2)
    fleet.advance(60)
    answer = call("model", fleet, **LONGER, replicas=2, wait=False)
    assert len(answer["recreated_instances"]) == 1
    assert len(answer["stale_instances"]) == 2
    assert len([method for method, _path in fleet.writes() if method == "DELETE"]) == 1


def test_stopped_model_is_ready_without_instances(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    answer = call("model", fleet, **DECLARED, replicas=0)
    assert (answer["changed"], answer["instances"]) == (True, [])
    assert call("model", fleet, **DECLARED, replicas=0)["changed"] is False


# Faults


@pytest.mark.parametrize("fault", ["cut", "lost", 500])
def test_run_after_a_create_that_broke_off_ends_in_the_declared_state(fleet: FakeGPUStack, fault: Any) -> None:
    fleet.faults = [None, None, None, None, None, fault]
    assert call("model", fleet, **DECLARED)["failed"] is True
    assert fleet.writes() == [("POST", "/v2/models")]
    answer = call("model", fleet, **DECLARED)
    assert (answer.get("msg"), answer["changed"]) == (None, fault != "lost")
    assert [model["name"] for model in fleet.models.values()] == ["qwen"]
    assert [row["state"] for row in fleet.instances_of("qwen")] == ["running"]


@pytest.mark.parametrize("fault", ["cut", "lost", 500])
def test_run_after_an_update_that_broke_off_ends_in_the_declared_state(fleet: FakeGPUStack, fault: Any) -> None:
    call("model", fleet, **DECLARED)
    fleet.advance(60)
    fleet.faults = [None, None, None, None, fault]
    assert call("model", fleet, **LONGER)["failed"] is True
    assert fleet.writes() == [("PUT", "/v2/models/3")]
    answer = call("model", fleet, **LONGER)
    assert (answer["changed"], len(answer["recreated_instances"])) == (True, 1)
    assert stored(fleet)["backend_parameters"] == LONGER["backend_parameters"]
    assert call("model", fleet, **LONGER)["changed"] is False


def test_restart_of_the_server_while_waiting_is_survived(fleet: FakeGPUStack) -> None:
    fleet.faults = [None] * 7 + [503] * 8
    answer = call("model", fleet, **DECLARED)
    assert (answer.get("msg"), answer["changed"]) == (None, True)


def test_server_that_stays_away_is_told(fleet: FakeGPUStack) -> None:
    fleet.faults = [None] * 7 + [503] * 1000
    answer = call("model", fleet, **DECLARED)
    assert (answer["error"], answer["status"]) == ("ServerError", 503)


# Waits that fail


def test_crashing_engine_ends_the_wait_with_its_message_and_log(fleet: FakeGPUStack) -> None:
    fleet.life = lambda row: CRASHES
    fleet.logs["qwen"] = (
        "\n".join(f"line {number}" for number in range(100)) + "\nCUDA out of memory, token hf_abcdefgh"
    )
    answer = call("model", fleet, **{**DECLARED, "env": {"HF_TOKEN": "hf_abcdefgh"}}, log_lines=2)
    assert answer["failed"] is True
    assert "stopped and was restarted (Inference server exited or unhealthy)" in answer["msg"]
    assert "after 1 restart" in answer["progress"]
    assert answer["log"] == ["line 99", "CUDA out of memory, token ********"]
    assert answer["msg"].endswith(" Its log (see `log`) ends with: CUDA out of memory, token ********")
    assert answer["changed"] is True


def test_engine_that_was_crashing_before_ends_the_wait_too(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    (instance,) = fleet.instances_of("qwen")
    instance.update(state="error", restart_count=5, state_message="Inference server exited or unhealthy.")
    answer = call("model", fleet, **DECLARED)
    assert (answer["failed"], answer["changed"]) == (True, False)
    assert "is in error: Inference server exited or unhealthy." in answer["msg"]


def test_model_without_a_place_fails_with_the_schedulers_reason(fleet: FakeGPUStack) -> None:
    fleet.life = lambda row: FINDS_NO_PLACE
    answer = call("model", fleet, **DECLARED)
    assert "finds no place" in answer["msg"]
    assert "The model needs 4 GPUs, there are 2. Let the model need less" in answer["msg"]
    assert fleet.now.minute == 34  # one more look of the scheduler was granted


def test_slow_model_fails_when_the_time_is_over(fleet: FakeGPUStack) -> None:
    fleet.life = lambda row: [{"state": "downloading", "download_progress": 7.4, **ON_WORKER}]
    answer = call("model", fleet, **DECLARED, wait_timeout=30)
    assert "downloading 7 % on gpu-worker-a" in answer["msg"]
    assert "After 30 seconds not all replicas run" in answer["msg"]


# Clusters


def test_new_model_goes_to_the_only_cluster(fake: FakeGPUStack) -> None:
    cluster = fake.add_cluster("racks")
    call("model", fake, **DECLARED)
    assert stored(fake)["cluster_id"] == cluster["id"]


def test_new_model_goes_to_the_named_cluster(fleet: FakeGPUStack) -> None:
    other = fleet.add_cluster("lab")
    call("model", fleet, **DECLARED, cluster="lab")
    assert stored(fleet)["cluster_id"] == other["id"]
    assert call("model", fleet, **DECLARED, cluster="lab")["changed"] is False


@pytest.mark.parametrize(
    ("clusters", "cluster", "message"),
    [
        ([], None, "GPUStack has no cluster yet. Create one with gpuops.gpustack.cluster."),
        (["a", "b"], None, "None of the clusters is the default: a, b. Name one in `cluster`."),
        (["a", "b"], "c", "There is no cluster 'c'; there are: a, b. Name one, or create it."),
    ],
)
def test_new_model_without_a_certain_cluster_is_refused(
    fake: FakeGPUStack, clusters: list[str], cluster: str | None, message: str
) -> None:
    for name in clusters:
        fake.add_cluster(name)
    answer = call("model", fake, **DECLARED, cluster=cluster)
    assert answer["msg"] == message
    assert fake.writes() == []


def test_cluster_that_check_mode_did_not_make_is_no_error(fake: FakeGPUStack) -> None:
    assert call("model", fake, check=True, **DECLARED, cluster="racks")["changed"] is True


def test_model_of_another_cluster_is_not_moved(fleet: FakeGPUStack) -> None:
    fleet.add_cluster("lab")
    call("model", fleet, **DECLARED)
    answer = call("model", fleet, **LONGER, cluster="lab")
    assert "is in another cluster than 'lab'" in answer["msg"]
    assert fleet.writes() == []


# Refusals: one sentence, before anything is written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "1st"}, "name is '1st'"),
        ({"env": {"A": True}}, "env has values that are neither text nor number: A"),
        ({"env": {"GPUOPS_CONFIGURATION": "x"}}, "env sets GPUOPS_CONFIGURATION"),
        ({"replicas": -1}, "replicas is -1; wanted is 0 (stopped) or more."),
        ({"backend": "vllm"}, "Write 'vLLM'"),
        ({"image_name": "x"}, "image_name count only with backend 'Custom'"),
        ({"huggingface_repo_id": "Qwen/Q"}, "parameters are mutually exclusive: huggingface_repo_id|"),
        ({"local_path": None, "huggingface_filename": "x"}, "missing parameter(s) required by 'huggingface_filename'"),
        ({"gpu_selector": {"gpus_per_replica": 1}}, "missing parameter(s) required by 'gpus_per_replica': gpu_ids"),
        ({"local_path": None}, "nothing says where its weights are. Set one of huggingface_repo_id,"),
        ({"backend_parameters": ["--port=1"]}, "Setting the port using --port is not supported"),
    ],
)
def test_nonsense_is_refused(fleet: FakeGPUStack, options: dict[str, Any], message: str) -> None:
    answer = call("model", fleet, **{**DECLARED, **options})
    assert answer["failed"] is True
    assert message in answer["msg"]
    assert fleet.models == {}


def test_field_that_the_server_drops_without_a_word_is_an_error(fleet: FakeGPUStack) -> None:
    fleet.dropped_fields = frozenset({"speculative_config"})
    answer = call("model", fleet, **DECLARED, speculative_config={"enabled": True})
    assert "GPUStack accepted the model but did not keep: speculative_config." in answer["msg"]


def test_name_that_a_route_has_already_is_refused_in_the_servers_words(fleet: FakeGPUStack) -> None:
    fleet.add_model("qwen", source="local_path", local_path="/m", cluster_id=1)
    fleet.models.clear()
    fleet.instances.clear()
    answer = call("model", fleet, **DECLARED)
    assert answer["status"] == 409
    assert "Model route 'qwen' already exists" in answer["msg"]


# Secrets


def test_secrets_are_in_no_output(fleet: FakeGPUStack, capsys: pytest.CaptureFixture[str]) -> None:
    secret = {
        **DECLARED,
        "env": {"HF_TOKEN": "hf_abcdefgh", "SHORT_KEY": "x", "VLLM_USE_V1": "1"},
        "backend_parameters": ["--api-key=sk-abcdefgh", "--enforce-eager"],
    }
    answer = call("model", fleet, **secret)
    assert answer["model"]["env"]["HF_TOKEN"] == "********"
    assert answer["model"]["env"]["VLLM_USE_V1"] == "1"
    assert answer["model"]["backend_parameters"] == ["--api-key=********", "--enforce-eager"]
    if "invocation" in answer:  # ansible-core 2.21 leaves it out
        assert answer["invocation"]["module_args"]["env"]["SHORT_KEY"] == "********"
    assert not [text for text in ("hf_abcdefgh", "sk-abcdefgh", PASSWORD) if text in str(answer)]
    assert stored(fleet)["env"]["HF_TOKEN"] == "hf_abcdefgh"


def test_changed_secret_is_seen_to_change(fleet: FakeGPUStack) -> None:
    call("model", fleet, **{**DECLARED, "env": {"HF_TOKEN": "hf_abcdefgh"}})
    answer = call("model", fleet, **{**DECLARED, "env": {"HF_TOKEN": "hf_ijklmnop"}})
    assert answer["diff"]["before"]["env"] == {"HF_TOKEN": "********"}
    assert answer["diff"]["after"]["env"] == {"HF_TOKEN": "******** (changed)"}


def test_secret_in_a_refusal_of_the_server_is_not_repeated(fleet: FakeGPUStack) -> None:
    call("model", fleet, **DECLARED)
    stored(fleet)["env"] = {"HF_TOKEN": "hf_abcdefgh", "BROKEN": 1}
    answer = call("model", fleet, name="qwen", description="new")
    assert answer["msg"].endswith("with status 422: env.BROKEN: Input should be a valid string")
