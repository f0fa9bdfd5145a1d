# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ray start``, ``ray status`` and ``ray --version`` as GPUStack and operators call them."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from typing import Any

from . import RAY_VERSION, cards
from .cluster import CURRENT_CLUSTER, Head, receive, send

CONNECT_SECONDS = 120
WORKER_NAME = "ray::RayWorkerWrapper"
#: Flags that GPUStack gives and that mean nothing without a real Ray.
IGNORED = (
    "node-manager-port object-manager-port runtime-env-agent-port dashboard-agent-grpc-port dashboard-agent-listen-port"
    " metrics-export-port min-worker-port max-worker-port dashboard-host dashboard-port dashboard-grpc-port num-cpus "
    "num-gpus"
    " object-store-memory ray-client-server-port temp-dir"
)


def build_parser() -> argparse.ArgumentParser:
    """The part of Ray's command line that is used."""
    parser = argparse.ArgumentParser(prog="ray")
    parser.add_argument("--version", action="version", version=f"ray, version {RAY_VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status")
    start = commands.add_parser("start")
    start.add_argument("--head", action="store_true")
    start.add_argument("--address")
    start.add_argument("--port", type=int, default=6379)
    start.add_argument("--node-ip-address", default="127.0.0.1")
    for name in ("block", "disable-usage-stats", "verbose", "include-dashboard"):
        start.add_argument(f"--{name}", action="store_true")
    for name in IGNORED.split():
        start.add_argument(f"--{name}")
    return parser


def main() -> None:
    """Runs one command."""
    options = build_parser().parse_args()
    if options.command == "status":
        sys.exit(asyncio.run(_status()))
    if not options.head and not options.address:
        sys.exit("Either --head or --address is needed to start a node.")
    sys.exit(asyncio.run(_start(options)))


def _own_node(options: argparse.Namespace) -> dict[str, Any]:
    return {"ip": options.node_ip_address, "gpus": cards.visible(cards.host_profile(), os.environ)}


async def _start(options: argparse.Namespace) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    role = asyncio.create_task(_head(options) if options.head else _follow(options))
    waiter = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({role, waiter}, return_when=asyncio.FIRST_COMPLETED)
    return role.result() if role in done else 0


async def _head(options: argparse.Namespace) -> int:
    node = _own_node(options)
    held: list[cards.Claim] = []
    head = Head(node, lambda used_mib: held.append(cards.Claim(node["gpus"], used_mib, WORKER_NAME)))
    server = await head.serve("0.0.0.0", options.port)
    CURRENT_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
    CURRENT_CLUSTER.write_text(f"{options.node_ip_address}:{options.port}", encoding="utf-8")
    print(
        f"Local node IP: {options.node_ip_address}\n\n--------------------\nRay runtime started.\n--------------------",
        flush=True,
    )
    await server.serve_forever()
    return 0


async def _follow(options: argparse.Namespace) -> int:
    host, _, port = options.address.rpartition(":")
    for _ in range(CONNECT_SECONDS):
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            break
        except OSError:
            await asyncio.sleep(1)
    else:
        print(f"ray.exceptions.RaySystemError: Failed to connect to GCS at {options.address}.", file=sys.stderr)
        return 1
    node = _own_node(options)
    send(writer, {"join": node})
    print(
        f"Local node IP: {options.node_ip_address}\n\n--------------------\nRay runtime started.\n--------------------",
        flush=True,
    )
    held = []
    try:
        async for message in receive(reader):
            held.append(cards.Claim(node["gpus"], message["claim_mib"], WORKER_NAME))
    except ConnectionError:
        pass
    print("Some Ray subprocesses exited unexpectedly:\n  raylet [exit code=1]\n", file=sys.stderr)
    return 1


async def _status() -> int:
    if not CURRENT_CLUSTER.exists():
        print("ray.exceptions.RaySystemError: No cluster status.", file=sys.stderr)
        return 1
    host, port = CURRENT_CLUSTER.read_text(encoding="utf-8").rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    send(writer, {"watch": True})
    async for message in receive(reader):
        nodes = message["nodes"]
        total = sum(len(node["gpus"]) for node in nodes)
        print(f"Node status\n{'-' * 63}\nActive:")
        for node in nodes:
            print(f" 1 node_{node['ip']}")
        print(f"\nResources\n{'-' * 63}\nTotal Usage:\n 0.0/{total}.0 GPU")
        return 0
    return 1
