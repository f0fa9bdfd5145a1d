# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import socket

import pytest
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.module_utils import connections
from ansible_collections.gpuops.gpustack.plugins.modules import connectivity_facts, port_listener

LOOPBACK = "127.0.0.1"


@pytest.fixture(autouse=True)
def fixture_own_control(monkeypatch):
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        monkeypatch.setattr(connections, "CONTROL", f"\0gpuops-test-{probe.getsockname()[1]}")
    yield
    connections.stop_listening()


def free_port():
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return str(probe.getsockname()[1])


def connect(port):
    targets = {"b": {"address": LOOPBACK, "ports": [port]}}
    result = run_module(connectivity_facts.main, {"targets": targets, "timeout": 2})
    return result["ansible_facts"]["gpustack_connectivity"]["b"]


@pytest.mark.parametrize("check_mode", [False, True])
def test_listen_try_and_listen_no_longer(check_mode):
    port = free_port()
    result = run_module(port_listener.main, {"ports": [port], "lifetime": 30}, check_mode=check_mode)
    assert (result["changed"], result["listening"], result["held"]) == (False, [port], [])
    answer = connect(port)
    assert (answer["connected"], answer["large_transfer"]) == ([port], True)
    assert run_module(port_listener.main, {"state": "absent"})["changed"] is False
    assert connect(port)["refused"] == [port]


def test_a_port_that_is_taken_is_told_and_left_alone():
    with socket.create_server(("", 0)) as server:
        port = str(server.getsockname()[1])
        result = run_module(port_listener.main, {"ports": [port], "lifetime": 30})
        assert (result["listening"], result["held"]) == ([], [port])
        assert connect(port)["connected"] == [port]


def test_what_is_no_port_is_refused():
    result = run_module(port_listener.main, {"ports": ["70000"]})
    assert result["failed"]
    assert result["msg"].startswith("ports: '70000' is no port")


def test_what_listens_for_its_own_host_only_is_not_held():
    with socket.create_server((LOOPBACK, 0)) as server:
        result = run_module(port_listener.main, {"ports": [str(server.getsockname()[1])], "lifetime": 30})
    assert (result["listening"], result["held"]) == ([], [])
