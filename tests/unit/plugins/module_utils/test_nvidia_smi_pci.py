# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.pci import Host, PciCard, read_host


@pytest.fixture(name="sysfs")
def fixture_sysfs(tmp_path):
    def add(address, vendor="0x10de", device="0x1db6", kind="0x030200", driver=None, virtual=False):
        path = tmp_path / "bus/pci/devices" / address
        path.mkdir(parents=True)
        for name, value in (("vendor", vendor), ("device", device), ("class", kind)):
            (path / name).write_text(f"{value}\n")
        if driver:
            holder = tmp_path / "bus/pci/drivers" / driver
            holder.mkdir(parents=True, exist_ok=True)
            (path / "driver").symlink_to(holder)
        if virtual:
            (path / "physfn").symlink_to(path)

    add.root = tmp_path
    return add


def test_cards_by_address_with_what_holds_them(sysfs):
    sysfs("0000:af:00.0", driver="nvidia")
    sysfs("0000:3b:00.0", device="0x1db4", kind="0x030000", driver="nouveau")
    sysfs("0001:00:00.0", device="0x20b0")
    assert read_host(str(sysfs.root)).cards == (
        PciCard("00000000:3B:00.0", 0x1DB4, "nouveau"),
        PciCard("00000000:AF:00.0", 0x1DB6, "nvidia"),
        PciCard("00000001:00:00.0", 0x20B0, None),
    )


def test_what_is_no_card(sysfs):
    sysfs("0000:01:00.0", vendor="0x8086")
    sysfs("0000:02:00.1", kind="0x040300")  # the audio function of a card
    sysfs("0000:03:00.0", kind="0x068000")  # an NVSwitch
    sysfs("0000:04:00.4", virtual=True)
    sysfs("0000:05:00.0", kind="garbage")
    assert read_host(str(sysfs.root)).cards == ()


def test_loaded_module_and_memory(tmp_path):
    (tmp_path / "module/nvidia").mkdir(parents=True)
    (tmp_path / "module/nvidia/version").write_text("580.65.06\n")
    for node, kib in ((0, 1024 * 1000), (1, 1024 * 24)):
        path = tmp_path / f"devices/system/node/node{node}"
        path.mkdir(parents=True)
        (path / "meminfo").write_text(f"Node {node} MemTotal:       {kib} kB\nNode {node} MemFree: 1 kB\n")
    host = read_host(str(tmp_path))
    assert host.module_version == "580.65.06"
    assert host.memory_total_mib == 1024


def test_no_sysfs(tmp_path):
    assert read_host(str(tmp_path / "missing")) == Host()
