# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of GPUs and their driver, from the facts of ``gpu_facts``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..smi.catalogue import CATALOGUE
from .fleet import Finding, Fleet, by_value

WANTED = "GPUs that the driver can use"
WHOLE = "GPUs with nothing wrong with them"


def gpu_problem(fleet: Fleet) -> Iterator[Finding]:
    """What the driver and its tools say is wrong with the host, and workers without any GPU."""
    for host, facts in _worker_gpus(fleet).items():
        yield from (_finding(host, "", problem) for problem in _of_host(facts) if _blocks(problem))
        if not facts.get("devices") and not facts.get("problems"):
            yield Finding(
                [host],
                "no NVIDIA GPU",
                WANTED,
                "Take the host out of the group of workers, or look for the card with lspci -d 10de:.",
                code="gpu_missing",
            )


def gpu_facts_incomplete(fleet: Fleet) -> Iterator[Finding]:
    """What the driver's tools could not tell, and no engine needs."""
    for host, facts in _worker_gpus(fleet).items():
        yield from (_finding(host, "", problem) for problem in _of_host(facts) if not _blocks(problem))


def _of_host(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Problems of the host itself: those of its cards are among them, and are told with the cards."""
    of_cards = [
        problem.get("message") for device in facts.get("devices") or [] for problem in device.get("problems") or []
    ]
    return [problem for problem in facts.get("problems") or [] if problem.get("message") not in of_cards]


def _blocks(problem: Mapping[str, Any]) -> bool:
    entry = CATALOGUE.get(str(problem.get("code")))
    return entry is None or entry.blocking


def gpu_unusable(fleet: Fleet) -> Iterator[Finding]:
    """Cards that are there and cannot be used."""
    for host, device in _devices(fleet):
        if not device.get("usable", True):
            for problem in device.get("problems") or [{"code": "gpu_unusable", "message": "cannot be used"}]:
                yield _finding(host, _label(device), problem)


def gpu_impaired(fleet: Fleet) -> Iterator[Finding]:
    """Cards that work and have something wrong with them."""
    for host, device in _devices(fleet):
        if device.get("usable", True):
            for problem in device.get("problems") or []:
                yield _finding(host, _label(device), problem, WHOLE)


def gpu_count_differs(fleet: Fleet) -> Iterator[Finding]:
    """A card that fell off the bus leaves no trace but the count."""
    for host, facts in _worker_gpus(fleet).items():
        expected = fleet.workers[host].get("expected_gpus")
        usable = sum(bool(device.get("usable", True)) for device in facts.get("devices") or [])
        if expected is not None and usable != int(expected):
            yield Finding(
                [host],
                f"{usable} usable GPU{'s' if usable != 1 else ''}",
                f"{expected}, as the inventory declares",
                "Look for the missing card with lspci -d 10de: and dmesg, or correct the inventory.",
            )


def gpu_facts_missing(fleet: Fleet) -> Iterator[Finding]:
    """A worker whose GPUs were not looked at."""
    if fleet.gpus is not None:
        for host in sorted(fleet.driven() & set(fleet.hosts) - set(fleet.gpus)):
            yield Finding([host], "no GPU facts", "facts of every worker", "Run gpuops.gpustack.gpu_facts on the host.")


def driver_branches_differ(fleet: Fleet) -> Iterator[Finding]:
    """An engine that spans hosts runs one CUDA and NCCL over all their drivers."""
    yield from _versions_differ(
        {host: version.split(".")[0] for host, version in _drivers(fleet).items()},
        "one driver branch on all workers",
    )


def driver_versions_differ(fleet: Fleet) -> Iterator[Finding]:
    """Inside a branch it works, and is still a difference between hosts that one does not want to debug."""
    drivers = _drivers(fleet)
    if len({version.split(".")[0] for version in drivers.values()}) == 1:
        yield from _versions_differ(drivers, "one driver version on all workers")


def _versions_differ(versions: Mapping[str, str], wanted: str) -> Iterator[Finding]:
    groups = by_value(versions)
    if len(groups) > 1:
        yield Finding(
            sorted(versions),
            ", ".join(f"{version} on {' '.join(hosts)}" for version, hosts in groups),
            wanted,
            "Install the same driver on all workers, one host at a time.",
        )


def _finding(host: str, subject: str, problem: Mapping[str, Any], wanted: str = WANTED) -> Finding:
    message = str(problem.get("message", ""))
    return Finding(
        [host],
        f"{subject}: {message}" if subject else message,
        wanted,
        str(problem.get("remedy") or "nvidia-smi -q and dmesg on the host tell more."),
        code=problem.get("code"),
    )


def _label(device: Mapping[str, Any]) -> str:
    return f"GPU {device.get('index')} ({device.get('name') or device.get('pci_bus_id')})"


def _worker_gpus(fleet: Fleet) -> dict[str, Mapping[str, Any]]:
    gpus = fleet.gpus or {}
    return {host: gpus[host] for host in sorted(fleet.driven()) if host in gpus}


def _devices(fleet: Fleet) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for host, facts in _worker_gpus(fleet).items():
        for device in facts.get("devices") or []:
            yield host, device


def _drivers(fleet: Fleet) -> dict[str, str]:
    versions = {host: facts.get("driver_version") for host, facts in _worker_gpus(fleet).items()}
    return {host: version for host, version in versions.items() if version}
