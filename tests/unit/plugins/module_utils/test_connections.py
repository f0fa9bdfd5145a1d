# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real sockets on this machine."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import connections

LOOPBACK = "127.0.0.1"


def free_ports(number):
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _each in range(number)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return sorted(one.getsockname()[1] for one in sockets)


@contextmanager
def serving(ports):
    """The listener's loop on these ports, ended through its control socket."""
    ours, theirs = socket.socketpair()
    listeners = connections.bind(ports, LOOPBACK)
    thread = Thread(target=connections.serve, args=(list(listeners.values()), theirs, 60))
    thread.start()
    try:
        yield set(listeners)
    finally:
        ours.send(b"x")
        thread.join()
        for one in (*listeners.values(), ours, theirs):
            one.close()


def tried(ports, timeout_s=5.0, address=LOOPBACK):
    return connections.try_targets({"b": {"address": address, "ports": set(ports)}}, timeout_s)["b"]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [([], []), ([7], ["7"]), ([3, 1, 2, 7], ["1-3", "7"]), (range(41000, 42000), ["41000-41999"])],
)
def test_ranges(ports, expected):
    assert connections.ranges(ports) == expected


def test_ports_of_a_listener_are_connected_and_large_packets_arrive():
    ports = free_ports(40)
    with serving(ports) as bound:
        result = tried(ports)
    assert bound == set(ports)
    assert result["connected"] == connections.ranges(ports)
    assert (result["refused"], result["timed_out"], result["unreachable"]) == ([], [], [])
    assert (result["source_address"], result["large_transfer"], result["problem"]) == (LOOPBACK, True, None)


def test_a_port_where_nothing_listens_is_refused():
    (port,) = free_ports(1)
    result = tried([port])
    assert (result["refused"], result["source_address"], result["large_transfer"]) == ([str(port)], None, None)


def received(client):
    """What a client sends until it hangs up, with a reset or without."""
    with client, suppress(ConnectionResetError):
        return client.recv(100)
    return b""


def test_what_listens_by_itself_is_connected_and_sent_nothing():
    with socket.create_server((LOOPBACK, 0)) as server:
        server.settimeout(5)
        port = server.getsockname()[1]
        result = tried([port], timeout_s=0.2)
        assert [received(server.accept()[0]) for _each in range(2)] == [b"", b""]
    assert (result["connected"], result["large_transfer"]) == ([str(port)], None)


def test_a_port_that_is_taken_is_left_alone():
    with socket.create_server((LOOPBACK, 0)) as server:
        assert connections.bind([server.getsockname()[1]], LOOPBACK) == {}


def test_no_answer_is_a_time_out():
    with socket.socket() as server, ExitStack() as stack:
        server.bind((LOOPBACK, 0))
        server.listen(0)
        for _each in range(2):  # with its queue full, the kernel answers nobody, as behind a firewall that drops
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        assert tried([server.getsockname()[1]], timeout_s=0.3)["timed_out"] == [str(server.getsockname()[1])]


def test_the_first_port_of_a_silent_range_speaks_for_it(monkeypatch):
    answers = iter(
        [
            {
                ("b", 1): ("refused", None),
                ("b", 2): ("timed_out", None),
                ("b", 3): ("timed_out", None),
                ("b", 9): ("timed_out", None),
            },
            {("b", 2): ("refused", None), ("b", 9): ("timed_out", None)},
        ]
    )
    attempted = []
    monkeypatch.setattr(
        connections,
        "_connect_all",
        lambda attempts, _timeout_s: attempted.append([each[1] for each in attempts]) or next(answers),
    )
    result = tried([1, 2, 3, 9])
    assert attempted == [[1, 2, 3, 9], [2, 9]]
    assert (result["refused"], result["timed_out"]) == (["1-3"], ["9"])


def test_a_name_without_an_address_is_a_problem():
    result = tried([80], address="no-such-host.invalid")
    assert result["problem"].startswith("no-such-host.invalid cannot be resolved")
    assert result["connected"] == []


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (0, "connected"),
        (errno.ECONNREFUSED, "refused"),
        (errno.ETIMEDOUT, "timed_out"),
        (errno.EHOSTUNREACH, "unreachable"),
        (errno.ENETUNREACH, "unreachable"),
    ],
)
def test_what_an_error_says(error, outcome):
    assert connections.outcome_of(error) == outcome


def test_a_transfer_that_breaks_off_is_told():
    def cut(server):
        for _each in range(2):
            client, _address = server.accept()
            with client, suppress(ConnectionResetError):  # the first one only looked whether the port answers
                client.send(connections.GREETING)
                client.recv(1)

    with socket.create_server((LOOPBACK, 0)) as server:
        thread = Thread(target=cut, args=(server,))
        thread.start()
        result = tried([server.getsockname()[1]])
        thread.join()
    assert result["large_transfer"] is False


def test_in_the_background_until_told_to_stop(monkeypatch):
    monkeypatch.setattr(connections, "CONTROL", f"\0gpuops-test-{free_ports(1)[0]}")
    assert connections.stop_listening() is False
    (port,) = free_ports(1)
    connections.listen_in_background(connections.bind([port], LOOPBACK), 60)
    try:
        assert tried([port])["connected"] == [str(port)]
    finally:
        assert connections.stop_listening() is True
    assert tried([port])["refused"] == [str(port)]


def test_a_second_one_takes_the_place_of_the_first(monkeypatch):
    monkeypatch.setattr(connections, "CONTROL", f"\0gpuops-test-{free_ports(1)[0]}")
    first, second = free_ports(2)
    connections.listen_in_background(connections.bind([first], LOOPBACK), 60)
    connections.listen_in_background(connections.bind([second], LOOPBACK), 60)
    try:
        result = tried([first, second])
    finally:
        connections.stop_listening()
    assert (result["connected"], result["refused"]) == ([str(second)], [str(first)])


def test_the_time_of_a_listener_ends(monkeypatch):
    monkeypatch.setattr(connections.time, "monotonic", iter([0.0, 61.0]).__next__)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert connections.serve([], theirs, 60) is None
