# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import procfs

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
CONTAINER = "ab" * 32
OUTER_CONTAINER = "cd" * 32


def line(address, state, inode):
    return f"   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


@pytest.fixture(name="proc")
def fixture_proc(tmp_path):
    """A host where GPUStack's worker listens on 10150 (IPv4 and IPv6), nginx on 10151; a client talks from 41000."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(
        HEADER
        + line("00000000:27A6", "0A", 501)  # 10150
        + line("0100007F:27A7", "0A", 502)  # 10151
        + line("0B0000C0:A028", "01", 503)  # 41000, connected, not listening
        + line("00000000:0016", "0A", 504)  # 22
        + "broken\n"
    )
    (tmp_path / "net/tcp6").write_text(HEADER + line("0" * 32 + ":27A6", "0A", 505))
    (tmp_path / "meminfo").write_text("MemTotal:       263835648 kB\nMemFree:  1 kB\n")
    processes = {
        "812": ("python3", "/usr/bin/python3\0-u\0/opt/gpustack/bin/gpustack\0start\0--token\0secret\0", [501, 505], 2),
        "900": ("nginx", "nginx: master process /usr/sbin/nginx\0", [502], 0),
        "77": ("containerd", "/usr/bin/containerd\0", [], 0),
    }
    for pid, (comm, cmdline, inodes, containers) in processes.items():
        process = tmp_path / pid
        (process / "fd").mkdir(parents=True)
        (process / "comm").write_text(comm + "\n")
        (process / "cmdline").write_text(cmdline)
        (process / "cgroup").write_text(
            f"0::/docker/{OUTER_CONTAINER}/docker/{CONTAINER}\n" if containers else "0::/system.slice/x.service\n"
        )
        (process / "limits").write_text(
            "Limit                     Soft Limit           Hard Limit           Units\n"
            f"Max locked memory         {'unlimited' if pid == '77' else '8388608'}      unlimited            bytes\n"
        )
        for number, inode in enumerate(inodes):
            (process / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
        (process / "fd" / "9").symlink_to("/dev/null")
    return tmp_path


def test_listeners_have_their_process_and_innermost_container(proc):
    assert procfs.listening_ports(proc, {10150, 10151, 41000}) == {
        10150: {"pid": 812, "process": "python3 gpustack", "container_id": CONTAINER},
        10151: {"pid": 900, "process": "nginx:", "container_id": None},
    }


def test_on_a_host_that_is_a_container_its_own_processes_are_the_hosts(proc):
    (proc / "self").mkdir()
    for process in ("self", "900"):
        (proc / process / "cgroup").write_text(f"0::/docker/{OUTER_CONTAINER}/system.slice/x.service\n")
    listeners = procfs.listening_ports(proc, {10150, 10151})
    assert {port: listener["container_id"] for port, listener in listeners.items()} == {10150: CONTAINER, 10151: None}


def test_a_process_that_cannot_be_seen_still_has_the_port(proc):
    assert procfs.listening_ports(proc, {22}) == {22: {"pid": None, "process": None, "container_id": None}}


def test_without_a_proc_nothing_is_known(tmp_path):
    nowhere = tmp_path / "nowhere"
    assert procfs.listening_ports(nowhere, {22}) == {}
    assert procfs.memory_total_mib(nowhere) is None
    assert procfs.memlock_limit_kib(nowhere, "1") is None
    assert procfs.process_named(nowhere, "containerd") is None


def test_memory_and_limits(proc):
    assert procfs.memory_total_mib(proc) == 257652
    assert procfs.process_named(proc, "containerd") == "77"
    assert procfs.process_named(proc, "dockerd", "nginx") == "900"
    assert procfs.memlock_limit_kib(proc, "77") == procfs.UNLIMITED
    assert procfs.memlock_limit_kib(proc, "812") == 8192


@pytest.mark.parametrize(
    ("items", "ports"),
    [
        ([], set()),
        (["22"], {22}),
        (["41000-41002", "22"], {22, 41000, 41001, 41002}),
        ([" 1 - 2 "], {1, 2}),
        (["5-5"], {5}),
    ],
)
def test_ports_and_ranges(items, ports):
    assert procfs.expand_ports(items) == ports


@pytest.mark.parametrize("item", ["", "x", "0", "65536", "10-9", "1-", "-1", "1-70000", "1,2"])
def test_what_is_no_port_is_named(item):
    with pytest.raises(ValueError, match=f"^'{item}' is no port: a number from 1 to 65535 or a range like 41000-41009"):
        procfs.expand_ports([item])


def test_ports_that_other_hosts_can_reach(tmp_path):
    rows = {
        "tcp": ["0100007F:A171", "00000000:27A6", "0B001EAC:27A7"],
        "tcp6": [
            "00000000000000000000000001000000:A172",
            "0000000000000000FFFF00000100007F:A173",
            "00000000000000000000000000000000:A174",
        ],
    }
    (tmp_path / "net").mkdir()
    for table, addresses in rows.items():
        lines = [f" 0: {address} 0:0 0A 0:0 0:0 0 0 0 77 1" for address in addresses]
        (tmp_path / "net" / table).write_text("\n".join(["header", *lines]))
    every = {0xA171, 0xA172, 0xA173, 0xA174, 0x27A6, 0x27A7, 1}
    assert procfs.ports_open_to_others(tmp_path, every) == {0x27A6, 0x27A7, 0xA174}
