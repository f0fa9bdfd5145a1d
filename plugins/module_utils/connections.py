# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TCP between hosts, tried: one side listens on many ports at once, the other connects to all of them at once.

Nothing but Python's standard library, because it runs on hosts as they come.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import selectors
import socket
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Optional, Union

# A listener's own address; in Linux's abstract namespace, so that no file is left behind.
CONTROL = "\0gpuops-gpustack-port-listener"
GREETING = b"gpuops.gpustack\n"
# Far more than fits into the packets of a handshake: full-sized packets have to pass.
PAYLOAD_BYTES = 128 * 1024

CONNECTED = "connected"
REFUSED = "refused"
TIMED_OUT = "timed_out"
UNREACHABLE = "unreachable"
OUTCOMES = (CONNECTED, REFUSED, TIMED_OUT, UNREACHABLE)

# A packet that is lost by chance is sent again after 1 s; one that a firewall drops never arrives.
DEFAULT_TIMEOUT_S = 3.0
_IN_FLIGHT = 1024
_FILES = 65536
_READ_BYTES = 65536
# How many of a host's ports to ask for the large transfer; those of GPUStack's own processes do not greet.
_GREETING_ATTEMPTS = 3
_RANGES_TRIED_AGAIN = 5  # Linux's burst of ICMP messages is 6

_Address = Union[tuple[str, int], tuple[str, int, int, int]]
_Attempt = tuple[str, int, int, _Address]  # target, port, family
_Answer = tuple[str, Optional[str]]  # outcome, and the address that a connection came from


def ranges(ports: Collection[int]) -> list[str]:
    """``{1, 2, 3, 7}`` as ``["1-3", "7"]``, in order."""
    found: list[list[int]] = []
    for port in sorted(ports):
        if found and port == found[-1][1] + 1:
            found[-1][1] = port
        else:
            found.append([port, port])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def allow_many_files() -> None:
    """Raises the limit of open files as far as it may be, since each port needs one."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bind(ports: Iterable[int], host: str = "") -> dict[int, socket.socket]:
    """Listening sockets on those of the ports that are free, by port."""
    bound = {}
    for port in ports:
        listener = _bind_one(port, host)
        if listener is not None:
            bound[port] = listener
    return bound


def _bind_one(port: int, host: str) -> socket.socket | None:
    # One socket for both families where the host has IPv6.
    family = socket.AF_INET6 if not host and socket.has_dualstack_ipv6() else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        return None
    return listener


def serve(listeners: Collection[socket.socket], control: socket.socket, lifetime_s: float) -> None:
    """Greets whoever connects and sends a payload to who asks for it, until ``control`` is called or time is over."""
    deadline_s = time.monotonic() + lifetime_s
    pending: dict[socket.socket, int] = {}  # bytes that are still to be sent
    with selectors.DefaultSelector() as selector:
        for listener in (*listeners, control):
            selector.register(listener, selectors.EVENT_READ, data="accept")
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return
            for key, _events in selector.select(left_s):
                one: socket.socket = key.fileobj  # type: ignore[assignment]
                if one is control:
                    return
                try:
                    if key.data == "accept":
                        client, _address = one.accept()
                        client.setblocking(False)
                        client.send(GREETING)
                        selector.register(client, selectors.EVENT_READ, data="read")
                    elif key.data == "read":
                        if not one.recv(1):
                            raise ConnectionResetError
                        pending[one] = PAYLOAD_BYTES
                        selector.modify(one, selectors.EVENT_WRITE, data="write")
                    else:
                        pending[one] -= one.send(bytes(min(pending[one], _READ_BYTES)))
                        if pending[one] <= 0:
                            raise ConnectionResetError
                except (BlockingIOError, InterruptedError):
                    continue
                except OSError:
                    if key.data != "accept":
                        pending.pop(one, None)
                        selector.unregister(one)
                        one.close()


def try_targets(
    targets: Mapping[str, Mapping[str, Any]], timeout_s: float = DEFAULT_TIMEOUT_S
) -> dict[str, dict[str, Any]]:
    """How every port of every target answers.

    ``targets``: ``{name: {"address": host name or address, "ports": set of ports}}``. Of each target: ``address``;
    ``source_address``, from which this host reaches it; the ports as ranges under ``connected``, ``refused`` (answered
    with a refusal), ``timed_out`` (no answer) and ``unreachable``; ``large_transfer``, whether full-sized packets
    arrive (None where nothing was there to send them); ``problem``, a text where the address has no meaning here.
    """
    results = {}
    attempts: list[_Attempt] = []
    for name, target in targets.items():
        results[name] = {"address": target["address"], "source_address": None, "problem": None}
        try:
            family, _type, _protocol, _name, address = socket.getaddrinfo(
                target["address"], 0, type=socket.SOCK_STREAM
            )[0]
        except OSError as error:
            results[name]["problem"] = f"{target['address']} cannot be resolved: {error.strerror or error}"
            continue
        for port in sorted(target["ports"]):
            attempts.append((name, port, family, (address[0], port, *address[2:])))
    outcomes = _connect_all(attempts, timeout_s)
    _try_again(attempts, outcomes, timeout_s)
    for name, result in results.items():
        mine = {port: outcome for (target, port), outcome in outcomes.items() if target == name}
        for kind in OUTCOMES:
            result[kind] = ranges([port for port, (outcome, _source) in mine.items() if outcome == kind])
        result["source_address"] = next((source for _outcome, source in mine.values() if source), None)
        connected = sorted((port for port, (outcome, _source) in mine.items() if outcome == CONNECTED), reverse=True)
        result["large_transfer"] = _large_transfer(result["address"], connected[:_GREETING_ATTEMPTS], timeout_s)
    return results


def outcome_of(error: int) -> str:
    """What an error number of connect() says: a firewall that rejects with an ICMP message looks like a dead route."""
    if error == 0:
        return CONNECTED
    if error in (errno.ECONNREFUSED, errno.ECONNRESET):
        return REFUSED
    return TIMED_OUT if error == errno.ETIMEDOUT else UNREACHABLE


def _connect_all(attempts: Iterable[_Attempt], timeout_s: float) -> dict[tuple[str, int], _Answer]:
    """(target, port) → outcome and the address that the connection came from. Many at once, each with its own time."""
    waiting = deque(attempts)
    outcomes: dict[tuple[str, int], _Answer] = {}
    running: dict[socket.socket, tuple[str, int, float]] = {}  # in order of their ends

    def finish(client: socket.socket, outcome: str) -> None:
        name, port, _end_s = running.pop(client)
        outcomes[name, port] = (outcome, client.getsockname()[0] if outcome == CONNECTED else None)
        selector.unregister(client)
        _hang_up(client)

    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < _IN_FLIGHT:
                name, port, family, address = waiting.popleft()
                client = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                error = client.connect_ex(address)
                if error in (0, errno.EINPROGRESS):
                    running[client] = (name, port, time.monotonic() + timeout_s)
                    selector.register(client, selectors.EVENT_WRITE)
                else:
                    outcomes[name, port] = (outcome_of(error), None)
                    client.close()
            if not running:
                continue
            now_s = time.monotonic()
            first_end_s = next(iter(running.values()))[2]
            for key, _events in selector.select(max(0.0, first_end_s - now_s)):
                client = key.fileobj  # type: ignore[assignment]
                finish(client, outcome_of(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)))
            now_s = time.monotonic()
            for client in [one for one, (_name, _port, end_s) in running.items() if end_s <= now_s]:
                finish(client, TIMED_OUT)
    return outcomes


def _try_again(attempts: Iterable[_Attempt], outcomes: dict[tuple[str, int], _Answer], timeout_s: float) -> None:
    """Tells a rejection from a drop where only some of a range's ports were rejected in time.

    Linux sends few ICMP messages a second to one host (net.ipv4.icmp_ratelimit), so most of a rejected range gets no
    answer. The first port of each range that did not answer is tried once more, and speaks for its range.
    """
    silent = {(name, port) for (name, port), (outcome, _source) in outcomes.items() if outcome == TIMED_OUT}
    firsts = [attempt for attempt in attempts if attempt[:2] in silent and (attempt[0], attempt[1] - 1) not in silent]
    again = _connect_all(firsts[:_RANGES_TRIED_AGAIN], timeout_s)
    for (name, port), answer in again.items():
        while (name, port) in silent:
            outcomes[name, port] = answer
            port += 1


def _large_transfer(address: str, ports: Iterable[int], timeout_s: float) -> bool | None:
    """Whether a listener's payload arrives; None where none of the ports is a listener's."""
    for port in ports:
        try:
            with socket.create_connection((address, port), timeout_s) as client:
                if client.recv(len(GREETING), socket.MSG_WAITALL) != GREETING:
                    continue
                client.sendall(b"\n")
                return _receives(client, PAYLOAD_BYTES, timeout_s)
        except OSError:
            continue
    return None


def _receives(client: socket.socket, wanted: int, timeout_s: float) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while wanted > 0 and time.monotonic() < deadline_s:
        try:
            received = len(client.recv(min(wanted, _READ_BYTES)))
        except OSError:
            return False
        if not received:
            return False
        wanted -= received
    return wanted <= 0


def _hang_up(client: socket.socket) -> None:
    """Closes with a reset: thousands of connections would otherwise keep their ports for a minute."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def listen_in_background(listeners: Mapping[int, socket.socket], lifetime_s: float) -> None:
    """Serves in a process of its own; returns when that is there. Replaces one that is still there."""
    stop_listening()
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    control.bind(CONTROL)
    control.listen(1)
    if os.fork() == 0:
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):  # whoever waits for the end of our output must not wait for us
                os.dup2(null, descriptor)
            serve(list(listeners.values()), control, lifetime_s)
        finally:
            for listener in listeners.values():  # before the control socket, whose end tells that all is over
                listener.close()
            os._exit(0)
    control.close()
    for listener in listeners.values():
        listener.close()


def stop_listening(timeout_s: float = 5.0) -> bool:
    """Ends the process that listens in the background and waits for its end; whether there was one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.settimeout(timeout_s)
        try:
            control.connect(CONTROL)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            control.recv(1)  # ends with the process
        return True
