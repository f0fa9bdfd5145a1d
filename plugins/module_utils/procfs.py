# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``/proc`` tells about a host: its limits, its memory and who listens on which port.

Every function takes the root of the tree, so that it reads any ``/proc``-shaped directory. What cannot be read is
unknown (``None`` or left out), never an error: processes end while one looks at them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

UNLIMITED = -1

_TCP_LISTEN = "0A"
_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")
# Interpreters say little without the program that they run.
_INTERPRETERS = re.compile(r"^(?:python[\d.]*|bash|sh|dash|perl|java|node|ruby)$")


def memory_total_mib(proc: Path) -> int | None:
    """The host's memory."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", _text(proc / "meminfo"), re.MULTILINE)
    return int(match.group(1)) // 1024 if match else None


def memlock_limit_kib(proc: Path, pid: str) -> int | None:
    """The soft limit of locked memory of a process; UNLIMITED (-1) for none."""
    match = re.search(r"^Max locked memory\s+(\S+)", _text(proc / pid / "limits"), re.MULTILINE)
    if not match:
        return None
    return UNLIMITED if match.group(1) == "unlimited" else int(match.group(1)) // 1024


def process_named(proc: Path, *names: str) -> str | None:
    """The id of a process with the first of these names that runs."""
    found = {_text(proc / pid / "comm").strip(): pid for pid in _process_ids(proc)}
    return next((found[name] for name in names if name in found), None)


def listening_ports(proc: Path, ports: Collection[int]) -> dict[int, dict[str, Any]]:
    """Those of the TCP ports that something listens on, with what is known about its process.

    ``{10150: {"pid": 812, "process": "python3 gpustack", "container_id": "4f…"}}``. ``pid`` and ``process`` are None
    where the process belongs to somebody else and the caller is not root; ``container_id`` also for a process of the
    host.
    """
    sockets = {inode: port for port, inode, _address in _all_listeners(proc) if port in ports}
    found: dict[int, dict[str, Any]] = {
        port: {"pid": None, "process": None, "container_id": None} for port in sorted(set(sockets.values()))
    }
    host_id = _container_id(proc / "self")  # the host may be a container itself
    for inode, pid in _socket_owners(proc, frozenset(sockets)):
        container_id = _container_id(proc / pid)
        found[sockets[inode]] = {
            "pid": int(pid),
            "process": _process_title(proc / pid),
            "container_id": None if container_id == host_id else container_id,
        }
    return found


def ports_open_to_others(proc: Path, ports: Collection[int]) -> set[int]:
    """Those of the TCP ports that something listens on at more than a loopback address."""
    return {port for port, _inode, address in _all_listeners(proc) if port in ports and not _is_loopback(address)}


def expand_ports(items: Collection[str]) -> set[int]:
    """The ports in a list like ``["10150", "41000-41009"]``.

    Raises ValueError with what was found and what is wanted.
    """
    ports: set[int] = set()
    for item in items:
        match = re.fullmatch(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", item)
        first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (0, 0)
        if not 0 < first <= last < 65536:
            raise ValueError(f"'{item}' is no port: a number from 1 to 65535 or a range like 41000-41009 is wanted")
        ports.update(range(first, last + 1))
    return ports


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _process_ids(proc: Path) -> list[str]:
    try:
        return [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []


def _all_listeners(proc: Path) -> Iterator[tuple[int, str, str]]:
    """Port, socket inode and address, in the kernel's spelling, of every listening line of /proc/net/tcp and tcp6."""
    for table in ("net/tcp", "net/tcp6"):
        for line in _text(proc / table).splitlines()[1:]:
            columns = line.split()
            if len(columns) > 9 and columns[3] == _TCP_LISTEN:
                address, _colon, port = columns[1].rpartition(":")
                yield int(port, 16), columns[9], address


def _is_loopback(address: str) -> bool:
    """Words of 32 bits in the machine's order: 127.0.0.1 is 0100007F, also behind the prefix of a mapped address."""
    if len(address) == 8 or address.startswith("0000000000000000FFFF0000"):
        return address.endswith("7F")
    return address == "00000000000000000000000001000000"


def _socket_owners(proc: Path, inodes: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Inode and process id for each wanted socket, the first process that has it open; stops when all are found."""
    missing = set(inodes)
    for pid in sorted(_process_ids(proc), key=int) if missing else ():
        for inode in _open_sockets(proc / pid) & missing:
            missing.discard(inode)
            yield inode, pid
        if not missing:
            return


def _open_sockets(process: Path) -> set[str]:
    sockets: set[str] = set()
    try:
        descriptors = os.listdir(process / "fd")
    except OSError:
        return sockets
    for descriptor in descriptors:
        try:
            target = os.readlink(process / "fd" / descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            sockets.add(target[len("socket:[") : -1])
    return sockets


def _process_title(process: Path) -> str | None:
    """The program, for an interpreter with the script that it runs. Further arguments may hold secrets."""
    words = _text(process / "cmdline").split("\0")
    program = os.path.basename(words[0].split(" ")[0]) if words and words[0] else _text(process / "comm").strip()
    if _INTERPRETERS.match(program):
        script = next((word for word in words[1:] if word and not word.startswith("-")), "")
        return f"{program} {os.path.basename(script)}".strip()
    return program or None


def _container_id(process: Path) -> str | None:
    """The id of the innermost container of a process, as container engines write it into the cgroup path."""
    ids = _CONTAINER_ID.findall(_text(process / "cgroup"))
    return ids[-1] if ids else None
