# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Models are written with the module `model` into a fake GPUStack and read back with `model_info`, as in a real run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.module_utils.drift import FINDINGS, drift
from ansible_collections.gpuops.gpustack.plugins.module_utils.drift_table import table
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid

CHAT: dict[str, Any] = {
    "name": "chat",
    "local_path": "/var/lib/models/Chat",
    "backend": "vLLM",
    "backend_version": "0.17.1",
    "backend_parameters": ["--max-model-len=65536", "--dtype=float16"],
    "env": {"HF_TOKEN": "hf_abcdefghij", "SIZE": "64"},
    "rollout": "recreate",
}


def apply(fake: FakeGPUStack, declaration: dict[str, Any]) -> None:
    if not fake.clusters:
        fake.add_cluster("racks", is_default=True)
    call("model", fake, **{name: value for name, value in declaration.items() if name != "rollout"})


def engines(fake: FakeGPUStack, *names: str) -> dict[str, Any]:
    """What the worker's engines run: what their models have at this moment."""
    found = {}
    for instance in fake.instances.values():
        model = fake.models[instance["model_id"]]
        if names and model["name"] not in names:
            continue
        engine = {
            "name": f"{instance['name']}-run-0",
            "role": "default",
            "state": "running",
            "command": ["vllm", "serve", model["local_path"], *(model["backend_parameters"] or []), "--port=40000"],
            "env": {name: "********" if "TOKEN" in name else text for name, text in (model["env"] or {}).items()},
        }
        found[instance["name"]] = {"containers": [engine]}
    return {"gpu-worker-a": {"instances": found}}


def judge(
    fake: FakeGPUStack, declarations: list[dict[str, Any]], running: dict[str, Any], **options: Any
) -> dict[str, Any]:
    models = call("model_info", fake)["models"]
    assert fake.writes() == []
    return drift(declarations, models, running, **options)


def findings(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = [*result["models"], *result["workers"]]
    return [(finding["subject"], finding["code"], finding["who"]) for row in rows for finding in row["findings"]]


def edit(fake: FakeGPUStack, edited: str, /, **fields: Any) -> None:
    """As somebody does it on GPUStack's page, ten minutes later: running instances stay as they are."""
    fake.advance(600)
    model = next(model for model in fake.models.values() if model["name"] == edited)
    model.update(fields, updated_at=fake.now.isoformat())


def test_what_is_declared_configured_and_running_alike_is_no_drift(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    result = judge(fake, [CHAT], engines(fake))
    assert (result["drifted"], findings(result)) == (False, [])
    assert table(result).startswith("No drift: 1 declared model, configured and running as in git\n")
    assert (
        "chat                          declared      as declared           1 instance, since 2026-03-01 09:30"
        in table(result)
    )


def test_edit_in_gpustack_is_told_with_its_three_values_and_the_time_it_can_have_happened(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    running = engines(fake)
    edit(fake, "chat", backend_parameters=["--max-model-len=32768", "--dtype=float16"])
    result = judge(fake, [CHAT], running)
    assert result["drifted"]
    (instance,) = fake.instances_of("chat")
    assert findings(result) == [
        ("chat", "edited", "GPUStack's page or API"),
        (instance["name"], "engine_differs", "GPUStack's page or API"),
    ]
    edited, engine = result["models"][0]["findings"]
    values = {"name": "--max-model-len", "declared": 65536, "configured": 32768, "running": 65536}
    assert edited["settings"] == engine["settings"] == [values]
    assert (edited["since"], edited["until"]) == ("2026-03-01T09:30:00+00:00", "2026-03-01T09:40:15+00:00")
    text = table(result)
    assert text.startswith("Drift: 1 of 1 declared model\n")
    assert "between 2026-03-01 09:30:00 UTC and 2026-03-01 09:40:15 UTC, by GPUStack's page or API" in text
    assert "      --max-model-len                         65536                   32768                   65536" in text


def test_change_in_git_that_was_not_applied_is_told_from_an_edit(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    changed = {**CHAT, "env": {**CHAT["env"], "SIZE": "128"}}
    result = judge(fake, [changed], engines(fake))
    assert findings(result) == [("chat", "not_applied", "git")]
    assert result["models"][0]["findings"][0]["settings"] == [
        {"name": "SIZE", "declared": "128", "configured": "64", "running": "64"}
    ]


def test_instance_of_a_run_that_did_not_finish_is_old(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    running = engines(fake)
    fake.advance(600)
    changed = {**CHAT, "backend_parameters": ["--max-model-len=32768", "--dtype=float16"]}
    apply(fake, {**changed, "recreate": False})
    result = judge(fake, [changed], running)
    (instance,) = fake.instances_of("chat")
    assert findings(result) == [(instance["name"], "old_instance", "a run that did not finish")]
    assert result["models"][0]["findings"][0]["settings"] == [
        {"name": "--max-model-len", "declared": 32768, "configured": 32768, "running": 65536}
    ]
    assert "older configuration" in table(result)


def test_engine_on_other_parameters_than_configured_is_told(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    running = engines(fake)
    (instance,) = fake.instances_of("chat")
    command = running["gpu-worker-a"]["instances"][instance["name"]]["containers"][0]["command"]
    command[command.index("--dtype=float16")] = "--dtype=bfloat16"
    result = judge(fake, [CHAT], running)
    assert findings(result) == [(instance["name"], "engine_differs", "unknown")]
    assert result["models"][0]["findings"][0]["settings"] == [
        {"name": "--dtype", "declared": "float16", "configured": "float16", "running": "bfloat16"}
    ]


def test_field_that_no_engine_needs_differs_without_somebody_to_blame(fake: FakeGPUStack) -> None:
    declared = {**CHAT, "description": "Chat", "access_policy": "authed"}
    apply(fake, declared)
    edit(fake, "chat", description="My chat")
    next(iter(fake.routes.values()))["access_policy"] = "public"
    result = judge(fake, [declared], engines(fake))
    assert findings(result) == [("chat", "differs", "unknown")]
    assert [(s["name"], s["declared"], s["configured"]) for s in result["models"][0]["findings"][0]["settings"]] == [
        ("description", "Chat", "My chat"),
        ("access_policy", "authed", "public"),
    ]


def test_other_spelling_of_the_same_parameters_is_shown_as_it_is(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    running = engines(fake)
    edit(fake, "chat", backend_parameters=["--dtype=float16", "--max-model-len 65536"])
    result = judge(fake, [CHAT], running)
    assert findings(result) == [("chat", "edited", "GPUStack's page or API")]
    (setting,) = result["models"][0]["findings"][0]["settings"]
    assert setting["configured"] == ["--dtype=float16", "--max-model-len 65536"]


def test_deleted_instance_is_missed_until_another_one_runs(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    (old,) = fake.instances_of("chat")
    running = engines(fake)
    fake.advance(600)
    fake.life = lambda instance: [{"state": "pending", "state_message": "No suitable workers.\nDetails"}]
    fake._delete_instance(None, old["id"])  # type: ignore[arg-type]
    del running["gpu-worker-a"]["instances"][old["name"]]
    result = judge(fake, [CHAT], running)
    (new,) = fake.instances_of("chat")
    assert findings(result) == [(new["name"], "instance_not_running", "unknown")]
    (finding,) = result["models"][0]["findings"]
    assert finding["since"] == new["created_at"].replace(".000000Z", "+00:00")
    assert finding["settings"][0]["running"] == "pending: No suitable workers."
    fake.instances.clear()
    assert findings(judge(fake, [CHAT], running)) == [("chat", "instance_missing", "unknown")]


def test_engine_that_is_gone_from_its_host_is_told(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    (instance,) = fake.instances_of("chat")
    nothing = {"gpu-worker-a": {"instances": {}}}
    assert findings(judge(fake, [CHAT], nothing)) == [(instance["name"], "engine_missing", "unknown")]
    assert findings(judge(fake, [CHAT], {})) == []  # its host was not looked at


def test_foreign_forgotten_and_missing_models_are_told_apart(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    apply(fake, {**CHAT, "name": "old", "local_path": "/m/old"})
    fake.add_model("mine", source="local_path", local_path="/m", cluster_id=1)
    other = {**CHAT, "name": "other", "local_path": "/m/other"}
    result = judge(fake, [CHAT, other], engines(fake))
    assert findings(result) == [
        ("other", "missing", "unknown"),
        ("mine", "foreign", "GPUStack's page or API"),
        ("old", "undeclared", "git"),
    ]
    assert table(result).startswith("Drift: 1 of 2 declared models, 2 models that are not declared\n")
    ignored = judge(fake, [CHAT], engines(fake), ignored=["foreign", "undeclared"])
    assert not ignored["drifted"]
    assert table(ignored).startswith("No drift that counts; ignored: 2 models that are not declared\n")


def test_declared_model_that_was_made_by_hand_is_not_managed(fake: FakeGPUStack) -> None:
    fake.add_cluster("racks")
    fake.add_model("chat", source="local_path", local_path="/m/else", cluster_id=1, backend="vLLM")
    result = judge(fake, [CHAT], engines(fake))
    assert ("chat", "not_managed", "GPUStack's page or API") in findings(result)
    names = {setting["name"] for setting in result["models"][0]["findings"][0]["settings"]}
    assert {"local_path", "--dtype", "SIZE"} <= names


def test_model_that_was_renamed_in_gpustack_is_one_row(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    edit(fake, "chat", name="chatty")
    result = judge(fake, [CHAT], engines(fake))
    assert findings(result) == [("chat", "renamed", "GPUStack's page or API")]
    assert [row["name"] for row in result["models"]] == ["chat"]
    assert result["models"][0]["findings"][0]["message"] == "chat is called chatty in GPUStack"


def test_model_that_was_renamed_in_git_is_found_by_its_configuration(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    result = judge(fake, [{**CHAT, "name": "assistant"}], engines(fake))
    assert findings(result) == [("assistant", "renamed", "unknown")]
    other = judge(fake, [{**CHAT, "name": "assistant", "local_path": "/m/else"}], engines(fake))
    assert findings(other) == [("assistant", "missing", "unknown"), ("chat", "undeclared", "git")]


def test_replicas_that_are_models_of_their_own_are_one_row(fake: FakeGPUStack) -> None:
    declared = {**CHAT, "rollout": "drain", "replicas": 2}
    apply(fake, CHAT)
    result = judge(fake, [declared], engines(fake))
    (row,) = result["models"]
    assert row["members"] == ["chat", "chat-r2"]
    assert findings(result) == [("chat-r2", "missing", "unknown")]


def test_model_that_its_route_does_not_lead_to_is_told(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    fake.targets.clear()
    assert findings(judge(fake, [CHAT], engines(fake))) == [("chat", "not_routed", "unknown")]


def test_secrets_are_neither_compared_nor_shown(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    edit(fake, "chat", env={**next(iter(fake.models.values()))["env"], "HF_TOKEN": "hf_somethingelse"})
    result = judge(fake, [CHAT], engines(fake))
    assert findings(result) == []
    assert "hf_" not in str(result)


def test_workers_differ_in_declared_labels_and_maintenance_only(fake: FakeGPUStack) -> None:
    fake.add_worker("gpu-worker-a", fake.add_cluster("racks"), labels={"os": "Linux", "rack": "11"})
    workers = call("worker_info", fake)["workers"]
    declared = [
        {"name": "gpu-worker-a", "labels": {"rack": 12, "old": None}, "maintenance": True},
        {"name": "gpu-worker-b"},
    ]
    result = drift([], [], {}, workers, declared)
    assert findings(result) == [
        ("gpu-worker-a", "labels_differ", "unknown"),
        ("gpu-worker-a", "maintenance_differs", "unknown"),
        ("gpu-worker-b", "worker_missing", "unknown"),
    ]
    assert result["workers"][0]["findings"][0]["settings"] == [
        {"name": "rack", "declared": "12", "configured": "11", "running": None}
    ]
    right = [{"name": "gpu-worker-a", "labels": {"rack": 11}, "maintenance": False}]
    assert not drift([], [], {}, workers, right)["drifted"]


def test_kind_of_drift_that_does_not_exist_cannot_be_ignored() -> None:
    with pytest.raises(Invalid, match=r"Unknown kinds of drift to ignore: strangers\. There are: missing, renamed"):
        drift([], [], {}, ignored=["strangers"])


def test_lines_fit_a_terminal_whatever_is_in_them(fake: FakeGPUStack) -> None:
    apply(fake, CHAT)
    edit(fake, "chat", local_path="/var/lib/models/" + "x" * 200, backend_parameters=["--dtype=float16"])
    text = table(judge(fake, [CHAT], engines(fake)))
    assert max(map(len, text.splitlines())) <= 120


def test_every_kind_has_a_sentence_and_is_documented() -> None:
    page = (Path(__file__).parents[4] / "plugins/filter/drift.yml").read_text()
    assert [code for code in FINDINGS if f"V({code})" not in page] == []
