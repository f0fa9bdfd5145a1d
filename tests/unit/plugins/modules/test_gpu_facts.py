# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module
from smi_outputs import codes, each, recorded

from ansible_collections.gpuops.gpustack.plugins.modules import gpu_facts

ANSWERS = {
    "-q -x": recorded("xml-v100-pcie-2x.xml"),
    "topo -m": recorded("topo-v100-ring.txt"),
    "topo -p2p r": " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n",
}


@pytest.fixture(name="host")
def fixture_host(tmp_path, monkeypatch):
    """A host with an nvidia-smi in PATH that answers from files, an empty sysfs, and a record of the calls."""
    for number, output in enumerate(ANSWERS.values()):
        (tmp_path / f"answer{number}").write_text(output)
    cases = "".join(f"'{command}') cat {tmp_path}/answer{n};;" for n, command in enumerate(ANSWERS))
    fake_command(tmp_path / "bin", "nvidia-smi", f'echo "$*" >>{tmp_path}/calls; case "$*" in {cases} *) exit 3;; esac')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "sys").mkdir()
    return tmp_path


def gather(host, arguments=None, **internal):
    result = run_module(gpu_facts.main, {"sysfs_root": str(host / "sys"), **(arguments or {})}, **internal)
    assert result["changed"] is False
    return result["ansible_facts"]["gpustack_gpu"]


def test_facts_of_two_cards(host):
    facts = gather(host)
    assert set(facts) == {"driver_version", "cuda_version", "devices", "links", "nvlink", "problems"}
    assert facts["driver_version"] == "580.65.06"
    assert each(facts, "compute_capability") == ["7.0", "7.0"]
    assert facts["links"] == {"0-1": {"topology": "NV2", "nvlinks": 2, "p2p_read": True}}
    assert facts["nvlink"] == "full"
    assert facts["problems"] == []


def test_check_mode_gathers_as_well(host):
    assert gather(host, check_mode=True) == gather(host)


def test_facts_are_the_same_every_time(host):
    assert gather(host) == gather(host)


def test_named_executable(host):
    other = fake_command(host / "other", "smi", "echo 'No devices were found'; exit 6")
    facts = gather(host, {"nvidia_smi": str(other)})
    assert codes(facts) == ["no_devices"]
    assert not (host / "calls").exists()


def test_host_without_driver_and_card(host):
    facts = gather(host, {"nvidia_smi": "/nowhere/nvidia-smi"})
    assert facts["devices"] == []
    assert codes(facts) == ["no_gpu"]
    assert "/nowhere/nvidia-smi" in facts["problems"][0]["message"]


def test_host_without_driver_and_with_a_card(host):
    path = host / "sys/bus/pci/devices/0000:3b:00.0"
    path.mkdir(parents=True)
    for name, value in (("vendor", "0x10de"), ("device", "0x1db6"), ("class", "0x030200")):
        (path / name).write_text(value)
    facts = gather(host, {"nvidia_smi": "/nowhere/nvidia-smi"})
    assert each(facts, "name") == ["Tesla V100-PCIE-32GB"]
    assert each(facts, "architecture") == ["volta"]
    assert each(facts, "usable") == [False]
    assert codes(facts) == ["nvidia_smi_missing"]


def test_hung_driver(host):
    hung = fake_command(host / "other", "smi", "exec sleep 600")
    facts = gather(host, {"nvidia_smi": str(hung), "timeout_seconds": 1})
    assert set(codes(facts)) == {"nvidia_smi_timeout"}
    assert "within 1 s" in facts["problems"][0]["message"]


@pytest.mark.parametrize("seconds", [0, -5])
def test_time_out_that_leaves_no_time(host, seconds):
    result = run_module(gpu_facts.main, {"timeout_seconds": seconds})
    assert result["failed"] is True
    assert f"timeout_seconds is {seconds}, wanted 1 or more" in result["msg"]
    assert not (host / "calls").exists()
