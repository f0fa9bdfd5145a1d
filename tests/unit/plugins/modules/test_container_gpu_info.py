# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import container_gpu_info

CARD = "Tesla V100-PCIE-32GB (UUID: GPU-1)"


@pytest.fixture(name="host")
def fixture_host(tmp_path, monkeypatch):
    """A Docker engine whose containers see one card, until the file lost appears; calls are written down."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    docker = f"""
echo "docker $*" >>{tmp_path}/calls
case $1 in
    run) echo 4f9d ;;
    exec) if [ -e {tmp_path}/lost ]; then echo 'Failed to initialize NVML: Unknown Error'; exit 255; fi
          echo 'GPU 0: {CARD}' ;;
esac"""
    fake_command(tmp_path / "bin", "docker", docker)
    fake_command(tmp_path / "bin", "systemctl", f'echo "systemctl $*" >>{tmp_path}/calls')
    return tmp_path


def test_the_same_container_is_asked_before_and_after_the_reload(host):
    seen = run_module(container_gpu_info.main, {"image": "gpustack/gpustack:v2.1.1"})
    assert (seen["changed"], seen["gpus"], seen["gpus_after_reload"]) == (False, [CARD], [CARD])
    assert (host / "calls").read_text().splitlines() == [
        "docker run --detach --rm --pull never --network none --runtime nvidia --env NVIDIA_VISIBLE_DEVICES=all "
        "--env NVIDIA_DRIVER_CAPABILITIES=utility --entrypoint sleep gpustack/gpustack:v2.1.1 600",
        "docker exec 4f9d nvidia-smi -L",
        "systemctl daemon-reload",
        "docker exec 4f9d nvidia-smi -L",
        "docker rm --force 4f9d",
    ]


def test_a_reload_that_takes_the_devices_away(host):
    fake_command(host / "bin", "systemctl", f"touch {host}/lost")
    seen = run_module(container_gpu_info.main, {"image": "i"})
    assert (seen["gpus"], seen["gpus_after_reload"]) == ([CARD], [])
    assert (host / "calls").read_text().splitlines()[-1] == "docker rm --force 4f9d"


def test_the_container_goes_also_where_systemd_fails(host):
    fake_command(host / "bin", "systemctl", "echo 'Access denied' >&2; exit 1")
    message = run_module(container_gpu_info.main, {"image": "i"})["msg"]
    assert message.startswith("systemd cannot be reloaded: Access denied. Wanted is a running Docker engine")
    assert (host / "calls").read_text().splitlines()[-1] == "docker rm --force 4f9d"


def test_an_engine_that_does_not_know_the_runtime(host):
    fake_command(host / "bin", "docker", "echo 'docker: unknown or invalid runtime name: nvidia' >&2; exit 125")
    message = run_module(container_gpu_info.main, {"image": "i"})["msg"]
    assert "unknown or invalid runtime name: nvidia" in message
    assert not (host / "calls").exists()


def test_no_container_in_check_mode(host):
    assert run_module(container_gpu_info.main, {"image": "i"}, check_mode=True)["changed"] is False
    assert not (host / "calls").exists()
