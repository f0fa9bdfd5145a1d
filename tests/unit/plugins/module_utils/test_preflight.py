# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import line_of, problems_of, text_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight.problems import CHECKS

MODEL = "/var/lib/models/example"
CONFIG = {"model_type": "qwen2", "max_position_embeddings": 32768}


def host(number):
    return {
        "hostname": f"gpu-{number}",
        "machine_id": f"machine-{number}",
        "product_uuid": f"uuid-{number}",
        "clock_offset_s": 0.1,
        "clock_uncertainty_s": 0.3,
        "shm_size_mib": 65536,
        "memory_total_mib": 257652,
        "memlock_limit_kib": -1,
        "interfaces": {"lo": ["127.0.0.1"], "eth0": [f"192.0.2.1{number}"], "eth1": []},
        "interface_mtu": {"lo": 65536, "eth0": 1500},
        "listening_ports": {"10150": {"pid": 1, "process": "python3 gpustack", "container": "gpustack-worker"}},
        "paths": {RUNTIME: {"exists": True}},
        "model_directories": {
            MODEL: {"config": dict(CONFIG), "weights_size_bytes": 2**30, "missing_files": [], "problem": None}
        },
        "disk_free_gib": {"/var/lib/docker": 100.0},
        "container_storage": {"path": "/data/docker", "free_gib": 100.0},
        "rdma_devices": [],
        "containers": {"gpustack-worker": {"workload": None}, "m-aB3dE-run-0": {"workload": "m-aB3dE"}},
        "problems": [],
    }


def gpu(driver="580.95.05"):
    device = {"index": 0, "name": "Tesla V100-PCIE-32GB", "usable": True, "problems": []}
    return {
        "driver_version": driver,
        "devices": [device, {**device, "index": 1, "problems": []}],
        "problems": [],
    }


@pytest.fixture(name="fleet")
def fixture_fleet():
    """Three workers and a server with nothing wrong."""
    names = ("gpu-1", "gpu-2", "gpu-3")
    return {
        "hosts": {**{name: host(name[-1]) for name in names}, "server": {"clock_offset_s": 0.0}},
        "gpus": {name: gpu() for name in names},
        "workers": {
            name: {"name": name, "ip": f"192.0.2.1{name[-1]}", "interface": "eth0", "expected_gpus": 2}
            for name in names
        },
        "server": {
            "url": "http://192.0.2.1",
            "version": "2.1.1",
            "supported_from": "2.1.1",
            "supported_below": "3",
        },
        "shared_memory_gib": 64,
        "ports": {"10150": "the worker's API", "41000-41009": "Ray"},
        "model_directories": [MODEL],
        "required_paths": {RUNTIME: "Install it."},
        "minimum_free_gib": {"/var/lib/docker": 40},
        "image_space_gib": 40,
        "minimum_memlock_mib": 64,
        "max_clock_skew_s": 5,
        "inventory": {
            "groups": {"gpustack_workers": list(names), "gpustack_servers": ["server"]},
            "variables": {"gpustack_worker_image": list(names)},
            "read": ["gpustack_worker_image", "gpustack_host"],
            "options": ["gpustack_worker_image", "gpustack_worker_ip"],
            "missing": {},
            "placeholders": {},
        },
    }


def short(problems):
    return [(each["code"], each["severity"], each["hosts"], each["found"]) for each in problems]


def test_a_fleet_with_nothing_wrong(fleet):
    assert problems_of(fleet) == []


def test_only_hosts_are_required():
    assert problems_of({"hosts": {"gpu-1": host(1)}}) == []


def change(path, value):
    """A function that sets one value deep in the fleet; a path ends in a key."""

    def apply(fleet):
        *parents, last = path
        for key in parents:
            fleet = fleet[key]
        fleet[last] = value

    return apply


RUNTIME = "/usr/bin/runtime"
HOST_2 = ("hosts", "gpu-2")
SERVER = ("server",)


@pytest.mark.parametrize(
    ("damage", "code", "severity", "hosts", "found"),
    [
        (
            change((*HOST_2, "shm_size_mib"), 64),
            "shared_memory_too_small", "error", ["gpu-2"], "/dev/shm of 64 MiB",
        ),
        (
            change((*HOST_2, "shm_size_mib"), None),
            "shared_memory_too_small", "error", ["gpu-2"], "no /dev/shm",
        ),
        (
            change((*HOST_2, "memory_total_mib"), 32000),
            "memory_smaller_than_shared_memory", "warning", ["gpu-2"], "31.2 GiB of memory",
        ),
        (
            change((*HOST_2, "memlock_limit_kib"), 64),
            "memlock_limit_low", "warning", ["gpu-2"], "a limit of 64 KiB of locked memory",
        ),
        (
            change((*HOST_2, "paths"), {RUNTIME: {"exists": False}}),
            "required_path_missing", "error", ["gpu-2"], "/usr/bin/runtime does not exist",
        ),
        (
            change((*HOST_2, "disk_free_gib"), {"/var/lib/docker": 39.9}),
            "disk_space_low", "error", ["gpu-2"], "39.9 GiB free for /var/lib/docker",
        ),
        (
            change((*HOST_2, "clock_offset_s"), 42.0),
            "clocks_differ", "error", ["gpu-2"],
            "clocks against the controller's: gpu-1 +0.1 s, gpu-2 +42.0 s, gpu-3 +0.1 s, server +0.0 s",
        ),
        (
            change((*HOST_2, "listening_ports"), {"10150": {"pid": 7, "process": "nginx", "container": None}}),
            "port_taken", "error", ["gpu-2"], "port 10150 is used by nginx",
        ),
        (
            change((*HOST_2, "listening_ports"), {"10150": {"pid": None, "process": None, "container": None}}),
            "port_taken", "error", ["gpu-2"], "port 10150 is used by a process that only root can see",
        ),
        (
            change(
                (*HOST_2, "listening_ports"),
                {port: {"pid": 7, "process": "raylet", "container": "my-ray"} for port in ("41001", "41000")},
            ),
            "port_taken", "error", ["gpu-2"], "port 41000, 41001 is used by raylet in the container my-ray",
        ),
        (
            change((*HOST_2, "interfaces"), {"eth0": ["198.51.100.2"], "eth1": ["192.0.2.12"], "ib0": []}),
            "worker_address_missing", "error", ["gpu-2"], "the host has eth0 198.51.100.2, eth1 192.0.2.12",
        ),
        (
            change((*HOST_2, "interfaces"), {}),
            "worker_address_missing", "error", ["gpu-2"], "the host has no addresses",
        ),
        (
            change((*HOST_2, "interface_mtu"), {"eth0": 9000}),
            "mtu_differs", "warning", ["gpu-1", "gpu-2", "gpu-3"], "MTU 1500 on gpu-1 gpu-3, MTU 9000 on gpu-2",
        ),
        (
            change(("workers", "gpu-2", "name"), "gpu-1"),
            "worker_name_duplicate", "error", ["gpu-1", "gpu-2"], "all have the worker name gpu-1",
        ),
        (
            change((*HOST_2, "product_uuid"), "uuid-1"),
            "product_uuid_duplicate", "error", ["gpu-1", "gpu-2"], "all have the product UUID uuid-1",
        ),
        (
            change((*HOST_2, "machine_id"), "machine-3"),
            "machine_id_duplicate", "warning", ["gpu-2", "gpu-3"], "all have the machine id machine-3",
        ),
        (
            change((*HOST_2, "problems"), [{"code": "container_engine_unreachable", "message": "m", "remedy": "r"}]),
            "container_engine_unreachable", "warning", ["gpu-2"], "m",
        ),
        (
            change((*HOST_2, "model_directories", MODEL, "problem"), "has no config.json"),
            "model_directory_unusable", "error", ["gpu-2"],
            f"{MODEL} has no config.json; it is all right on gpu-1, gpu-3",
        ),
        (
            change((*HOST_2, "model_directories"), {}),
            "model_directory_unusable", "error", ["gpu-2"],
            f"{MODEL} was not looked at; it is all right on gpu-1, gpu-3",
        ),
        (
            change((*HOST_2, "model_directories", MODEL, "missing_files"), ["a", "b", "c", "d", "e"]),
            "model_files_missing", "error", ["gpu-2"], f"{MODEL} lacks a, b, c and 2 more",
        ),
        (
            change((*HOST_2, "model_directories", MODEL, "config"), {**CONFIG, "max_position_embeddings": 131072}),
            "model_config_differs", "error", ["gpu-2"],
            f"config.json of {MODEL} is not the same everywhere: max_position_embeddings differ"
            " (gpu-1 gpu-3 against gpu-2)",
        ),
        (
            change((*HOST_2, "model_directories", MODEL, "weights_size_bytes"), 2**29),
            "model_weights_differ", "error", ["gpu-2"],
            f"the weights in {MODEL} are not of the same size everywhere: 1 GiB on gpu-1 gpu-3, 512 MiB on gpu-2",
        ),
        (
            change(("gpus", "gpu-2"), {"driver_version": None, "devices": [], "problems": []}),
            "gpu_missing", "error", ["gpu-2"], "no NVIDIA GPU",
        ),
        (
            change(
                ("gpus", "gpu-2", "devices", 1, "problems"),
                [{"code": "ecc", "message": "retired pages", "remedy": "r"}],
            ),
            "ecc", "warning", ["gpu-2"], "GPU 1 (Tesla V100-PCIE-32GB): retired pages",
        ),
        (
            change(("gpus", "gpu-2", "driver_version"), "580.65.06"),
            "driver_versions_differ", "warning", ["gpu-1", "gpu-2", "gpu-3"],
            "580.95.05 on gpu-1 gpu-3, 580.65.06 on gpu-2",
        ),
        (
            change(("gpus", "gpu-2", "driver_version"), "535.183.01"),
            "driver_branches_differ", "error", ["gpu-1", "gpu-2", "gpu-3"], "580 on gpu-1 gpu-3, 535 on gpu-2",
        ),
        (
            change(("workers", "gpu-2", "expected_gpus"), 4),
            "gpu_count_differs", "error", ["gpu-2"], "2 usable GPUs",
        ),
        (
            change(("gpus",), {"gpu-1": gpu(), "gpu-3": gpu()}),
            "gpu_facts_missing", "error", ["gpu-2"], "no GPU facts",
        ),
        (
            change((*SERVER, "version"), "2.0.3"),
            "server_unsupported", "error", [], "http://192.0.2.1 runs GPUStack 2.0.3",
        ),
        *(
            (
                change((*SERVER, "version"), version),
                "server_unsupported", "error", [], f"http://192.0.2.1 runs GPUStack {version}",
            )
            for version in ("v3.0.0rc1", "0.0.0", "main")
        ),
        (
            change((*SERVER, "declared"), "2.1.0"),
            "release_unreachable", "error", [], "http://192.0.2.1 runs GPUStack 2.1.1, and 2.1.0 is declared",
        ),
        (
            change((*SERVER, "declared"), "2.2.0"),
            "release_unreachable", "error", [], "http://192.0.2.1 runs GPUStack 2.1.1, and 2.2.0 is declared",
        ),
        (
            lambda fleet: (
                change((*SERVER, "declared"), "2.3.0")(fleet),
                change(("workers", "gpu-1", "release"), "2.3.0")(fleet),
                change(("workers", "gpu-2", "release"), "2.1.1")(fleet),
            ),
            "worker_release_differs", "error", ["gpu-2"], "GPUStack 2.1.1 is declared for the worker",
        ),
        (
            change((*SERVER, "problem"), "it refuses the credentials"),
            "server_refuses", "error", [], "it refuses the credentials",
        ),
        (
            change(("server",), {"url": "http://192.0.2.1", "version": None, "problem": "connection refused"}),
            "server_unreachable", "error", [], "http://192.0.2.1 does not answer: connection refused",
        ),
        (
            change(("server",), {"version": None, "trusted": False, "problem": "it is self-signed. Name its file."}),
            "server_untrusted", "error", [], "it is self-signed",
        ),
    ],
)  # fmt: skip
def test_one_thing_wrong_is_one_problem(fleet, damage, code, severity, hosts, found):
    damage(fleet)
    problems = [
        each for each in problems_of(fleet) if not (code == "gpu_missing" and each["code"] == "gpu_count_differs")
    ]
    assert short(problems) == [(code, severity, hosts, found)]
    assert all(problems[0][key] for key in ("title", "wanted", "remedy"))


@pytest.mark.parametrize("facts", [None, {}])
def test_a_worker_without_facts(fleet, facts):
    fleet["hosts"]["gpu-2"] = facts
    assert short(problems_of(fleet)) == [("facts_missing", "error", ["gpu-2"], "no facts")]
    del fleet["hosts"]["gpu-2"]
    assert short(problems_of(fleet)) == [("facts_missing", "error", ["gpu-2"], "no facts")]


@pytest.mark.parametrize("facts", [None, {}])
def test_a_worker_without_gpu_facts(fleet, facts):
    fleet["gpus"]["gpu-2"] = facts
    assert short(problems_of(fleet)) == [("gpu_facts_missing", "error", ["gpu-2"], "no GPU facts")]


def test_what_the_run_is_going_to_bring_is_not_missed_yet(fleet):
    missing = {"code": "driver_missing", "message": "no driver", "remedy": "install one"}
    fleet["gpus"]["gpu-2"] = {"driver_version": None, "devices": [], "problems": [missing]}
    fleet["required_paths"] = {"/usr/bin/nvidia-container-runtime": "install it"}
    for name in ("gpu-1", "gpu-3"):
        fleet["hosts"][name]["paths"] = {"/usr/bin/nvidia-container-runtime": {"exists": True}}
    fleet["hosts"]["gpu-2"]["shm_size_mib"] = 64
    assert [one["code"] for one in problems_of(fleet)] == [
        "shared_memory_too_small",
        "required_path_missing",
        "driver_missing",
        "gpu_count_differs",
    ]
    fleet.update(awaiting_stack=["gpu-2"], awaiting_driver=["gpu-2"])
    assert [one["code"] for one in problems_of(fleet)] == ["shared_memory_too_small"]


def test_a_driver_that_works_is_judged_although_it_is_going_to_change(fleet):
    fleet.update(awaiting_stack=["gpu-2"])
    fleet["gpus"]["gpu-2"]["driver_version"] = "570.10"
    assert [one["code"] for one in problems_of(fleet)] == ["driver_branches_differ"]


def test_a_lost_gpu_brings_its_own_code_and_shows_in_the_count(fleet):
    problem = {"code": "device_lost", "message": "fell off the bus", "remedy": "reboot"}
    fleet["gpus"]["gpu-2"]["devices"][1].update(usable=False, problems=[problem])
    assert short(problems_of(fleet)) == [
        ("device_lost", "error", ["gpu-2"], "GPU 1 (Tesla V100-PCIE-32GB): fell off the bus"),
        ("gpu_count_differs", "error", ["gpu-2"], "1 usable GPU"),
    ]


def test_a_card_that_works_and_ails_is_a_warning_and_told_once(fleet):
    ailment = {"code": "sensor_error", "message": "A sensor of GPU 1 cannot be read", "remedy": "Look at the fan."}
    fleet["gpus"]["gpu-2"]["devices"][1]["problems"] = [ailment]
    fleet["gpus"]["gpu-2"]["problems"] = [ailment]
    assert short(problems_of(fleet)) == [
        ("sensor_error", "warning", ["gpu-2"], "GPU 1 (Tesla V100-PCIE-32GB): A sensor of GPU 1 cannot be read")
    ]


def test_a_driver_problem_is_not_also_a_missing_gpu(fleet):
    fleet["gpus"]["gpu-2"].update(
        devices=[], driver_version=None, problems=[{"code": "driver_missing", "message": "m", "remedy": "r"}]
    )
    fleet["workers"]["gpu-2"]["expected_gpus"] = None
    assert short(problems_of(fleet)) == [("driver_missing", "error", ["gpu-2"], "m")]


@pytest.mark.parametrize("container", ["gpustack-worker", "m-aB3dE-run-0"])
def test_ports_of_gpustack_itself_are_not_taken(fleet, container):
    fleet["hosts"]["gpu-2"]["listening_ports"] = {"41000": {"pid": 7, "process": "raylet", "container": container}}
    assert problems_of(fleet) == []


def test_a_container_of_an_engine_that_is_down_may_be_ours_and_a_process_of_the_host_is_not(fleet):
    facts = fleet["hosts"]["gpu-2"]
    facts["containers"] = None
    facts["listening_ports"] = {
        "10150": {"pid": 7, "process": "python3 gpustack", "container": "ab" * 32},
        "41000": {"pid": 8, "process": "raylet", "container": None},
    }
    assert short(problems_of(fleet)) == [("port_taken", "error", ["gpu-2"], "port 41000 is used by raylet")]


def test_ports_of_the_server_are_looked_at_on_its_host_only(fleet):
    fleet["server"].update(host="server", ports={"80": "the GPUStack server"})
    nginx = {"80": {"pid": 7, "process": "nginx", "container": None}}
    fleet["hosts"]["gpu-2"]["listening_ports"] = fleet["hosts"]["server"]["listening_ports"] = nginx
    assert short(problems_of(fleet)) == [("port_taken", "error", ["server"], "port 80 is used by nginx")]


def test_a_server_that_is_not_there_yet_is_not_asked_for_its_version(fleet):
    fleet["server"] = {"host": "server", "ports": {"80": "the GPUStack server"}}
    assert problems_of(fleet) == []


def test_ports_that_nobody_asked_about_are_not_taken(fleet):
    fleet["hosts"]["gpu-2"]["listening_ports"] = {"22": {"pid": 7, "process": "sshd", "container": None}}
    assert problems_of(fleet) == []


def test_a_worker_without_a_pinned_address_is_not_checked_for_one(fleet):
    fleet["workers"]["gpu-2"] = {"name": "gpu-2"}
    assert problems_of(fleet) == []


def test_the_same_address_for_two_workers(fleet):
    fleet["workers"]["gpu-2"]["ip"] = "192.0.2.11"
    codes = [each["code"] for each in problems_of(fleet)]
    assert codes == ["worker_address_duplicate", "worker_address_missing"]


def test_a_host_without_a_worker_needs_room_for_its_images(fleet):
    facts = fleet["hosts"]["gpu-2"]
    facts["container_storage"]["free_gib"] = 39.5
    assert problems_of(fleet) == []  # its worker runs, so the images are there
    for containers in (None, {}, {"other": {"workload": None}}):
        facts.update(containers=containers, listening_ports={})
        assert short(problems_of(fleet)) == [
            ("image_space_low", "error", ["gpu-2"], "39.5 GiB free for images in /data/docker")
        ]


@pytest.mark.parametrize(("devices", "codes"), [([], []), (["mlx5_0"], ["memlock_limit_low"])])
def test_without_a_minimum_locked_memory_counts_where_there_are_rdma_devices(fleet, devices, codes):
    fleet["minimum_memlock_mib"] = None
    fleet["hosts"]["gpu-2"].update(rdma_devices=devices, memlock_limit_kib=8192)
    assert [each["code"] for each in problems_of(fleet)] == codes


def test_unknown_identities_are_not_the_same_one(fleet):
    for facts in fleet["hosts"].values():
        facts.update(product_uuid=None, machine_id=None)
    assert problems_of(fleet) == []


def test_a_model_that_is_nowhere(fleet):
    for name in fleet["workers"]:
        fleet["hosts"][name]["model_directories"][MODEL] = {
            "config": None, "weights_size_bytes": None, "missing_files": [], "problem": "does not exist",
        }  # fmt: skip
    (problem,) = problems_of(fleet)
    assert problem["hosts"] == ["gpu-1", "gpu-2", "gpu-3"]
    assert problem["found"] == f"{MODEL} does not exist"
    assert problem["remedy"] == f"Put the model's files into {MODEL} on every worker."


def test_of_two_hosts_that_differ_neither_is_the_right_one(fleet):
    del fleet["workers"]["gpu-3"]
    fleet["hosts"]["gpu-2"]["model_directories"][MODEL]["config"] = {"model_type": "llama"}
    (problem,) = problems_of(fleet)
    assert problem["hosts"] == ["gpu-1", "gpu-2"]
    assert "max_position_embeddings, model_type differ (gpu-1 against gpu-2)" in problem["found"]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ({"a": 0, "b": 20}, [("clocks_differ", ["a", "b"])]),
        ({"a": 0, "b": 0, "c": 20}, [("clocks_differ", ["c"])]),
        ({"a": -60, "b": -60.5}, [("controller_clock_differs", [])]),
        ({"a": 60}, [("controller_clock_differs", [])]),
        ({"a": 60, "b": 60, "c": 0}, [("clocks_differ", ["c"]), ("controller_clock_differs", [])]),
        ({"a": 4, "b": -1}, []),
        ({"a": 5.5, "b": 0}, []),  # the measurement may be off by 0.3 s on each side
        ({"a": None, "b": 0}, []),
        ({}, []),
    ],
)
def test_clocks(offsets, expected):
    hosts = {name: {"clock_offset_s": offset, "clock_uncertainty_s": 0.3} for name, offset in offsets.items()}
    problems = problems_of({"hosts": hosts, "max_clock_skew_s": 5})
    assert [(each["code"], each["hosts"]) for each in problems] == expected


def test_everything_at_once_errors_first_same_findings_together(fleet):
    for name in ("gpu-3", "gpu-1"):
        fleet["hosts"][name]["shm_size_mib"] = 64
    fleet["hosts"]["gpu-2"]["machine_id"] = "machine-1"
    fleet["workers"]["gpu-2"]["name"] = "gpu-1"
    assert [(each["code"], each["hosts"]) for each in problems_of(fleet)] == [
        ("worker_name_duplicate", ["gpu-1", "gpu-2"]),
        ("shared_memory_too_small", ["gpu-1", "gpu-3"]),
        ("machine_id_duplicate", ["gpu-1", "gpu-2"]),
    ]


def test_facts_stay_as_they_are(fleet):
    before = copy.deepcopy(fleet)
    problems_of(fleet)
    assert fleet == before


@pytest.mark.parametrize(
    ("fleet", "message"),
    [
        ({}, "the key hosts is missing"),
        ({"hosts": {}, "port": {}}, "unknown keys port: wanted are hosts, gpus, workers"),
        ({"hosts": []}, "hosts is a list: a dictionary is wanted"),
        ({"hosts": {"a": {"listening_ports": {"1": {}}}}, "workers": {"a": {}}, "ports": {"x": "y"}}, "'x' is no port"),
    ],
)
def test_a_fleet_of_another_shape_is_refused(fleet, message):
    with pytest.raises(ValueError, match=message):
        problems_of(fleet)


def test_every_check_has_a_code_and_a_title_of_its_own():
    assert len({check.code for check in CHECKS}) == len({check.title for check in CHECKS}) == len(CHECKS)
    assert {check.severity for check in CHECKS} == {"error", "warning"}


PROBLEM = {
    "code": "shared_memory_too_small",
    "severity": "error",
    "hosts": ["gpu-2"],
    "title": "/dev/shm is too small",
    "found": "/dev/shm of 64 MiB",
    "wanted": "64 GiB",
    "remedy": "first line\nsecond line",
}
WARNING = {**PROBLEM, "severity": "warning", "hosts": ["gpu-1"]}
OF_THE_FLEET = {**PROBLEM, "hosts": []}


def test_text_of_a_problem():
    assert text_of([PROBLEM], ["gpu-1", "gpu-2"]) == (
        "1 problem on 1 of 2 hosts, nothing was changed\n"
        "\n"
        "  gpu-2: /dev/shm is too small [error: shared_memory_too_small]\n"
        "    found   /dev/shm of 64 MiB\n"
        "    wanted  64 GiB\n"
        "    remedy  first line\n"
        "            second line"
    )


@pytest.mark.parametrize(
    ("problems", "hosts", "first_line"),
    [
        ([], ["a", "b"], "2 hosts ready: no problems found"),
        ([], ["a"], "1 host ready: no problems found"),
        ([WARNING], ["a", "b"], "2 hosts ready, with 1 warning"),
        ([PROBLEM, PROBLEM], ["a", "b"], "2 problems on 1 of 2 hosts, nothing was changed"),
        ([PROBLEM, WARNING, WARNING], ["a", "b"], "1 problem and 2 warnings on 2 of 2 hosts, nothing was changed"),
        ([OF_THE_FLEET], ["a", "b"], "1 problem, nothing was changed"),
    ],
)
def test_the_first_line_says_how_it_ended(problems, hosts, first_line):
    assert text_of(problems, hosts).splitlines()[0] == first_line


@pytest.mark.parametrize(
    ("so_far", "first_line"),
    [
        ("packages are installed", "1 problem on 1 of 2 hosts, packages are installed"),
        ("", "1 problem on 1 of 2 hosts"),
    ],
)
def test_the_first_line_says_what_was_changed_before(so_far, first_line):
    assert text_of([PROBLEM], ["a", "b"], so_far).splitlines()[0] == first_line


def test_a_problem_of_the_fleet_names_no_host():
    assert text_of([OF_THE_FLEET], []).splitlines()[2] == "  /dev/shm is too small [error: shared_memory_too_small]"


@pytest.mark.parametrize(
    ("problems", "consequence", "line"),
    [
        ([], "nothing was changed", ""),
        ([WARNING], "nothing was changed", ""),
        (
            [PROBLEM],
            "nothing was changed",
            "Nothing was changed: gpu-2: /dev/shm of 64 MiB. first line second line",
        ),
        (
            [WARNING, OF_THE_FLEET, PROBLEM],
            "the NVIDIA stack is installed on a, nothing of GPUStack was changed",
            "The NVIDIA stack is installed on a, nothing of GPUStack was changed, for 2 problems. The first: "
            "/dev/shm of 64 MiB. first line second line",
        ),
    ],
)
def test_the_line_that_stops_a_run_has_the_first_error_and_its_remedy(problems, consequence, line):
    assert line_of(problems, consequence) == line


def test_what_the_templates_of_the_oldest_ansible_core_make_of_numbers_and_nulls():
    fleet = {
        "hosts": {"a": {"shm_size_mib": 64}},
        "gpus": {"a": {"devices": [{"index": 0, "name": "Tesla V100-PCIE-32GB"}]}},
        "workers": {"a": {"name": "a", "ip": "", "expected_gpus": ""}},
        "server": "",
        "shared_memory_gib": "64.0",
        "image_space_gib": "40.0",
    }
    assert [problem["code"] for problem in problems_of(fleet)] == ["shared_memory_too_small"]


def test_what_nobody_needs_to_know_of_gpus_is_a_warning(fleet):
    """In a virtual machine nvidia-smi often knows no topology."""
    said = {"code": "topology_unavailable", "message": "nvidia-smi topo -m gives nothing", "remedy": "r"}
    fleet["gpus"]["gpu-2"]["problems"] = [said]
    assert short(problems_of(fleet)) == [("topology_unavailable", "warning", ["gpu-2"], said["message"])]
