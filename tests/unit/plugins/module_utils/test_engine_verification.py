# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_verification

MODEL = "qwen2.5-14b-instruct"
INSTANCE = f"{MODEL}-aB3dE"
PLAN = {
    "backend_version": "0.17.1",
    "backend_parameters": [
        "--distributed-executor-backend=ray",
        "--tensor-parallel-size=4",
        "--pipeline-parallel-size=1",
        "--max-model-len=65536",
        "--enable-auto-tool-choice",
        "--tool-call-parser hermes",
    ],
    "env": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1", "GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB": "64", "HF_TOKEN": "planned"},
    "tensor_parallel_size": 4,
    "pipeline_parallel_size": 1,
    "placement": {"gpu-a": [0, 1], "gpu-b": [0, 1]},
}
ENV = {
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
    "GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB": "64",
    "HF_TOKEN": "********",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "VLLM_HOST_IP": "192.0.2.11",
    "PATH": "/usr/bin",
}
COMMAND = [
    "vllm", "serve", "/var/lib/models/q", "--distributed-executor-backend", "ray",
    "--distributed-executor-backend=ray", "--tensor-parallel-size=4", "--pipeline-parallel-size=1",
    "--max-model-len=65536", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
    "--host", "192.0.2.11", "--port", "40000", "--served-model-name", MODEL,
]  # fmt: skip


def container(name, role, **changed):
    return {
        "name": name,
        "role": role,
        "command": COMMAND if role == "default" else ["ray", "start"],
        "env": {} if role == "pause" else dict(ENV),
        "ipc_mode": "shareable" if role == "pause" else "container:ff",
        "shm_size_mib": 65536,
        "state": "running",
        "exit_code": 0,
        "oom_killed": False,
        **changed,
    }


@pytest.fixture(name="engines")
def fixture_engines():
    """The instance as planned, spread over two hosts, beside an instance of another model."""
    return {
        "gpu-a": {
            "instances": {
                INSTANCE: {
                    "containers": [
                        container(f"{INSTANCE}-pause", "pause"),
                        container(f"{INSTANCE}-run-0", "default"),
                        container(f"{INSTANCE}-run-1", "ray-head"),
                    ]
                },
                f"{MODEL}-awq-Zz9yX": {"containers": [container("other", "default", state="exited")]},
            }
        },
        "gpu-b": {
            "instances": {
                INSTANCE: {
                    "containers": [
                        container(f"{INSTANCE}-f0-pause", "pause"),
                        container(f"{INSTANCE}-f0-run-0", "follower"),
                    ]
                }
            }
        },
    }


def one(engines, name):
    """The container of this name."""
    every = [
        each for info in engines.values() for content in info["instances"].values() for each in content["containers"]
    ]
    return next(each for each in every if each["name"] == name)


def short(differences):
    return [(each["code"], each["container"], each["name"], each["planned"], each["running"]) for each in differences]


def test_what_runs_as_planned_has_no_differences(engines):
    assert engine_verification.differences(PLAN, engines, MODEL) == []


def test_spelling_is_no_difference(engines):
    leader = one(engines, f"{INSTANCE}-run-0")
    leader["command"] = [
        "/gpustack-command-1",
        "vllm",
        "serve",
        "/m",
        "-tp",
        "8",
        "--max_model_len",
        "64K",
        *COMMAND[3:],
    ]
    assert engine_verification.differences(PLAN, engines, MODEL) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--pipeline-parallel-size", "2"], ("parameter_differs", "--pipeline-parallel-size", 1, 2)),
        (["--enforce-eager"], ("parameter_unplanned", "--enforce-eager", None, True)),
        (["--no-enable-auto-tool-choice"], ("parameter_differs", "--enable-auto-tool-choice", True, False)),
        (["--flag-of-tomorrow=1"], ("parameter_unplanned", "--flag-of-tomorrow", None, "1")),
        (["--api-key=********"], ("parameter_unplanned", "--api-key", None, "********")),
    ],
)
def test_of_the_running_command_line_the_last_word_counts(engines, words, expected):
    leader = one(engines, f"{INSTANCE}-run-0")
    leader["command"] = COMMAND + words
    code, name, planned, running = expected
    assert short(engine_verification.differences(PLAN, engines, MODEL)) == [
        (code, leader["name"], name, planned, running)
    ]


def test_a_parameter_that_does_not_run(engines):
    leader = one(engines, f"{INSTANCE}-run-0")
    leader["command"] = [word for word in COMMAND if word != "--tensor-parallel-size=4"]
    (difference,) = engine_verification.differences(PLAN, engines, MODEL)
    assert difference == {
        "code": "parameter_missing",
        "instance": INSTANCE,
        "host": "gpu-a",
        "container": f"{INSTANCE}-run-0",
        "name": "--tensor-parallel-size",
        "planned": 4,
        "running": None,
        "message": f"{INSTANCE}-run-0 on gpu-a: --tensor-parallel-size is missing, planned is 4",
    }


def test_flags_of_gpustack_itself_are_no_difference_until_planned_otherwise(engines):
    plan = copy.deepcopy(PLAN)
    plan["backend_parameters"] = [item for item in PLAN["backend_parameters"] if "max-model-len" not in item]
    assert engine_verification.differences(plan, engines, MODEL) == []
    plan["backend_parameters"].append("--host=0.0.0.0")
    assert [each["code"] for each in engine_verification.differences(plan, engines, MODEL)] == ["parameter_differs"]


@pytest.mark.parametrize("name", [f"{INSTANCE}-run-0", f"{INSTANCE}-run-1", f"{INSTANCE}-f0-run-0"])
def test_every_container_of_leader_and_follower_needs_the_variables(engines, name):
    environment = one(engines, name)["env"]
    del environment["VLLM_ALLOW_LONG_MAX_MODEL_LEN"]
    environment["GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB"] = "10"
    environment["RAY_CGRAPH_get_timeout"] = "1200"
    assert short(engine_verification.differences(PLAN, engines, MODEL)) == [
        ("variable_differs", name, "GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB", "64", "10"),
        ("variable_unplanned", name, "RAY_CGRAPH_get_timeout", None, "1200"),
        ("variable_missing", name, "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1", None),
    ]


def test_a_secret_is_asked_for_and_never_shown(engines):
    del one(engines, f"{INSTANCE}-run-0")["env"]["HF_TOKEN"]
    (difference,) = engine_verification.differences(PLAN, engines, MODEL)
    assert (difference["code"], difference["planned"]) == ("variable_missing", "********")
    assert difference["message"].endswith(": HF_TOKEN is missing, planned is ********")


@pytest.mark.parametrize("name", [f"{INSTANCE}-pause", f"{INSTANCE}-f0-pause"])
def test_shared_memory_of_every_pause_container(engines, name):
    one(engines, name)["shm_size_mib"] = 10240
    assert short(engine_verification.differences(PLAN, engines, MODEL)) == [
        ("shared_memory_differs", name, "/dev/shm in MiB", 65536, 10240)
    ]


def test_an_instance_that_shares_the_hosts_memory_has_no_size_of_its_own(engines):
    one(engines, f"{INSTANCE}-pause").update(shm_size_mib=64, ipc_mode="host")
    assert engine_verification.differences(PLAN, engines, MODEL) == []


@pytest.mark.parametrize(
    ("state", "running"),
    [
        ({"state": "exited", "exit_code": 1}, "exited (exit code 1)"),
        ({"state": "exited", "exit_code": 0}, "exited"),
        ({"state": "exited", "exit_code": 137, "oom_killed": True}, "exited (exit code 137, out of memory)"),
        ({"state": "created", "exit_code": 128, "error": "no runtime"}, "created (exit code 128, no runtime)"),
        ({"state": "created", "error": None}, "created"),
    ],
)
def test_a_container_that_does_not_run(engines, state, running):
    one(engines, f"{INSTANCE}-run-0").update(state)
    assert short(engine_verification.differences(PLAN, engines, MODEL)) == [
        ("container_not_running", f"{INSTANCE}-run-0", "state", "running", running)
    ]


def test_fewer_hosts_and_gpus_than_planned(engines):
    del engines["gpu-b"]["instances"][INSTANCE]
    assert short(engine_verification.differences(PLAN, engines, MODEL)) == [
        ("placement_differs", None, "placement", "gpu-a, gpu-b", "gpu-a"),
        ("gpu_count_differs", None, "number of GPUs", 4, 2),
    ]


def test_gpus_are_not_counted_where_a_container_does_not_tell(engines):
    del one(engines, f"{INSTANCE}-f0-run-0")["env"]["CUDA_VISIBLE_DEVICES"]
    one(engines, f"{INSTANCE}-run-0")["env"]["CUDA_VISIBLE_DEVICES"] = "0"
    assert engine_verification.differences(PLAN, engines, MODEL) == []


def test_followers_without_their_leader(engines):
    del engines["gpu-a"]["instances"][INSTANCE]
    codes = [each["code"] for each in engine_verification.differences(PLAN, engines, MODEL)]
    assert codes == ["engine_missing", "placement_differs", "gpu_count_differs"]


@pytest.mark.parametrize("engines_read", [{}, {"gpu-a": {}}, {"gpu-a": {"instances": {}}}])
def test_a_model_that_does_not_run_at_all(engines_read):
    (difference,) = engine_verification.differences(PLAN, engines_read, MODEL)
    assert difference["message"] == f"{MODEL}: replicas is 0, planned is 1"


def second_instance_on(engines, *hosts):
    """A second instance with two GPUs on each of these hosts."""
    second = f"{MODEL}-Xy1z2"
    for host, role in zip(hosts, ("default", "follower")):
        one_container = container(f"{second}-{role}-run-0", role)
        engines.setdefault(host, {"instances": {}})["instances"][second] = {"containers": [one_container]}


def test_every_replica_is_on_hosts_that_were_planned_for_one(engines):
    plan = {**PLAN, "placements": [PLAN["placement"], {"gpu-c": [0, 1], "gpu-d": [0, 1]}]}
    second_instance_on(engines, "gpu-c", "gpu-d")
    assert engine_verification.differences(plan, engines, MODEL, replicas=2) == []
    del engines["gpu-c"], engines["gpu-d"]
    second_instance_on(engines, "gpu-x", "gpu-y")
    assert [each["code"] for each in engine_verification.differences(plan, engines, MODEL, replicas=2)] == [
        "placement_differs",
    ]


def test_where_the_scheduler_chooses_other_hosts_will_do_and_another_number_will_not(engines):
    plan = {**PLAN, "automatic_placement": True}
    second_instance_on(engines, "gpu-x", "gpu-y")
    assert engine_verification.differences(plan, engines, MODEL, replicas=2) == []
    del engines["gpu-y"]
    assert short(engine_verification.differences(plan, engines, MODEL, replicas=2)) == [
        ("placement_differs", None, "placement", "2 hosts like gpu-a, gpu-b", "gpu-x"),
        ("gpu_count_differs", None, "number of GPUs", 4, 2),
    ]


def test_fewer_instances_than_declared(engines):
    assert short(engine_verification.differences(PLAN, engines, MODEL, replicas=3)) == [
        ("instance_count_differs", None, "replicas", 3, 1)
    ]
