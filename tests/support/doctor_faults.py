# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults to stage on the demo fleet: what breaks it, what the doctor must name first, and what makes it whole again."""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo_fleet import SERVER_URL, Fleet, engine_containers, on_host, site, wait_for

A, B, SERVER = "gpu-worker-a", "gpu-worker-b", "gpustack-server"
MODEL = "qwen2.5-14b-instruct"
DIRECTORY = "/var/lib/models/Qwen2.5-14B-Instruct"
DAEMON_JSON = "/etc/docker/daemon.json"
PROFILE = "/etc/gpu-bench/profile.json"
SKEW = "/usr/lib/python3/dist-packages/skewed.pth"
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
BY_HAND = "by-hand"
REGISTRY = "gpuops-bench-registry"
# The field report's "before" column.
PIPELINE = ["--tensor-parallel-size=2", "--pipeline-parallel-size=2", "--distributed-executor-backend=ray"]


@dataclass(frozen=True)
class Fault:
    """``stage`` and ``undo`` are shell commands on ``host``, or functions; ``arguments`` go to ansible-playbook."""

    name: str
    code: str
    hosts: list[str]
    stage: str | Callable[[], None] = "true"
    undo: str | Callable[[], None] = "true"
    host: str = B
    arguments: tuple[str, ...] = ()
    found: str = ""
    healthy_again: Callable[[], None] = lambda: None

    @contextmanager
    def staged(self) -> Iterator[None]:
        try:
            self._do(self.stage)
            yield
        finally:
            self._do(self.undo)
            self.healthy_again()

    def _do(self, action: str | Callable[[], None]) -> None:
        if callable(action):
            action()
        else:
            on_host(self.host, action)


def doctor(
    directory: Path, *arguments: str, since: str = "1h"
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The user's command, and the data that it left."""
    settings = {"gpustack_doctor_directory": str(directory), "gpustack_doctor_logs_since": since}
    run = site("--extra-vars", json.dumps(settings), *arguments, playbook="playbooks/doctor.yml")
    report = directory / "doctor.json"
    assert report.exists(), run.stdout[-4000:] + run.stderr[-2000:]
    return run, json.loads(report.read_text())


def now() -> str:
    """The moment as the hosts' clocks have it: what logs said before it belongs to an earlier fault."""
    return on_host(SERVER, "date -u +%Y-%m-%dT%H:%M:%SZ").strip()


def workers_ready() -> None:
    wait_for(
        lambda: [worker["state"] for worker in Fleet().items("/v2/workers")] == ["ready", "ready"], "ready workers", 240
    )


def server_ready() -> None:
    wait_for(_answers, "the server", 240)
    workers_ready()


def _answers() -> bool:
    try:
        return Fleet().request("GET", "/readyz", timeout_seconds=5).ok
    except OSError:
        return False


def fleet_as_declared() -> None:
    """Everything as ``make demo`` leaves it."""
    server_ready()
    run = site()
    assert run.returncode == 0, run.stdout[-5000:]


def engine_runs_again() -> None:
    server_ready()
    wait_for(
        lambda: {instance["state"] for instance in Fleet().instances(MODEL)} == {"running"}, "the engine to run", 400
    )


def deploy_by_hand(directory: str, parameters: list[str], state: str) -> None:
    fleet = Fleet()
    fleet.delete_all_models()
    fleet.deploy(BY_HAND, directory, backend_parameters=parameters)
    wait_for(
        lambda: any(instance["state"] == state for instance in fleet.instances(BY_HAND)), f"a state {state}", 240, 0.5
    )


def crash_pipeline() -> None:
    """The engine of the field report, after the first chat."""
    deploy_by_hand("Qwen2.5-14B-Instruct", PIPELINE, "running")
    Fleet().chat_when_routed(BY_HAND, "Hello?", max_tokens=200)
    wait_for(lambda: any(one["restart_count"] for one in Fleet().instances(BY_HAND)), "a restart", 180, 1)
    wait_for(engine_containers, "the next start", 120)


def register_twice() -> None:
    """A second entry for the host of worker b, as a worker with another name and an empty volume leaves it."""
    fleet = Fleet()
    cluster = fleet.items("/v2/clusters")[0]
    token = fleet.request("GET", f"/v2/clusters/{cluster['id']}/registration-token").json()["token"]
    worker = next(worker for worker in fleet.items("/v2/workers") if worker["name"] == B)
    fields = ("hostname", "ip", "ifname", "port", "metrics_port", "system_reserved", "status")
    body = {
        **{name: worker.get(name) for name in fields},
        "name": "gpu-worker-b-old",
        "worker_uuid": "11111111-2222-4333-8444-555555555555",
        "external_id": None,
        "cluster_id": cluster["id"],
    }
    fleet.session.auth = None
    answer = fleet.request("POST", "/v2/workers", json=body, headers={"Authorization": f"Bearer {token}"})
    assert answer.ok, answer.text


def unregister_second() -> None:
    fleet = Fleet()
    for worker in fleet.items("/v2/workers"):
        if worker["name"] == "gpu-worker-b-old":
            fleet.request("DELETE", f"/v2/workers/{worker['id']}").raise_for_status()


def docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True)


@contextmanager
def untrusted_server(directory: Path) -> Iterator[str]:
    """A server behind a certificate of its own that nobody trusts."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _edit_json(path: str, statement: str) -> str:
    """Shell that keeps the file, then changes the dictionary ``d`` in it."""
    return (
        f"cp -p {path} {path}.kept && python3 -c \"import json; d = json.load(open('{path}')); {statement}; "
        f"json.dump(d, open('{path}', 'w'))\""
    )


def _restore(path: str) -> str:
    return f"cat {path}.kept > {path} && rm {path}.kept"


_DECLARED_SHORTER = json.dumps(
    {
        "gpustack_models_declared": [
            {
                "name": MODEL,
                "gpus": 4,
                "context": 32768,
                "tools": True,
                "concurrency": 4,
                "source": {"local_path": DIRECTORY},
            }
        ]
    }
)
_EXTRA = ("--extra-vars",)
_NOTHING_DECLARED = (*_EXTRA, '{"gpustack_models_declared": []}')

QUICK = [
    Fault("daemon.json without the runtime", "container_runtime_missing", [B],
          _edit_json(DAEMON_JSON, "d.pop('runtimes')"), _restore(DAEMON_JSON)),
    Fault("small shared memory", "shared_memory_too_small", [A],
          "mount -o remount,size=1g /dev/shm", "mount -o remount,size=64g /dev/shm", A),
    Fault("model directory wrong on a follower", "model_directory_unusable", [B],
          f"mv {DIRECTORY} {DIRECTORY}.away", f"mv {DIRECTORY}.away {DIRECTORY}"),
    Fault("worker container stopped", "worker_container_stopped", [B],
          "docker stop gpustack-worker", "docker start gpustack-worker", healthy_again=workers_ready),
]  # fmt: skip

FAULTS = [
    *QUICK,
    Fault("daemon.json no JSON", "container_engine_configuration_broken", [B],
          f"cp -p {DAEMON_JSON} {DAEMON_JSON}.kept && echo , >> {DAEMON_JSON}", _restore(DAEMON_JSON)),
    Fault("disk full", "disk_space_low", [A],
          "mount -t tmpfs -o size=16m tmpfs /var/log && ! dd if=/dev/zero of=/var/log/full bs=1M 2>/dev/null",
          "umount /var/log", A),
    Fault("clock skewed", "clocks_differ", [B],
          f"echo 'import time; time.time = lambda real=time.time: real() + 300' > {SKEW}", f"rm {SKEW}"),
    Fault("card gone", "gpu_not_driven", [B],
          _edit_json(PROFILE, "d['gpus'].pop()"), _restore(PROFILE),
          arguments=("--extra-vars", "gpustack_worker_expected_gpus=2")),
    Fault("memory errors of a card", "memory_errors", [A],
          _edit_json(PROFILE, "d['gpus'][1]['uncorrected_errors'] = 2"), _restore(PROFILE), A,
          found="2 since the driver"),
    Fault("card too hot", "slowed_by_heat", [B],
          _edit_json(PROFILE, "d['gpus'][0]['slowed_by'] = 'HW Thermal Slowdown'"), _restore(PROFILE)),
    Fault("card off the bus", "gpu-off-the-bus", [A], f"logger --tag kernel '{XID}'", host=A),
    Fault("wrong interface", "worker_address_missing", [A], arguments=(*_EXTRA, "gpustack_worker_interface=eth9")),
    Fault("wrong password", "server_refuses", [], arguments=(*_EXTRA, "gpustack_server_admin_password=wrong")),
    Fault("old engine configuration", "engine_differs", [], arguments=("--extra-vars", _DECLARED_SHORTER),
          found="--max-model-len"),
    Fault("config.json missing", "model_directory_unusable", [B], f"mv {DIRECTORY}/config.json /root/config.json",
          f"mv /root/config.json {DIRECTORY}/config.json"),
    Fault("registry dead", "registry_unreachable", [SERVER], lambda: docker("stop", REGISTRY),
          lambda: docker("start", REGISTRY)),
    Fault("port blocked", "connection_blocked", [A], "iptables -I INPUT -p tcp --dport 10150 -s 172.30.0.11 -j DROP",
          "iptables -D INPUT -p tcp --dport 10150 -s 172.30.0.11 -j DROP", healthy_again=workers_ready),
    Fault("host unreachable", "host_unreachable", [B], "systemctl stop ssh; pkill -f '[s]shd: operator' || true",
          "systemctl start ssh"),
    Fault("duplicate worker", "worker_duplicate", [B], register_twice, unregister_second, healthy_again=workers_ready),
    Fault("wrong runtime", "worker_differs", [B],
          "docker stop gpustack-worker && docker rename gpustack-worker kept && "
          "docker run --detach --name gpustack-worker --runtime runc --network host "
          "--entrypoint sleep $(docker inspect --format '{{.Image}}' kept) infinity",
          "docker rm --force gpustack-worker && docker rename kept gpustack-worker && docker start gpustack-worker",
          found="runtime runc", healthy_again=workers_ready),
    Fault("server stopped", "server_container_stopped", [SERVER], "docker stop gpustack-server",
          "docker start gpustack-server", SERVER, healthy_again=server_ready),
    Fault("Docker stopped", "container_engine_down", [B], "systemctl stop docker.socket docker.service",
          "systemctl start docker.service docker.socket", healthy_again=engine_runs_again),
    Fault("engine crashes between pipeline stages", "pipeline_parallel_on_old_cards", [], crash_pipeline,
          lambda: Fleet().delete_all_models(), arguments=_NOTHING_DECLARED, found="--pipeline-parallel-size=2"),
]  # fmt: skip

__all__ = ["FAULTS", "QUICK", "SERVER_URL", "Fault", "doctor", "fleet_as_declared", "now", "untrusted_server"]
