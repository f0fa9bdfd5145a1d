# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUStack's server and workers: their containers, and what the server knows of the workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .finding import Evidence, Finding, Layer, Look
from .signature import WARNING

_RUN_SITE = "Run site.yml."
_MARKUP = re.compile(r"<[^<>]+>")  # GPUStack writes its messages for its own page


def server_container(look: Look) -> Iterator[Finding]:
    """The server's container, where this inventory has its host."""
    name = look.containers["server"]
    for host, facts in look.seen("facts", look.servers).items():
        containers = facts.get("containers")
        if containers is None:
            continue  # the container engine is a finding of its own
        container = containers.get(name)
        if container is None or container.get("state") != "running":
            state = f"is {container['state']} ({container.get('status')})" if container else "does not exist"
            yield Finding(
                code="server_container_stopped" if container else "server_container_missing",
                layer=Layer.SERVER,
                title="the GPUStack server does not run",
                found=f"the container {name} {state}",
                wanted="it runs",
                remedy=f"docker logs {name} tells why it stopped; {_RUN_SITE[0].lower()}{_RUN_SITE[1:]}",
                hosts=[host],
                setting="site.yml",
                evidence=[Evidence(host, name, None, state)],
            )


def worker_containers(look: Look) -> Iterator[Finding]:
    """The workers' containers: there, running, and as the inventory says."""
    name = look.containers["worker"]
    for host, engines in look.seen("engines", look.workers).items():
        worker = engines.get("worker")
        if worker is None or worker.get("state") != "running":
            state = f"is {worker['state']}" if worker else "does not exist"
            yield Finding(
                code="worker_container_stopped" if worker else "worker_container_missing",
                layer=Layer.WORKER,
                title="the GPUStack worker does not run",
                found=f"the container {name} {state}"
                + (f", exit code {worker['exit_code']}" if worker and worker.get("exit_code") else ""),
                wanted="it runs",
                remedy=f"docker logs {name} tells why it stopped. {_RUN_SITE}",
                hosts=[host],
                setting="site.yml",
                evidence=[Evidence(host, name, None, state)],
            )
        else:
            yield from _worker_as_declared(look, host, worker)


def _worker_as_declared(look: Look, host: str, worker: Mapping[str, Any]) -> Iterator[Finding]:
    declared = look.hosts[host].get("declared") or {}
    given = dict(word.split("=", 1) for word in worker.get("command") or [] if word.startswith("--") and "=" in word)
    wanted = {
        "--worker-name": declared.get("name"),
        "--worker-ip": declared.get("ip"),
        "--worker-ifname": declared.get("interface"),
    }
    differences = [
        f"{flag}={given[flag]} instead of {value}"
        for flag, value in wanted.items()
        if value and flag in given and given[flag] != value
    ]
    if worker.get("runtime") and worker["runtime"] != look.runtime:
        differences.append(f"runtime {worker['runtime']} instead of {look.runtime}, so engines get no GPUs")
    if worker.get("ipc_mode") and worker["ipc_mode"] != "host":
        differences.append(f"IPC mode {worker['ipc_mode']} instead of host")
    if differences:
        yield Finding(
            code="worker_differs",
            layer=Layer.WORKER,
            title="the GPUStack worker runs otherwise than declared",
            found="; ".join(differences),
            wanted="what the inventory says",
            remedy=f"{_RUN_SITE} The worker is recreated, its engines go on.",
            hosts=[host],
            setting="site.yml",
            evidence=[Evidence(host, look.containers["worker"], None, "; ".join(differences))],
        )


def registration(look: Look) -> Iterator[Finding]:
    """Whether the server knows the workers as the inventory does, each once."""
    if look.registered is None:
        return
    by_name = {str(worker["name"]): worker for worker in look.registered}
    declared = {host: look.hosts[host].get("declared") or {"name": host} for host in look.workers}
    names = {str(facts.get("name") or host): host for host, facts in declared.items()}
    yield from _duplicates(look, names)
    for name, host in names.items():
        worker = by_name.get(name)
        if worker is None:
            yield _state(
                host, "worker_unregistered", "GPUStack does not know the worker", f"no worker {name} in GPUStack"
            )
        elif (worker.get("maintenance") or {}).get("enabled"):
            yield Finding(
                code="worker_in_maintenance",
                layer=Layer.WORKER,
                title="the worker is in maintenance",
                found=f"GPUStack places nothing on {name}",
                wanted="a worker that takes engines",
                remedy="End the maintenance when the work on the host is done.",
                hosts=[host],
                severity=WARNING,
            )
        elif worker["state"] != "ready":
            message = _MARKUP.sub("", worker.get("state_message") or "no reason given")
            yield _state(host, "worker_not_ready", f"the worker is {worker['state']}", message)
        else:
            yield from _gpus(look, host, worker)


def _duplicates(look: Look, names: Mapping[str, str]) -> Iterator[Finding]:
    addresses = {
        str(facts["ip"]): host for host, facts in look.seen("declared", look.workers).items() if facts.get("ip")
    }
    for worker in look.registered or []:
        name, host = str(worker["name"]), addresses.get(str(worker.get("ip")))
        if name in names:
            continue
        yield Finding(
            code="worker_duplicate" if host else "worker_unknown",
            layer=Layer.WORKER,
            title="GPUStack has two workers for one host" if host else "GPUStack has a worker that nobody declares",
            found=f"{name} ({worker.get('ip')}, {worker['state']})"
            + (f" beside the one that the inventory names for {host}" if host else ""),
            wanted="one worker for each host of the inventory",
            remedy=f"Delete {name} in GPUStack when its host no longer runs it: two workers on one host end each "
            "other's engines.",
            hosts=[host] if host else [],
            severity="error" if host else WARNING,
            setting="gpustack_worker_name",
            evidence=[Evidence(host or "", "GPUStack", None, f"worker {name}, {worker.get('ip')}, {worker['state']}")],
        )


def _gpus(look: Look, host: str, worker: Mapping[str, Any]) -> Iterator[Finding]:
    devices = (look.hosts[host].get("gpus") or {}).get("devices") or []
    usable = sum(bool(device.get("usable", True)) for device in devices)
    known = len(worker.get("gpu_devices") or [])
    if look.hosts[host].get("gpus") and known != usable:
        yield _state(
            host,
            "worker_gpus_differ",
            "GPUStack sees another number of GPUs than the host has",
            f"{known} in GPUStack, {usable} usable on the host",
        )


def _state(host: str, code: str, title: str, found: str) -> Finding:
    return Finding(
        code=code,
        layer=Layer.WORKER,
        title=title,
        found=found,
        wanted="a worker that is ready with all GPUs of its host",
        remedy=f"Look at what is found before it; else docker logs of the worker. {_RUN_SITE}",
        hosts=[host],
        symptom=True,
        evidence=[Evidence(host, "GPUStack", None, found)],
    )
