# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts: whether they can be reached, what preflight says of them, their container engines and their network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from .. import preflight
from .finding import Evidence, Finding, Layer, Look
from .signature import ERROR

# Preflight's findings by the layer that they are about; what is not here is about the host itself.
_LAYERS = {
    "server_unreachable": Layer.SERVER,
    "server_untrusted": Layer.SERVER,
    "server_refuses": Layer.SERVER,
    "server_unsupported": Layer.SERVER,
    "container_engine_unreachable": Layer.CONTAINER_ENGINE,
    "worker_name_duplicate": Layer.INVENTORY,
    "worker_address_duplicate": Layer.INVENTORY,
}
_PREFIXES = (
    ("gpu", Layer.HARDWARE),
    ("driver", Layer.HARDWARE),
    ("nv", Layer.HARDWARE),
    ("no_devices", Layer.HARDWARE),
    ("mig", Layer.HARDWARE),
    ("memory_", Layer.HARDWARE),
    ("slowed_", Layer.HARDWARE),
    ("model_", Layer.MODEL_FILES),
    ("variable_", Layer.INVENTORY),
    ("mtu_", Layer.NETWORK),
    ("connection", Layer.NETWORK),
)
_SETTINGS = {
    "clocks_differ": "gpustack_preflight_max_clock_skew_seconds",
    "disk_space_low": "gpustack_doctor_minimum_free_gib",
    "gpu_count_differs": "gpustack_worker_expected_gpus",
    "required_path_missing": "playbooks/host_stack.yml",
    "server_refuses": "gpustack_server_admin_password",
    "server_unreachable": "gpustack_server_url",
    "server_untrusted": "SSL_CERT_FILE",
    "shared_memory_too_small": "gpustack_preflight_shared_memory_gib",
    "worker_address_missing": "gpustack_worker_ip",
}
# What is advice before an installation, and no illness of a fleet that runs.
_ADVICE = frozenset({"memory_smaller_than_shared_memory"})
# What keeps nobody from an installation, and is an illness of a fleet that runs.
_ILLNESSES = frozenset({"memory_errors", "memory_worn", "slowed_by_heat", "slowed_by_power"})
# What container_engines() tells, with the reason.
_TOLD_ELSEWHERE = frozenset({"container_engine_unreachable"})
# That a server does not answer can have its reason on the server's host.
_SYMPTOMS = frozenset({"server_unreachable"})
_WORKER_PORT = "10150"


def unreachable(look: Look) -> Iterator[Finding]:
    """Hosts that told nothing."""
    for host in look.hosts:
        if host not in look.reached:
            yield Finding(
                code="host_unreachable",
                layer=Layer.REACH,
                title="the host could not be looked at",
                found="no answer over SSH, or no facts from it",
                wanted="a host that answers",
                remedy=f"ansible {host} -m ansible.builtin.ping tells why: the host is down, or its address, key or "
                "sudo is wrong.",
                hosts=[host],
            )


def preflight_findings(look: Look) -> Iterator[Finding]:
    """Everything preflight knows, of the hosts that could be looked at."""
    reached = set(look.reached)
    fleet = {
        **look.wanted,
        "hosts": look.seen("facts"),
        "gpus": look.seen("gpus", [host for host in look.workers if host in reached]),
        "workers": look.seen("declared", [host for host in look.workers if host in reached]),
        "server": look.api or None,
    }
    for problem in preflight.problems_of(fleet):
        code = problem["code"]
        if code in _ADVICE | _TOLD_ELSEWHERE:
            continue
        yield Finding(
            code=code,
            layer=_layer(code),
            title=problem["title"],
            found=problem["found"],
            wanted=problem["wanted"],
            remedy=problem["remedy"],
            hosts=problem["hosts"],
            severity=ERROR if code in _ILLNESSES else problem["severity"],
            symptom=code in _SYMPTOMS,
            setting=_SETTINGS.get(code, ""),
        )


def _layer(code: str) -> Layer:
    if code in _LAYERS:
        return _LAYERS[code]
    return next((layer for prefix, layer in _PREFIXES if code.startswith(prefix)), Layer.HOST)


def container_engines(look: Look) -> Iterator[Finding]:
    """Engines that do not answer or lack what GPUs need, now or after their next start."""
    for host, engine in look.seen("container_engine").items():
        if engine.get("configuration_problem"):
            yield Finding(
                code="container_engine_configuration_broken",
                layer=Layer.CONTAINER_ENGINE,
                title="the container engine's configuration cannot be read",
                found=engine["configuration_problem"],
                wanted="a daemon.json that is valid JSON",
                remedy="Correct the file; the engine does not start again with this one.",
                hosts=[host],
                setting="gpustack_container_engine_daemon",
            )
        if engine["problem"]:
            yield Finding(
                code="container_engine_down",
                layer=Layer.CONTAINER_ENGINE,
                title="the container engine does not answer",
                found=engine["problem"],
                wanted="a Docker engine that answers",
                remedy="systemctl status docker tells why; then run site.yml.",
                hosts=[host],
                setting="gpustack_container_engine_daemon",
            )
        elif host in look.workers:
            yield from _gpu_runtime(look, host)


def _gpu_runtime(look: Look, host: str) -> Iterator[Finding]:
    engine = look.hosts[host]["container_engine"]
    running, configured = engine.get("runtimes") or [], engine.get("configured_runtimes")
    where = []
    if look.runtime not in running:
        where.append(f"the engine knows {', '.join(running) or 'none'}")
    if configured is not None and look.runtime not in configured:
        where.append(f"daemon.json has {', '.join(configured) or 'none'}")
    if where:
        yield Finding(
            code="container_runtime_missing",
            layer=Layer.CONTAINER_ENGINE,
            title=f"Docker lacks the runtime {look.runtime}",
            found="; ".join(where),
            wanted=f"{look.runtime} in both, so that containers get GPUs now and after the engine's next start",
            remedy="Run site.yml: the role container_engine merges it into daemon.json.",
            hosts=[host],
            setting="gpustack_container_engine_nvidia",
        )
    if engine.get("cgroup_driver") == "systemd":
        yield Finding(
            code="cgroup_driver_systemd",
            layer=Layer.CONTAINER_ENGINE,
            title="containers lose their GPUs at the next systemctl daemon-reload",
            found="Docker's cgroup driver is systemd",
            wanted="cgroupfs on hosts with GPUs",
            remedy="Run site.yml: the role container_engine sets native.cgroupdriver.",
            hosts=[host],
            severity="warning",
            setting="gpustack_container_engine_nvidia",
        )


def targets_of(
    host: str, workers: Mapping[str, Any], servers: list[str], server_url: str, registry: str
) -> dict[str, dict[str, Any]]:
    """What a host has to reach in a running fleet, as ``connectivity_facts`` takes it.

    ``workers`` maps the hosts of workers to their addresses, null where the inventory has none. The API of the other
    workers from everywhere, the server and the registry from workers.
    """
    targets: dict[str, dict[str, Any]] = {
        other: {"address": address, "ports": [_WORKER_PORT]}
        for other, address in workers.items()
        if address and other != host
    }
    url = urlsplit(server_url)
    if host in workers and url.hostname and host not in servers:
        targets["server"] = {
            "address": url.hostname,
            "ports": [str(url.port or (443 if url.scheme == "https" else 80))],
        }
    if registry:
        address, _colon, port = registry.split("/")[0].partition(":")
        targets["registry"] = {"address": address, "ports": [port or "443"]}
    return targets


def connections(look: Look) -> Iterator[Finding]:
    """What hosts do not reach of each other, of the server and of the registry."""
    for host, targets in look.seen("connectivity").items():
        for name, answer in targets.items():
            if answer.get("connected"):
                continue
            if (name in look.hosts and name not in look.reached) or not _listens(look, name):
                continue  # nobody is there to answer, which is a finding of its own
            how = next((state for state in ("timed_out", "refused", "unreachable") if answer.get(state)), "problem")
            words = {"timed_out": "gets no answer", "refused": "is refused", "unreachable": "finds no way"}
            # Where a host refuses, nothing listens on the port (yet); a packet that is dropped met a firewall.
            refused = how == "refused" and name != "registry"
            ports = ", ".join(answer.get(how) or []) if how != "problem" else ""
            yield Finding(
                code="registry_unreachable" if name == "registry" else "connection_blocked",
                layer=Layer.WORKER if refused else Layer.NETWORK,
                title="the registry cannot be reached" if name == "registry" else "a connection between hosts fails",
                found=f"{host} {words.get(how, answer.get('problem') or 'fails')} at {name}, {answer.get('address')}"
                + (f" port {ports}" if ports else ""),
                wanted="a connection",
                remedy="Start the registry, or correct its name."
                if name == "registry"
                else "Open the port in the firewalls of both hosts and between them (nft list ruleset, iptables -L).",
                hosts=[host],
                symptom=refused,
                setting="gpustack_worker_registry" if name == "registry" else "gpustack_preflight_connection_ports",
                evidence=[Evidence(host, "connection", None, f"{answer.get('address')} {how}")],
            )


def _listens(look: Look, name: str) -> bool:
    """Whether something should answer: a worker whose container runs, or what is no worker of this fleet."""
    if name not in look.workers:
        return name != "server" or bool((look.api or {}).get("answers"))
    worker = (look.hosts[name].get("engines") or {}).get("worker") or {}
    return worker.get("state") == "running"
