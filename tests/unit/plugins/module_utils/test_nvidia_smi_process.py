# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import time

import pytest
from module_runner import fake_command
from smi_outputs import recorded

from ansible_collections.gpuops.gpustack.plugins.module_utils.smi.process import asker


@pytest.fixture(name="tool")
def fixture_tool(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return lambda script: str(fake_command(tmp_path, "nvidia-smi", script))


def codes(reading):
    return [problem.code for problem in reading.problems]


def test_stdout_and_stderr_of_a_name_in_path(tool):
    tool("echo 'WARNING: infoROM is corrupted at gpu 0000:67:00.0' >&2; echo 'GPU 0: Tesla T4'; exit 14")
    reading = asker("nvidia-smi", 10)("-L")
    assert [device.name for device in reading.devices] == ["Tesla T4"]
    assert codes(reading) == ["inforom_corrupted"]


def test_arguments_and_language(tool, tmp_path):
    tool(f'echo "$LC_ALL" "$#" "$1" "$2" >{tmp_path}/called')
    asker("nvidia-smi", 10)("topo -m")
    assert (tmp_path / "called").read_text() == "C 2 topo -m\n"


def test_exit_code_without_output(tool):
    assert codes(asker(tool("exit 9"), 10)("-q -x")) == ["driver_not_loaded"]


@pytest.mark.parametrize("name", ["no-such-nvidia-smi", "/no/such/nvidia-smi"])
def test_missing_executable(name):
    reading = asker(name, 10)("-q -x")
    assert codes(reading) == ["nvidia_smi_missing"]
    assert name in reading.problems[0].message


def test_executable_that_cannot_be_executed(tool):
    path = tool("")
    with open(path, "w", encoding="utf-8") as file:
        file.write("no program\n")
    reading = asker(path, 10)("-q -x")
    assert codes(reading) == ["nvidia_smi_failed"]
    assert "Exec format error" in reading.problems[0].message


def test_output_that_is_no_text(tool):
    assert len(asker(tool("head -c 4096 /dev/urandom"), 10)("-q -x").problems) == 1


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"


def test_hung_tool_is_killed_with_its_children(tool, tmp_path):
    ask = asker(tool(f"sleep 600 & echo $! >{tmp_path}/child; echo $$ >{tmp_path}/parent; wait"), 0.5)
    assert codes(ask("-q -x")) == ["nvidia_smi_timeout"]
    pids = [int((tmp_path / name).read_text()) for name in ("parent", "child")]
    for _ in range(200):
        if all(gone(pid) for pid in pids):
            break
        time.sleep(0.05)
    assert all(gone(pid) for pid in pids)


def test_what_a_hung_tool_printed_still_counts(tool, tmp_path):
    (tmp_path / "xml").write_text(recorded("xml-v100-pcie-2x.xml").partition('\t<gpu id="00000000:86')[0])
    reading = asker(tool(f"cat {tmp_path}/xml; exec sleep 600"), 0.5)("-q -x")
    assert [device.pci_bus_id for device in reading.devices] == ["00000000:18:00.0"]
    assert codes(reading) == ["nvidia_smi_timeout"]
    assert "within 0.5 s" in reading.problems[0].message


def test_child_that_leaves_the_group_and_keeps_the_pipe_open_is_not_waited_for(tool, tmp_path):
    ask = asker(tool(f"setsid sh -c 'echo $$ >{tmp_path}/stray; exec sleep 600' & wait"), 3)
    try:
        assert codes(ask("-q -x")) == ["nvidia_smi_timeout"]
    finally:
        os.kill(int((tmp_path / "stray").read_text()), 9)


def test_hung_link_query_tells_nothing_about_nvlink(tool):
    assert asker(tool("exec sleep 600"), 0.5)("nvlink -s").nvlink is None
