# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who tries what, and what is said of how it went."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import problems_of
from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight.connection_plan import connections_of

WORKERS = {"a": {"ip": "10.0.0.1", "interface": "eth0"}, "b": {"ip": "10.0.0.2", "interface": "eth0"}}
PORTS = {"10150": "worker API", "41000-41999": "Ray"}


def plan(host, servers=("s",), url="http://10.0.0.9"):
    return connections_of(host, WORKERS, servers, url, PORTS, ["10150"])


def test_workers_try_each_other_and_the_server_and_the_server_tries_the_workers():
    assert plan("a") == {
        "listen": ["10150", "41000-41999"],
        "targets": {
            "b": {"address": "10.0.0.2", "ports": ["10150", "41000-41999"]},
            "s": {"address": "10.0.0.9", "ports": ["80"]},
        },
    }
    assert plan("s") == {
        "listen": ["80"],
        "targets": {
            "a": {"address": "10.0.0.1", "ports": ["10150"]},
            "b": {"address": "10.0.0.2", "ports": ["10150"]},
        },
    }


def test_a_server_outside_the_inventory_is_a_target_under_its_address():
    assert plan("a", servers=[], url="https://gpustack.example.org")["targets"]["gpustack.example.org"] == {
        "address": "gpustack.example.org",
        "ports": ["443"],
    }


def test_a_host_that_is_both_does_not_try_itself():
    assert plan("a", servers=["a"], url="http://10.0.0.1:30080") == {
        "listen": ["10150", "41000-41999", "30080"],
        "targets": {"b": {"address": "10.0.0.2", "ports": ["10150", "41000-41999"]}},
    }


def test_a_host_that_is_neither_tries_nothing():
    assert plan("other") == {"listen": [], "targets": {}}


def test_a_server_without_an_address_is_an_error():
    with pytest.raises(ValueError, match=r"one like http://192\.0\.2\.10 is wanted"):
        plan("a", url="gpustack")


def answer(**changes):
    fine = {"source_address": "10.0.0.1", "large_transfer": True, "problem": None}
    return {"address": "10.0.0.2", **fine, **{kind: [] for kind in ("refused", "timed_out", "unreachable")}, **changes}


def found(changes, listener=None, mtus=None, **more):
    """What is said when host a gets this answer from host b."""
    mtus = mtus or {"a": 1500, "b": 1500}
    interfaces = {"a": {"eth0": ["10.0.0.1"]}, "b": {"eth0": ["10.0.0.2"]}}
    fleet = {
        "hosts": {host: {"interface_mtu": {"eth0": mtus[host]}, "interfaces": interfaces[host]} for host in WORKERS},
        "workers": WORKERS,
        "connection_ports": PORTS,
        "listeners": {"b": listener or {"listening": ["41000-41999"], "held": ["10150"]}},
        "connections": {"a": {"b": answer(**changes)}},
        **more,
    }
    return [(problem["code"], problem["hosts"], problem["found"]) for problem in problems_of(fleet)]


@pytest.mark.parametrize(
    ("changes", "code", "hosts", "said"),
    [
        (
            {"timed_out": ["10150", "41000-41009"]}, "connection_dropped", ["b"],
            "b (10.0.0.2) does not answer a on port 10150 (worker API), 41000-41009 (Ray):"
            " a firewall drops the packets",
        ),
        (
            {"refused": ["10150"]}, "connection_rejected", ["b"],
            "b (10.0.0.2) refuses a on port 10150 (worker API): a firewall rejects them, or what listens there does so"
            " on another address",
        ),
        (
            {"unreachable": ["22", "41005"]}, "host_unreachable", ["b"],
            "b (10.0.0.2) is unreachable for a on port 41005 (Ray), 22: no route, or a firewall rejects the packets",
        ),
        ({"problem": "b.example cannot be resolved"}, "host_unreachable", ["a"], "b.example cannot be resolved"),
        (
            {"large_transfer": False}, "large_packets_lost", ["a", "b"],
            "connections to b come up, and full-sized packets from it never arrive (MTU 1500 on a, MTU 1500 on b)",
        ),
        ({"source_address": "10.1.0.1"}, "worker_route_differs", ["a"], "connections to b leave from 10.1.0.1"),
    ],
)  # fmt: skip
def test_an_answer(changes, code, hosts, said):
    assert found(changes) == [(code, hosts, said)]


def test_nothing_wrong():
    assert found({}) == []
    assert found({"large_transfer": None}) == []


def test_a_refusal_where_nothing_listens_is_no_firewall():
    assert found({"refused": ["41000-41999"]}, {"listening": ["41001-41999"], "held": []}) == [
        (
            "connection_rejected",
            ["b"],
            "b (10.0.0.2) refuses a on port 41001-41999 (Ray): a firewall rejects them, or what listens there does so"
            " on another address",
        )
    ]
    assert found({"refused": ["41000"]}, {"listening": [], "held": []}) == []


def test_a_server_of_which_nobody_knows_whether_it_listens_counts_when_it_refuses():
    connections = {"a": {"10.0.0.9": answer(address="10.0.0.9", refused=["80"])}}
    ((code, hosts, _said),) = found({}, connections=connections)
    assert (code, hosts) == ("connection_rejected", ["10.0.0.9"])


def test_many_ranges_are_counted():
    ((_code, _hosts, said),) = found({"timed_out": [str(port) for port in range(41000, 41020, 2)]})
    assert "41000, 41002, 41004, 41006, 41008, 41010 and 4 more ranges (Ray)" in said


def test_several_hosts_with_the_same_trouble_are_one_problem():
    both = {"a": {"b": answer(timed_out=["10150"])}, "s": {"b": answer(timed_out=["10150"], source_address=None)}}
    ((_code, _hosts, said),) = found({}, connections=both)
    assert said.startswith("b (10.0.0.2) does not answer a, s on port 10150")


def test_the_remedy_names_the_addresses_to_let_in():
    fleet = {"hosts": {}, "connections": {"s": {"b": answer(timed_out=["10150"], source_address="10.0.0.9")}}}
    (problem,) = problems_of(fleet)
    assert problem["remedy"].startswith("Let TCP from 10.0.0.9 pass on b ")


@pytest.mark.parametrize(
    ("mtus", "expected"),
    [
        ({"a": 9000, "b": 9000}, []),
        ({"a": 9000, "b": 1500}, [("mtu_differs", ["a", "b"], "MTU 9000 on a, MTU 1500 on b")]),
        ({"a": 1450, "b": 1450}, [("mtu_small", ["a", "b"], "MTU 1450 on eth0")]),
    ],
)
def test_mtu(mtus, expected):
    assert found({}, mtus=mtus) == expected
