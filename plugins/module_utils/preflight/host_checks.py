# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of hosts: shared memory, memory, disk, clocks, ports, addresses and identities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import procfs
from .fleet import Finding, Fleet, by_value, size_text


def facts_missing(fleet: Fleet) -> Iterator[Finding]:
    """A worker of which nothing is known, because it could not be reached or was left out."""
    for host in sorted(set(fleet.workers) - set(fleet.hosts)):
        yield Finding(
            [host],
            "no facts",
            "facts of every worker",
            "Make the host reachable, or take it out of the group of workers.",
        )


def shared_memory_too_small(fleet: Fleet) -> Iterator[Finding]:
    """With --ipc=host the worker's /dev/shm is the host's, whatever --shm-size says."""
    wanted_gib = fleet.shared_memory_gib
    for host, facts in fleet.worker_facts().items():
        size_mib = facts.get("shm_size_mib")
        if wanted_gib is None or (size_mib is not None and size_mib >= wanted_gib * 1024):
            continue
        size = f"{wanted_gib:g}g"
        yield Finding(
            [host],
            "no /dev/shm" if size_mib is None else f"/dev/shm of {size_text(size_mib)}",
            f"{wanted_gib:g} GiB, because a worker that shares the host's IPC has the host's /dev/shm",
            f"mount -o remount,size={size} /dev/shm\n"
            f"and in /etc/fstab: tmpfs /dev/shm tmpfs defaults,nosuid,nodev,size={size} 0 0",
        )


def memory_smaller_than_shared_memory(fleet: Fleet) -> Iterator[Finding]:
    """A tmpfs may be larger than the memory behind it; filling it then ends processes."""
    for host, facts in fleet.worker_facts().items():
        memory_mib = facts.get("memory_total_mib")
        if fleet.shared_memory_gib and memory_mib is not None and memory_mib < fleet.shared_memory_gib * 1024:
            yield Finding(
                [host],
                f"{size_text(memory_mib)} of memory",
                f"at least the {fleet.shared_memory_gib:g} GiB of shared memory that engines may fill",
                "Add memory, or promise engines less shared memory.",
            )


def memlock_limit_low(fleet: Fleet) -> Iterator[Finding]:
    """Engines inherit the limit, and NCCL registers its buffers with InfiniBand and RoCE cards, which locks them."""
    for host, facts in fleet.worker_facts().items():
        limit_kib, devices = facts.get("memlock_limit_kib"), facts.get("rdma_devices") or []
        wanted_mib = fleet.minimum_memlock_mib
        if limit_kib is None or limit_kib == procfs.UNLIMITED or (wanted_mib is None and not devices):
            continue
        if wanted_mib is None or limit_kib < wanted_mib * 1024:
            yield Finding(
                [host],
                f"a limit of {size_text(limit_kib / 1024)} of locked memory",
                size_text(wanted_mib) if wanted_mib is not None else f"no limit, because of {', '.join(devices)}",
                "systemctl edit containerd: [Service] LimitMEMLOCK=infinity; then restart containerd when no engine"
                " runs.",
            )


def image_space_low(fleet: Fleet) -> Iterator[Finding]:
    """A worker that is not there yet has its images still to be pulled, and a pull that fails halfway says little."""
    for host, facts in fleet.worker_facts().items():
        storage, wanted_gib = facts.get("container_storage") or {}, fleet.wanted_for_images(facts)
        free_gib = storage.get("free_gib")
        if free_gib is not None and free_gib < wanted_gib:
            yield Finding(
                [host],
                f"{free_gib:g} GiB free for images in {storage['path']}",
                f"{wanted_gib:g} GiB for the images of GPUStack and its engines",
                "Make room (docker image prune -a removes unused images), or give Docker another disk: data-root in"
                " gpustack_container_engine_daemon.",
            )


def required_path_missing(fleet: Fleet) -> Iterator[Finding]:
    """What neither this collection's container engine nor GPUStack brings along."""
    for path, remedy in fleet.required_paths.items():
        for host, facts in fleet.worker_facts().items():
            to_come = host in fleet.awaiting_stack
            if not to_come and not (facts.get("paths") or {}).get(path, {}).get("exists"):
                yield Finding([host], f"{path} does not exist", "it on every worker", remedy)


def disk_space_low(fleet: Fleet) -> Iterator[Finding]:
    """Images and models need room before they are pulled."""
    for host, facts in fleet.worker_facts().items():
        for path, wanted_gib in sorted(fleet.minimum_free_gib.items()):
            free_gib = (facts.get("disk_free_gib") or {}).get(path)
            if free_gib is not None and free_gib < wanted_gib:
                yield Finding(
                    [host],
                    f"{free_gib:g} GiB free for {path}",
                    f"{wanted_gib:g} GiB",
                    f"Make room (docker image prune removes unused images), or mount a larger file system at {path}.",
                )


def clocks_differ(fleet: Fleet) -> Iterator[Finding]:
    """Only a difference that cannot come from the measurement counts."""
    clocks = _clocks(fleet)
    apart = _hosts_with_odd_clocks(clocks, fleet.max_clock_skew_s)
    if apart:
        readings = ", ".join(f"{host} {offset:+.1f} s" for host, (offset, _error) in sorted(clocks.items()))
        yield Finding(
            apart,
            f"clocks against the controller's: {readings}",
            f"at most {fleet.max_clock_skew_s:g} s between any two hosts",
            "timedatectl set-ntp true, and look at chronyc tracking or timedatectl timesync-status.",
        )


def controller_clock_differs(fleet: Fleet) -> Iterator[Finding]:
    """Hosts that agree with each other and not with the controller show that the controller is wrong."""
    clocks = _clocks(fleet)
    apart = _hosts_with_odd_clocks(clocks, fleet.max_clock_skew_s)
    in_step = {host: clock for host, clock in clocks.items() if host not in apart}
    limit_s = fleet.max_clock_skew_s
    if limit_s is not None and in_step and all(abs(offset) - error > limit_s for offset, error in in_step.values()):
        offset = sorted(offset for offset, _error in in_step.values())[len(in_step) // 2]
        yield Finding(
            [],
            f"the fleet's clocks are {abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} the controller's",
            f"at most {limit_s:g} s",
            "Set the clock of the machine that runs Ansible, or the fleet's where that is the one which is wrong.",
        )


def port_taken(fleet: Fleet) -> Iterator[Finding]:
    """Ports that are not ours to take; GPUStack's own containers may hold them."""
    for host, wanted in fleet.wanted_ports().items():
        facts = fleet.hosts.get(host) or {}
        taken: dict[tuple[str, str], list[int]] = {}
        for port, listener in (facts.get("listening_ports") or {}).items():
            purpose = _purpose(wanted, int(port))
            if purpose and not _may_be_ours(listener, facts, fleet.own_containers):
                taken.setdefault((purpose, _owner(listener)), []).append(int(port))
        for (purpose, owner), ports in sorted(taken.items()):
            listed = ", ".join(map(str, sorted(ports)))
            yield Finding(
                [host],
                f"port {listed} is used by {owner}",
                f"free for {purpose}",
                "Stop what listens there, or give GPUStack other ports.",
            )


def worker_address_missing(fleet: Fleet) -> Iterator[Finding]:
    """The worker's address and interface are pinned, so both have to be there."""
    for host, facts in fleet.worker_facts().items():
        worker, interfaces = fleet.workers[host], facts.get("interfaces") or {}
        ip, interface = worker.get("ip"), worker.get("interface")
        addresses = (
            interfaces.get(interface, []) if interface else [one for many in interfaces.values() for one in many]
        )
        if (not ip and not interface) or (ip in addresses if ip else bool(addresses)):
            continue
        present = ", ".join(f"{name} {' '.join(ips)}" for name, ips in sorted(interfaces.items()) if ips)
        yield Finding(
            [host],
            f"the host has {present or 'no addresses'}",
            f"{ip or 'an address'}{f' on {interface}' if interface else ''}",
            "Correct the worker's address and interface in the inventory.",
        )


def worker_name_duplicate(fleet: Fleet) -> Iterator[Finding]:
    """GPUStack takes a name once and refuses the second worker."""
    names = {host: worker.get("name") for host, worker in fleet.workers.items()}
    for name, hosts in _shared(names):
        yield Finding(
            hosts, f"all have the worker name {name}", "a name of its own for each worker", "Rename all but one."
        )


def worker_address_duplicate(fleet: Fleet) -> Iterator[Finding]:
    """Engines dial each other by this address."""
    addresses = {host: worker.get("ip") for host, worker in fleet.workers.items()}
    for ip, hosts in _shared(addresses):
        yield Finding(
            hosts, f"all have the worker address {ip}", "an address of its own for each worker", "Correct it."
        )


def product_uuid_duplicate(fleet: Fleet) -> Iterator[Finding]:
    """GPUStack tells machines apart by it: two of the same are one worker that flaps."""
    uuids = {host: facts.get("product_uuid") for host, facts in fleet.worker_facts().items()}
    for uuid, hosts in _shared(uuids):
        yield Finding(
            hosts,
            f"all have the product UUID {uuid}",
            "a UUID of its own for each machine",
            "Give the cloned machines new UUIDs (in the hypervisor, or with the maker's firmware tool).",
        )


def machine_id_duplicate(fleet: Fleet) -> Iterator[Finding]:
    """A sign of cloned disks; DHCP and journals mix such hosts up."""
    ids = {host: facts.get("machine_id") for host, facts in fleet.worker_facts().items()}
    for machine_id, hosts in _shared(ids):
        yield Finding(
            hosts,
            f"all have the machine id {machine_id}",
            "a machine id of its own for each host",
            "On all but one: rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; reboot.",
        )


def facts_incomplete(fleet: Fleet) -> Iterator[Finding]:
    """What the facts themselves say could not be found out."""
    for host, facts in fleet.worker_facts().items():
        for problem in facts.get("problems") or []:
            yield Finding([host], problem["message"], "complete facts", problem["remedy"], code=problem["code"])


def _clocks(fleet: Fleet) -> dict[str, tuple[float, float]]:
    """Offset to the controller's clock and how far the measurement can be off, in seconds."""
    return {
        host: (facts["clock_offset_s"], facts.get("clock_uncertainty_s") or 0.0)
        for host, facts in fleet.hosts.items()
        if facts.get("clock_offset_s") is not None
    }


def _hosts_with_odd_clocks(clocks: Mapping[str, tuple[float, float]], limit_s: float | None) -> list[str]:
    """The hosts that disagree with more than half of the others; of two hosts both."""
    if limit_s is None:
        return []
    return sorted(
        host
        for host, (offset, error) in clocks.items()
        if 2 * sum(abs(offset - other) - error - other_error > limit_s for other, other_error in clocks.values())
        > len(clocks) - 1
    )


def _purpose(ports: Mapping[str, str], port: int) -> str | None:
    return next((purpose for item, purpose in ports.items() if port in procfs.expand_ports([str(item)])), None)


def _may_be_ours(listener: Mapping[str, Any], facts: Mapping[str, Any], own_containers: list[str]) -> bool:
    """Also a container of which Docker does not tell, because its engine is down: that is a finding of its own."""
    name, containers = listener.get("container"), facts.get("containers")
    if name is None:
        return False
    return containers is None or name in own_containers or bool((containers.get(name) or {}).get("workload"))


def _owner(listener: Mapping[str, Any]) -> str:
    process = listener.get("process") or "a process that only root can see"
    container = listener.get("container")
    return f"{process} in the container {container}" if container else process


def _shared(values: Mapping[str, Any]) -> list[tuple[Any, list[str]]]:
    """Values that more than one host has, with these hosts; unknown ones are nobody's."""
    return [(value, hosts) for value, hosts in by_value(values) if value and len(hosts) > 1]
