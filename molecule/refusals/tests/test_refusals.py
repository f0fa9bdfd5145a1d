# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator gets wrong: each time one clear error with the remedy, and nothing changed; and what only looks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from demo_fleet import Fleet, on_host, site

HOSTS = ("gpustack-server", "gpu-worker-a", "gpu-worker-b")
MODEL_DIRECTORY = "/var/lib/models/Qwen2.5-14B-Instruct"


def state_of_the_fleet() -> dict[str, Any]:
    """Everything a run could have changed: containers, configuration files, models and instances."""
    look = "docker inspect $(docker ps -aq) --format '{{.Name}} {{.Id}} {{.State.StartedAt}}' | sort; "
    look += "sha256sum /etc/docker/daemon.json /etc/gpustack-*/config.yaml"
    fleet = Fleet()
    models = [{key: model[key] for key in ("name", "env", "backend_parameters")} for model in fleet.items("/v2/models")]
    instances = [(instance["name"], instance["state"]) for instance in fleet.items("/v2/model-instances")]
    return {"hosts": {host: on_host(host, look) for host in HOSTS}, "models": models, "instances": instances}


@pytest.fixture(autouse=True, name="untouched")
def fixture_untouched() -> Iterator[None]:
    before = state_of_the_fleet()
    yield
    assert state_of_the_fleet() == before


def refused(run: subprocess.CompletedProcess[str], *texts: str) -> None:
    output = re.sub(r"\s+", " ", run.stdout + run.stderr)
    assert run.returncode != 0, output
    for text in texts:
        assert text in output, f"no {text!r} in:\n{run.stdout}\n{run.stderr}"
    assert "Traceback" not in output
    assert "Error while evaluating" not in output
    assert set(re.findall(r"changed=(\d+)", output)) <= {"0"}, output


def declared(**changes: Any) -> str:
    model = {"name": "qwen2.5-14b-instruct", "source": {"local_path": MODEL_DIRECTORY}, "gpus": 4, **changes}
    return json.dumps({"gpustack_models_declared": [model]})


@contextmanager
def server_of_release(version: str) -> Iterator[str]:
    """The address of something that calls itself GPUStack of this release."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"version": version, "git_commit": ""}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_wrong_password() -> None:
    run = site("--extra-vars", "gpustack_server_admin_password=not-the-password")
    refused(run, "refuses the credentials", "Check them with a log-in to the web page")
    assert "not-the-password" not in run.stdout + run.stderr


def test_unreachable_server() -> None:
    run = site("--extra-vars", "gpustack_server_url=http://127.0.0.1:9")
    refused(run, "http://127.0.0.1:9 does not answer", "Correct gpustack_server_url, or start the server.")


def test_server_of_an_unknown_release() -> None:
    with server_of_release("v9.9.9") as url:
        run = site("--extra-vars", f"gpustack_server_url={url}")
    refused(run, "runs GPUStack v9.9.9", "a release from 2.1.1 and below", "Upgrade the server, or use a release")


def test_model_directory_missing_on_the_second_host() -> None:
    on_host("gpu-worker-b", f"mv {MODEL_DIRECTORY} {MODEL_DIRECTORY}.away")
    try:
        run = site()
    finally:
        on_host("gpu-worker-b", f"mv {MODEL_DIRECTORY}.away {MODEL_DIRECTORY}")
    refused(run, "gpu-worker-b: a model is missing", "it is all right on gpu-worker-a", f"Copy {MODEL_DIRECTORY} from")


@pytest.mark.parametrize("spelling", ["--pipeline-parallel-size=2", "-pp 2", "--pipeline_parallel_size=2"])
def test_pipeline_parallelism_on_volta(spelling: str) -> None:
    run = site("--extra-vars", declared(backend_parameters=[spelling]))
    refused(run, "volta-no-pipeline-parallel")


def test_override_does_not_bring_pipeline_parallelism_back() -> None:
    run = site(
        "--extra-vars",
        declared(backend_parameters=["--pipeline-parallel-size=2"], override=["volta-no-pipeline-parallel"]),
    )
    refused(run, "rule volta-no-pipeline-parallel cannot be lifted")


def test_unknown_flag() -> None:
    run = site("--extra-vars", declared(backend_parameters=["--max-modle-len=4096"]))
    refused(run, "--max-modle-len", "--max-model-len")


def test_typo_in_a_declared_model() -> None:
    run = site("--extra-vars", declared(contxt=4096))
    refused(run, "contxt", "context")


def test_no_room_for_a_model_that_is_downloaded() -> None:
    small = "/mnt/small"
    for host in HOSTS[1:]:
        on_host(host, f"mkdir {small} && mount -t tmpfs -o size=1g tmpfs {small}")
    try:
        models = json.loads(declared(source={"huggingface_repo_id": "Qwen/Qwen2.5-14B-Instruct"}))
        run = site("--extra-vars", json.dumps({**models, "gpustack_worker_data_volume": small}))
    finally:
        for host in HOSTS[1:]:
            on_host(host, f"umount {small} && rmdir {small}")
    refused(
        run,
        "gpu-worker-a, gpu-worker-b: too little disk space for models",
        f"1 GiB free in {small}",
        "at least 27.6 GiB, for what is still to be downloaded: Qwen/Qwen2.5-14B-Instruct with 27.6 GiB",
    )


def test_shared_memory_of_a_host_smaller_than_the_promise() -> None:
    run = site("--extra-vars", "gpustack_preflight_shared_memory_gib=128")
    refused(run, "gpu-worker-a, gpu-worker-b", "/dev/shm", "128 GiB")


def test_container_runtime_missing_on_the_second_host() -> None:
    runtime = "/usr/bin/nvidia-container-runtime"
    on_host("gpu-worker-b", f"mv {runtime} {runtime}.away")
    try:
        run = site()
    finally:
        on_host("gpu-worker-b", f"mv {runtime}.away {runtime}")
    refused(run, f"found {runtime} does not exist", "Install NVIDIA's container toolkit")


@contextmanager
def firewall(host: str, *rules: str) -> Iterator[None]:
    """These iptables rules for what comes in."""
    try:
        for rule in rules:
            on_host(host, f"iptables -A INPUT -p tcp {rule}")
        yield
    finally:
        for rule in rules:
            on_host(host, f"iptables -D INPUT -p tcp {rule}")


def test_firewall_between_workers() -> None:
    peer = "-s 172.30.0.11"
    with firewall(
        "gpu-worker-b",
        f"{peer} --dport 41500:41600 -j DROP",
        f"{peer} --dport 40000:40063 -j REJECT",
        f"{peer} --dport 60000:60031 -j REJECT --reject-with tcp-reset",
        f"{peer} --dport 10151 -j REJECT --reject-with icmp-host-prohibited",
    ):
        run = site("--extra-vars", "gpustack_preflight_connectivity=always", playbook="playbooks/preflight.yml")
    place = "gpu-worker-b (172.30.0.12)"
    refused(
        run,
        f"{place} does not answer gpu-worker-a on port 41500-41600 (Ray): a firewall drops",
        "60000-60031 (NCCL and Gloo): a firewall rejects",
        f"{place} is unreachable for gpu-worker-a on port 10151 (worker metrics)",
        "Let TCP from 172.30.0.11 pass on gpu-worker-b",
    )
    # Linux answers only some of them with an ICMP message, and all of them are rejected.
    assert re.search(r"refuses gpu-worker-a on port 40000-40063 \(engines\)", re.sub(r"\s+", " ", run.stdout))
    assert "gpu-worker-a (172.30.0.11)" not in run.stdout


def test_nothing_is_left_of_a_look_at_the_connections() -> None:
    run = site("--extra-vars", "gpustack_preflight_connectivity=always", playbook="playbooks/preflight.yml")
    assert run.returncode == 0, run.stdout[-3000:]
    assert on_host("gpu-worker-a", "ss -Hlx | grep gpuops || true") == ""


def test_engine_image_without_code_for_the_cards() -> None:
    stock = "localhost/stock-runner:test"
    for host in HOSTS[1:]:
        runner = on_host(host, "docker images --format '{{.ID}}' '*/gpustack/runner' | head -1").strip()
        on_host(
            host,
            f"made=$(docker create {runner} true) && "
            f"docker commit --change 'ENV BENCH_ARCHITECTURES=\"sm_75 sm_80 sm_90\"' $made {stock} && docker rm $made",
        )
    try:
        run = site("--extra-vars", json.dumps({"gpustack_preflight_engine_images": {"0.17.1": stock}}))
    finally:
        for host in HOSTS[1:]:
            on_host(host, f"docker rmi {stock}")
    refused(
        run,
        "gpu-worker-a, gpu-worker-b: the engine's image has no code for a card",
        f"torch in {stock} is built for sm_75, sm_80, sm_90",
        "sm_70, for Tesla V100-PCIE-32GB",
        "0.17.1-custom",
        "no model was changed",
    )


def test_misspelt_variable() -> None:
    run = site("--extra-vars", "gpustack_worker_imgae=x")
    refused(run, "nobody reads gpustack_worker_imgae", "did you mean gpustack_worker_image?")


def test_untouched_example() -> None:
    run = site(inventory="inventories/example")
    refused(
        run,
        "ansible_host, gpustack_worker_ip",
        "still have the values of inventories/example",
        "cp -r inventories/example",
    )


def test_misspelt_group(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("gpustack_worker:\n  hosts:\n    a:\n")
    run = site(inventory=str(tmp_path / "hosts.yml"))
    refused(run, "no group gpustack_workers", "Rename the group gpustack_worker to gpustack_workers.")


def test_inventory_without_hosts(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all:\n  hosts: {}\n")
    refused(site(inventory=str(tmp_path / "hosts.yml")), "the inventory has no hosts", "-i inventories/mine")


def test_unreachable_host(tmp_path: Path) -> None:
    (tmp_path / "away.yml").write_text(
        "gpustack_workers:\n  hosts:\n    gpu-worker-b:\n      ansible_host: 172.30.0.99\n"
    )
    run = site("-i", str(tmp_path / "away.yml"))
    refused(run, "172.30.0.99", "gpu-worker-b", "Nothing was changed", "could not be looked at, for the reason above")


def test_plan_alone_writes_page_and_data_and_changes_no_host(tmp_path: Path) -> None:
    run = site("--extra-vars", f"gpustack_models_plan_directory={tmp_path}", playbook="playbooks/plan.yml")
    assert run.returncode == 0, run.stdout[-3000:]
    assert "1 model planned, it fits" in run.stdout
    assert "Nothing changed: this playbook only looks." in run.stdout
    plan = json.loads((tmp_path / "plan.json").read_text())["qwen2.5-14b-instruct"]
    assert plan["tensor_parallel_size"] == 4
    assert "--tensor-parallel-size=4" in (tmp_path / "plan.html").read_text()
