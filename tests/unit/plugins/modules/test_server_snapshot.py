# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_everything_is_there_by_name_and_secrets_are_not(fake: FakeGPUStack) -> None:
    cluster = fake.add_cluster("racks", is_default=True)
    worker = fake.add_worker("gpu-worker-a", cluster)
    fake.add_user("alice", is_admin=True)
    fake.add_model("qwen", source="local_path", local_path="/m", backend="vLLM", env={"HF_TOKEN": "hf_abcdefgh"})
    answer = call("server_snapshot", fake)
    snapshot = answer["snapshot"]
    assert answer["changed"] is False
    assert snapshot["worker"]["gpu-worker-a"]["id"] == worker["id"]
    assert snapshot["model"]["qwen"]["env"] == {"HF_TOKEN": "********", **_marker(snapshot)}
    assert snapshot["model route"]["qwen"]["targets"] == 1
    assert snapshot["API key"] == {}
    assert snapshot["user"]["alice"]["is_admin"] is True
    assert fake.writes() == []


def _marker(snapshot: dict) -> dict:
    env = snapshot["model"]["qwen"]["env"]
    return {name: value for name, value in env.items() if name != "HF_TOKEN"}
