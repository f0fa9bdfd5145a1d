# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor import Look, examine
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.bundle import support_files
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.hosts import targets_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.report import text_of

A, B, SERVER = "gpu-worker-a", "gpu-worker-b", "gpustack-server"
ADDRESSES = {SERVER: "192.0.2.10", A: "192.0.2.11", B: "192.0.2.12"}
CARD = {"index": 0, "name": "Tesla V100-PCIE-32GB", "compute_capability": "7.0", "usable": True, "problems": []}


def ill_card(code: str) -> dict[str, Any]:
    problem = {"code": code, "message": "found so", "remedy": "Do this."}
    return {"driver_version": "580.95.05", "devices": [{**CARD, "problems": [problem]}], "problems": [problem]}


def host(name: str) -> dict[str, Any]:
    worker = name != SERVER
    container = "gpustack-worker" if worker else "gpustack-server"
    command = ["start", f"--worker-name={name}", f"--worker-ip={ADDRESSES[name]}", "--worker-ifname=eth0"]
    return {
        "facts": {
            "interfaces": {"eth0": [ADDRESSES[name]]},
            "shm_size_mib": 65536,
            "clock_offset_s": 0.0,
            "clock_uncertainty_s": 0.1,
            "disk_free_gib": {"/": 100.0},
            "containers": {container: {"state": "running", "status": "Up 1 hour"}},
            "paths": {"/usr/bin/nvidia-container-runtime": {"exists": True}},
        },
        "gpus": {"driver_version": "580.95.05", "devices": [CARD], "problems": []} if worker else None,
        "container_engine": {
            "problem": None,
            "runtimes": ["nvidia", "runc"],
            "configured_runtimes": ["nvidia"],
            "configuration_problem": None,
            "cgroup_driver": "cgroupfs",
        },
        "engines": {
            "worker": {"state": "running", "command": command, "runtime": "nvidia", "ipc_mode": "host"}
            if worker
            else None,
            "instances": {},
        },
        "logs": {"logs": [{"source": "kernel", "instance": None, "text": "kernel: all is well", "problem": None}]},
        "connectivity": {},
        "declared": {"name": name, "ip": ADDRESSES[name], "interface": "eth0", "expected_gpus": 1} if worker else None,
    }


def healthy() -> dict[str, Any]:
    return {
        "hosts": {name: host(name) for name in (SERVER, A, B)},
        "workers": [A, B],
        "servers": [SERVER],
        "api": {"url": "http://192.0.2.10", "answers": True, "version": "v2.1.1", "problem": None},
        "registered": [
            {"name": name, "state": "ready", "ip": ADDRESSES[name], "gpu_devices": [{"index": 0}]} for name in (A, B)
        ],
        "models": [],
        "declared": [],
        "defaults": {},
        "wanted": {
            "shared_memory_gib": 64.0,
            "max_clock_skew_s": 5.0,
            "minimum_free_gib": {"/": 1},
            "required_paths": {"/usr/bin/nvidia-container-runtime": "Install it."},
        },
        "containers": {"worker": "gpustack-worker", "server": "gpustack-server"},
        "runtime": "nvidia",
    }


def result_of(look: dict[str, Any]) -> dict[str, Any]:
    return examine(Look(**look))


def first(look: dict[str, Any]) -> tuple[str, list[str]]:
    finding = result_of(look)["findings"][0]
    return finding["code"], finding["hosts"]


def test_healthy_fleet_gives_nothing() -> None:
    result = result_of(healthy())
    assert (result["exit_code"], result["findings"]) == (0, [])
    assert text_of(result) == "Healthy: nothing found on 3 hosts and the server."


BROKEN: list[tuple[str, Any, tuple[str, list[str]]]] = [
    ("host away", lambda look: look["hosts"].update({B: {}}), ("host_unreachable", [B])),
    ("Docker down", lambda look: look["hosts"][B].update(
        container_engine={"problem": "Cannot connect", "configuration_problem": None}, engines=None),
     ("container_engine_down", [B])),
    ("runtime gone from the file", lambda look: look["hosts"][B]["container_engine"].update(configured_runtimes=[]),
     ("container_runtime_missing", [B])),
    ("server stopped", lambda look: (
        look["hosts"][SERVER]["facts"]["containers"]["gpustack-server"].update(state="exited"),
        look.update(api={"url": "http://192.0.2.10", "answers": False, "version": None, "problem": "refused"},
                    registered=None, models=None)),
     ("server_container_stopped", [SERVER])),
    ("worker stopped", lambda look: (
        look["hosts"][B]["engines"]["worker"].update(state="exited", exit_code=137),
        look["registered"][1].update(state="not_ready", state_message="Heartbeat lost")),
     ("worker_container_stopped", [B])),
    ("worker on another interface", lambda look: look["hosts"][B]["engines"]["worker"]["command"].append(
        "--worker-ifname=docker0"), ("worker_differs", [B])),
    ("two workers of one host", lambda look: look["registered"].append(
        {"name": "old", "state": "not_ready", "ip": ADDRESSES[B]}), ("worker_duplicate", [B])),
    ("packets dropped", lambda look: look["hosts"][A].update(
        connectivity={B: {"address": "192.0.2.12", "connected": [], "timed_out": ["10150"]}}),
     ("connection_blocked", [A])),
    ("registry refuses", lambda look: look["hosts"][A].update(
        connectivity={"registry": {"address": "192.0.2.2", "connected": [], "refused": ["5000"]}}),
     ("registry_unreachable", [A])),
    ("card off the bus", lambda look: look["hosts"][A]["logs"]["logs"][0].update(
        text="kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."), ("gpu-off-the-bus", [A])),
    ("memory errors", lambda look: look["hosts"][A].update(gpus=ill_card("memory_errors")), ("memory_errors", [A])),
    ("card too hot", lambda look: look["hosts"][A].update(gpus=ill_card("slowed_by_heat")), ("slowed_by_heat", [A])),
    ("clock", lambda look: look["hosts"][B]["facts"].update(clock_offset_s=300.0), ("clocks_differ", [B])),
    ("stages on Volta", lambda look: look["hosts"][A]["engines"]["instances"].update(
        {"m-aaaaa": {"containers": [{"name": "m-aaaaa-run-0", "command": ["vllm", "--pipeline-parallel-size", "2"]}]}}),
     ("pipeline_parallel_on_old_cards", [A])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "breakage", "expected"), BROKEN, ids=[row[0] for row in BROKEN])
def test_cause_is_the_first_finding(name: str, breakage: Any, expected: tuple[str, list[str]]) -> None:
    look = copy.deepcopy(healthy())
    breakage(look)
    assert first(look) == expected
    assert result_of(look)["exit_code"] == 1


def test_what_waits_for_a_maintenance_is_told_and_is_no_illness() -> None:
    look = healthy()
    look["hosts"][A].update(gpus=ill_card("memory_repair_pending"))
    result = result_of(look)
    assert [(one["code"], one["layer"], one["severity"]) for one in result["findings"]] == [
        ("memory_repair_pending", "hardware", "warning")
    ]
    assert result["exit_code"] == 0


def test_consequence_says_what_it_follows_from() -> None:
    look = healthy()
    look["hosts"][B]["engines"]["worker"].update(state="exited")
    look["registered"][1].update(state="not_ready", state_message="Heartbeat lost")
    consequence = result_of(look)["findings"][-1]
    assert (consequence["code"], consequence["symptom"]) == ("worker_not_ready", True)
    assert consequence["because"] == {"code": "worker_container_stopped", "hosts": [B]}
    text = text_of(result_of(look))
    assert text.startswith(
        "1 cause and 1 consequence found on 3 hosts. First: gpu-worker-b: the GPUStack worker does not"
    )
    assert "follows    worker_container_stopped on gpu-worker-b" in text


def test_pipeline_stages_are_told_of_a_crashed_engine_that_has_no_containers() -> None:
    look = healthy()
    instance = {"name": "m-aaaaa", "state": "error", "state_message": "", "worker_name": A}
    parameters = ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"]
    look["models"] = [{"name": "m", "replicas": 1, "backend_parameters": parameters, "instances": [instance]}]
    stages, state = result_of(look)["findings"]
    assert (stages["code"], stages["hosts"]) == ("pipeline_parallel_on_old_cards", [])
    assert (state["code"], state["because"]["code"]) == ("instance_not_running", "pipeline_parallel_on_old_cards")


def test_port_that_refuses_is_a_consequence_and_one_that_drops_packets_a_cause() -> None:
    look = healthy()
    look["hosts"][A]["connectivity"] = {B: {"address": "192.0.2.12", "connected": [], "refused": ["10150"]}}
    assert [(one["code"], one["symptom"]) for one in result_of(look)["findings"]] == [("connection_blocked", True)]


def test_certificate_that_nobody_trusts_is_a_cause() -> None:
    look = healthy()
    problem = "can't be reached: certificate verify failed: self-signed certificate"
    look["api"] = {"url": "https://192.0.2.10", "answers": False, "trusted": False, "version": None, "problem": problem}
    look["registered"] = look["models"] = None
    finding = result_of(look)["findings"][0]
    assert (finding["code"], finding["symptom"]) == ("server_untrusted", False)


def test_model_without_a_place_follows_from_the_worker_that_is_away() -> None:
    look = healthy()
    look["hosts"][B]["engines"]["worker"].update(state="exited")
    instance = {"name": "m-aaaaa", "state": "pending", "state_message": "No suitable workers.", "worker_name": None}
    look["models"] = [{"name": "m", "replicas": 1, "instances": [instance]}]
    codes = [(one["code"], one["symptom"]) for one in result_of(look)["findings"]]
    assert codes[0] == ("worker_container_stopped", False)
    assert set(codes[1:]) == {("no-suitable-worker", True), ("instance_not_running", True)}


def test_two_lines_of_a_log_on_one_host_are_told_with_line_and_source() -> None:
    look = healthy()
    look["hosts"][A]["logs"]["logs"].append(
        {"source": "m-run-0", "instance": "m", "text": "INFO x\nexec format error", "problem": None}
    )
    (finding,) = result_of(look)["findings"]
    assert finding["evidence"] == [{"host": A, "source": "m-run-0", "line": 2, "text": "exec format error"}]


def test_warning_alone_leaves_the_fleet_healthy() -> None:
    look = healthy()
    look["hosts"][A]["container_engine"]["cgroup_driver"] = "systemd"
    result = result_of(look)
    assert (result["exit_code"], result["findings"][0]["severity"]) == (0, "warning")
    assert text_of(result).startswith("Healthy, but 1 warning found on 3 hosts.")


def test_nothing_could_be_looked_at() -> None:
    look = {**healthy(), "hosts": {name: {} for name in (SERVER, A, B)}, "registered": None, "models": None}
    assert result_of(look)["exit_code"] == 2
    assert text_of(result_of(look)).startswith("No host could be looked at.")


def test_worker_reaches_for_the_others_the_server_and_the_registry() -> None:
    workers = {A: "192.0.2.11", B: "192.0.2.12"}
    assert targets_of(A, workers, [SERVER], "https://gpustack.example.org", "192.0.2.2:5000") == {
        B: {"address": "192.0.2.12", "ports": ["10150"]},
        "server": {"address": "gpustack.example.org", "ports": ["443"]},
        "registry": {"address": "192.0.2.2", "ports": ["5000"]},
    }
    assert set(targets_of(SERVER, workers, [SERVER], "http://192.0.2.10", "")) == {A, B}


def test_bundle_holds_no_secret_of_configuration_environment_or_logs() -> None:
    look = healthy()
    look["hosts"][A]["engines"]["worker"]["env"] = {"MY_API_KEY": "swordfish-1"}
    look["hosts"][A]["engines"]["worker"]["command"] += ["--api-key", "swordfish-2"]
    look["hosts"][A]["logs"]["logs"][0]["text"] = "password=swordfish-3 and the admin's swordfish-4"
    look["models"] = [{"name": "m", "env": {"HF_TOKEN": "swordfish-5"}, "replicas": 0}]
    files = support_files(look, result_of(look), ["swordfish-4"])
    assert {"findings.txt", "findings.json", "gpustack.json", f"{A}/facts.json", f"{A}/logs/kernel.log"} <= set(files)
    assert "swordfish" not in json.dumps(files)


def test_bundle_with_pseudonyms_names_neither_hosts_nor_addresses() -> None:
    look = healthy()
    text = json.dumps(support_files(look, result_of(look), [], pseudonyms=True))
    assert "host-2/facts.json" in text
    assert "gpu-worker-a" not in text
    assert "192.0.2." not in text
