# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the network between hosts, from the connections that were tried (``connectivity_facts``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import procfs
from ..connections import ranges
from .fleet import Finding, Fleet

ETHERNET_MTU = 1500
_MANY = 6


def connection_dropped(fleet: Fleet) -> Iterator[Finding]:
    """Engines on several hosts wait for such a connection for minutes and then die of something else."""
    yield from _closed(fleet, "timed_out", "does not answer", "a firewall drops the packets")


def connection_rejected(fleet: Fleet) -> Iterator[Finding]:
    """Something listens there and another answers for it, which only a firewall does."""
    yield from _closed(
        fleet, "refused", "refuses", "a firewall rejects them, or what listens there does so on another address"
    )


def host_unreachable(fleet: Fleet) -> Iterator[Finding]:
    """There is no way to the address, or a firewall says so."""
    yield from _closed(fleet, "unreachable", "is unreachable for", "no route, or a firewall rejects the packets")
    for source, target, tried in _tried(fleet):
        if tried.get("problem"):
            yield Finding(
                [source],
                str(tried["problem"]),
                f"the address of {target}",
                "Correct the address in the inventory, or the host's name resolution.",
            )


def large_packets_lost(fleet: Fleet) -> Iterator[Finding]:
    """Small packets pass and large ones do not: connections come up, and NCCL hangs at the first tensor."""
    for source, target, tried in _tried(fleet):
        if tried.get("large_transfer") is False:
            mtus = ", ".join(f"MTU {mtu} on {host}" for host, mtu in _mtus(fleet).items() if host in (source, target))
            yield Finding(
                [source, target],
                f"connections to {target} come up, and full-sized packets from it never arrive"
                f" ({mtus or 'MTU unknown'})",
                "packets as large as the interfaces' MTU on all of the way",
                "A switch or tunnel between the hosts passes less than the interfaces send: raise its MTU (jumbo frames"
                " need it on every port), or lower the interfaces' with ip link set dev INTERFACE mtu 1500 and in the"
                " network configuration.",
            )


def worker_route_differs(fleet: Fleet) -> Iterator[Finding]:
    """Two interfaces in one network: packets leave by one and are answered to the other."""
    for source, target, tried in _tried(fleet):
        own, used = (fleet.workers.get(source) or {}).get("ip"), tried.get("source_address")
        if own and used and target in fleet.workers and used != own:
            yield Finding(
                [source],
                f"connections to {target} leave from {used}",
                f"from the worker's address {own}",
                "Give gpustack_worker_ip and gpustack_worker_interface the network that leads to the other workers, or"
                " correct the routes (ip route get shows them).",
            )


def mtu_small(fleet: Fleet) -> Iterator[Finding]:
    """An overlay's interface, such as VXLAN's with 1450, costs an engine that spans hosts much of its speed."""
    for host, mtu in _mtus(fleet).items():
        if mtu < ETHERNET_MTU and len(fleet.workers) > 1:
            yield Finding(
                [host],
                f"MTU {mtu} on {fleet.workers[host].get('interface')}",
                f"at least {ETHERNET_MTU}, Ethernet's own; 9000 where the switch passes jumbo frames",
                "Give gpustack_worker_ip and gpustack_worker_interface the interface beneath the overlay (VPN, VXLAN).",
            )


def mtu_differs(fleet: Fleet) -> Iterator[Finding]:
    """Large packets between hosts of different MTU are lost silently, and NCCL waits for them."""
    mtus = _mtus(fleet)
    if len(set(mtus.values())) > 1:
        by_mtu: dict[int, list[str]] = {}
        for host, mtu in mtus.items():
            by_mtu.setdefault(mtu, []).append(host)
        largest_groups_first = sorted(by_mtu.items(), key=lambda group: -len(group[1]))
        yield Finding(
            sorted(mtus),
            ", ".join(f"MTU {mtu} on {' '.join(hosts)}" for mtu, hosts in largest_groups_first),
            "one MTU on the interfaces between workers",
            "Set the same MTU on the workers' interfaces and on the switch between them: 9000 only where every port"
            " passes jumbo frames, otherwise 1500; less than that is an overlay's.",
        )


def _closed(fleet: Fleet, kind: str, what: str, why: str) -> Iterator[Finding]:
    """For every target the hosts that get this outcome, together where it is for the same ports."""
    sources: dict[tuple[str, str, str], list[str]] = {}
    for source, target, tried in _tried(fleet):
        ports = procfs.expand_ports(tried.get(kind) or [])
        if (
            kind == "refused" and target != tried["address"]
        ):  # of a host outside the inventory, nobody knows who listens
            ports &= _answering(fleet.listeners.get(target) or {})
        if ports:
            sources.setdefault((target, str(tried["address"]), _listed(fleet, ports)), []).append(source)
    for (target, address, listed), hosts in sources.items():
        yield Finding(
            [target],
            f"{target} ({address}) {what} {', '.join(hosts)} on {listed}: {why}",
            "every port of GPUStack and its engines open between the hosts",
            f"Let TCP from {_addresses(fleet, target, hosts)} pass on {target} (nft list ruleset, iptables -S, ufw or"
            " firewall-cmd show its rules) and on what is between the hosts (security groups, ACLs). All of TCP between"
            " workers, because NCCL and Gloo take ports that the kernel picks.",
        )


def _tried(fleet: Fleet) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Source, target and how its ports answered."""
    for source, targets in sorted(fleet.connections.items()):
        for target, tried in sorted((targets or {}).items()):
            yield source, target, tried


def _answering(listener: Mapping[str, Any]) -> set[int]:
    return procfs.expand_ports([*(listener.get("listening") or []), *(listener.get("held") or [])])


def _listed(fleet: Fleet, ports: set[int]) -> str:
    """``port 10150 (worker API), 41000-41999 (Ray)``."""
    texts = []
    for item, purpose in fleet.connection_ports.items():
        part = ports & procfs.expand_ports([str(item)])
        if part:
            found = ranges(part)
            more = f" and {len(found) - _MANY} more ranges" if len(found) > _MANY else ""
            texts.append(f"{', '.join(found[:_MANY])}{more} ({purpose})")
            ports = ports - part
    return "port " + ", ".join([*texts, *([", ".join(ranges(ports)[:_MANY])] if ports else [])])


def _addresses(fleet: Fleet, target: str, hosts: list[str]) -> str:
    """From where the hosts reach the target, as far as that is known."""
    return ", ".join(
        str(fleet.connections[host][target].get("source_address") or (fleet.workers.get(host) or {}).get("ip") or host)
        for host in hosts
    )


def _mtus(fleet: Fleet) -> dict[str, int]:
    """The MTU of each worker's interface, where both are known."""
    mtus = {
        host: (facts.get("interface_mtu") or {}).get(fleet.workers[host].get("interface"))
        for host, facts in fleet.worker_facts().items()
    }
    return {host: mtu for host, mtu in mtus.items() if mtu}
