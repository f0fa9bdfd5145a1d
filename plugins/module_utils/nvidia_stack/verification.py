# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the stack of every host is what was wanted, and the same over the fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..preflight.fleet import by_value
from ..templated import with_nulls
from . import packages, versions
from .problem import ERROR, WARNING, problem
from .settings import Settings


def problems_of(hosts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Everything that is wrong, errors first, in the shape of preflight's problems.

    ``hosts`` maps each host to ``{"facts", "plan", "settings", "gpu", "expected_gpus"}``: the facts of
    ``nvidia_stack_facts`` and of ``gpu_facts``, the plan, the settings it was made of, and the declared number of cards
    or None.
    """
    found = [one for host, state in sorted(hosts.items()) for one in _host_problems(host, state)]
    found += _fleet_problems(hosts)
    return sorted(found, key=lambda one: one["severity"] != ERROR)


def _host_problems(host: str, state: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    facts, plan = state["facts"], state["plan"]
    settings = Settings.from_dict(state["settings"])
    if plan["problems"]:
        yield from plan["problems"]
        return
    yield from _module_problems(host, facts, settings)
    yield from _package_problems(host, facts, plan)
    yield from _service_problems(host, plan)
    yield from _library_problems(host, facts, state["gpu"], settings)
    yield from _card_problems(host, facts, state["gpu"], with_nulls(state).get("expected_gpus"))


def _module_problems(host: str, facts: Mapping[str, Any], settings: Settings) -> Iterator[dict[str, Any]]:
    modules = facts["modules"]
    if not modules["installed"]:
        yield problem(
            "module_not_built",
            "there is no kernel module for the running kernel",
            found=f"no module nvidia for {facts['kernel']['release']}" + _log(facts["dkms_log"]),
            wanted="a module that DKMS has built",
            remedy="Install the kernel's headers and run dkms autoinstall; its make.log tells what went wrong.",
            hosts=[host],
        )
    elif modules["loaded"] != modules["installed"]:
        yield problem(
            "module_not_loaded",
            "the loaded kernel module is not the installed one",
            found=f"loaded {modules['loaded'] or 'none'}, installed {modules['installed']}",
            wanted="the installed module loaded",
            remedy="Reboot the host; where nothing is loaded, modprobe nvidia and dmesg tell why.",
            hosts=[host],
        )
    elif not versions.matches(settings.driver_version, modules["loaded"]):
        yield problem(
            "driver_moved",
            "the driver is not the declared one",
            found=f"driver {modules['loaded']}",
            wanted=f"driver {settings.driver_version}",
            remedy="Run the role again; it takes the driver back to the declared version.",
            hosts=[host],
        )


def _package_problems(host: str, facts: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    moved = [
        f"{one['name']} {facts['packages'].get(one['name'], 'missing')} instead of {one['version'] or 'any'}"
        for one in plan["packages"]
        if one["name"] in plan["outdated"]
    ]
    if moved:
        yield problem(
            "packages_moved",
            "packages are not at the declared versions",
            found=", ".join(moved),
            wanted="the declared versions",
            remedy="Run the role again, and find out what moved them: /var/log/apt/history.log, dnf history.",
            hosts=[host],
        )
    if plan["not_held"]:
        yield problem(
            "packages_not_held",
            "packages may move at the next upgrade",
            found=f"not held: {', '.join(plan['not_held'])}",
            wanted="every package of the stack held",
            remedy="Run the role again.",
            hosts=[host],
        )


def _service_problems(host: str, plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Without its fabric manager an NVSwitch host has no CUDA; without persistence every engine start is slow."""
    if plan["stopped"]:
        yield problem(
            "services_stopped",
            "daemons of the driver do not run",
            found=f"not running, or not started at boot: {', '.join(plan['stopped'])}",
            wanted="them running from boot on",
            remedy="systemctl status and journalctl -u tell why; run the role again.",
            hosts=[host],
        )


def _library_problems(
    host: str, facts: Mapping[str, Any], gpu: Mapping[str, Any], settings: Settings
) -> Iterator[dict[str, Any]]:
    wanted = tuple(map(int, settings.cuda_version.split(".")[:2]))
    supported = gpu.get("cuda_version")
    if settings.cuda != "none" and (supported is None or tuple(map(int, supported.split(".")[:2])) < wanted):
        yield problem(
            "cuda_not_supported",
            "the driver does not support the CUDA release",
            found=f"CUDA {supported or 'unknown'}",
            wanted=f"CUDA {settings.cuda_version} or newer",
            remedy="Install a newer driver, or look at the other problems of the driver first.",
            hosts=[host],
        )
    if settings.nccl_version and facts["nccl_version"] != versions.nccl_code(settings.nccl_version):
        code = facts["nccl_version"]
        yield problem(
            "nccl_differs",
            "the NCCL library is not the declared one",
            found=f"ncclGetVersion answers {code} ({versions.nccl_text(code)})"
            if code
            else "no libnccl.so.2 that answers",
            wanted=f"{versions.nccl_code(settings.nccl_version)}, of {settings.nccl_version}",
            remedy="Look for another libnccl.so.2: ldconfig -p; then run the role again.",
            hosts=[host],
        )


def _card_problems(
    host: str, facts: Mapping[str, Any], gpu: Mapping[str, Any], expected: Any
) -> Iterator[dict[str, Any]]:
    usable = sum(bool(device["usable"]) for device in gpu.get("devices") or [])
    wanted = int(expected) if expected is not None else len(facts["cards"])
    if usable != wanted:
        yield problem(
            "gpu_count_differs",
            "the number of GPUs is not as it should be",
            found=f"{usable} usable GPUs" + "".join(f"; {one['message']}" for one in (gpu.get("problems") or [])[:2]),
            wanted=f"{wanted}, as {'the inventory declares' if expected is not None else 'the PCI bus shows'}",
            remedy="nvidia-smi -L, lspci -d 10de: and dmesg tell which card is missing.",
            hosts=[host],
        )


def _fleet_problems(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Inside a branch hosts work together, and are still not what was declared; across branches they must not."""
    drivers = {host: state["facts"]["modules"]["installed"] for host, state in hosts.items()}
    drivers = {host: version for host, version in drivers.items() if version}
    branches = {version.partition(".")[0] for version in drivers.values()}
    yield from _differ("driver", drivers, ERROR if len(branches) > 1 else WARNING)
    nccl = {host: state["facts"]["nccl_version"] for host, state in hosts.items()}
    yield from _differ("NCCL", {host: versions.nccl_text(code) for host, code in nccl.items() if code}, ERROR)
    toolkit = {host: state["facts"]["packages"].get(packages.CONTAINER_TOOLKIT[0]) for host, state in hosts.items()}
    yield from _differ("container toolkit", {host: version for host, version in toolkit.items() if version}, WARNING)


def _differ(what: str, by_host: Mapping[str, str], severity: str) -> Iterator[dict[str, Any]]:
    groups = by_value(by_host)
    if len(groups) > 1:
        yield problem(
            f"{what.split()[-1].lower()}_versions_differ",
            f"hosts have different versions of the {what}",
            found=", ".join(f"{version} on {' '.join(names)}" for version, names in groups),
            wanted="one version on all hosts",
            remedy="Run the role on all hosts with the same variables, one host at a time.",
            hosts=list(by_host),
            severity=severity,
        )


def _log(lines: list[str]) -> str:
    return "; DKMS says: " + " / ".join(lines) if lines else ""
