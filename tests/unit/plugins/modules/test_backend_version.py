# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack

NAME = "0.17.1-v100-custom"
V100: dict[str, Any] = {
    "name": NAME,
    "image_name": "docker.io/vllm/vllm-openai:v0.17.1",
    "entrypoint": "vllm serve",
    "env": {"LEVEL": 1},
}
OTHER = {"image_name": "example/other:1", "custom_framework": "cuda", "env": None}


@pytest.fixture
def vllm(fake: FakeGPUStack) -> dict[str, Any]:
    return fake.add_backend("vLLM", {"0.16.0-site-custom": OTHER})


def test_create_in_check_mode_writes_nothing(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    answer = call("backend_version", fake, check=True, **V100)
    assert answer["changed"] is True
    assert answer["diff"]["after"] == {
        "image_name": "docker.io/vllm/vllm-openai:v0.17.1",
        "entrypoint": "vllm serve",
        "custom_framework": "cuda",
        "env": {"LEVEL": "1"},
    }
    assert fake.writes() == []


def test_create_keeps_the_other_versions(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    answer = call("backend_version", fake, **V100)
    assert (answer["changed"], fake.writes()) == (True, [("PUT", "/v2/inference-backends/1")])
    assert vllm["version_configs"][NAME]["custom_framework"] == "cuda"
    assert vllm["version_configs"]["0.16.0-site-custom"]["image_name"] == "example/other:1"
    assert vllm["backend_source"] == "built_in"
    assert answer["backend_version"]["backend"] == "vLLM"


def test_second_run_changes_nothing_though_the_server_filled_fields_in(
    fake: FakeGPUStack, vllm: dict[str, Any]
) -> None:
    call("backend_version", fake, **V100)
    assert "built_in_frameworks" in vllm["version_configs"][NAME]
    assert call("backend_version", fake, **V100)["changed"] is False
    assert fake.counts() == {"GET": 3, "login": 1}


def test_update_in_check_mode_shows_the_difference(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    call("backend_version", fake, **V100)
    answer = call("backend_version", fake, check=True, name=NAME, image_name="example/new:2")
    assert answer["diff"] == {
        "before": {"image_name": "docker.io/vllm/vllm-openai:v0.17.1"},
        "after": {"image_name": "example/new:2"},
    }
    assert fake.writes() == []


def test_update_changes_only_what_is_given(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    call("backend_version", fake, **V100)
    assert call("backend_version", fake, name=NAME, image_name="example/new:2")["changed"] is True
    assert vllm["version_configs"][NAME]["entrypoint"] == "vllm serve"
    assert call("backend_version", fake, name=NAME, image_name="example/new:2")["changed"] is False


def test_delete_in_check_mode_and_delete_and_again(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    call("backend_version", fake, **V100)
    assert call("backend_version", fake, check=True, name=NAME, state="absent")["changed"] is True
    assert fake.writes() == []
    assert call("backend_version", fake, name=NAME, state="absent")["changed"] is True
    assert list(vllm["version_configs"]) == ["0.16.0-site-custom"]
    assert call("backend_version", fake, name=NAME, state="absent")["changed"] is False


def test_secret_in_the_environment_is_in_no_output(fake: FakeGPUStack, vllm: dict[str, Any]) -> None:
    secret = {**V100, "env": {"HF_TOKEN": "hf_abcdefgh"}}
    answer = call("backend_version", fake, **secret)
    assert "hf_abcdefgh" not in str(answer)
    assert answer["backend_version"]["env"] == {"HF_TOKEN": "********"}
    assert vllm["version_configs"][NAME]["env"] == {"HF_TOKEN": "hf_abcdefgh"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "0.17.1-v100"}, "GPUStack wants the name of an added version to end in '-custom'."),
        ({"name": NAME}, "vLLM has no version '0.17.1-v100-custom' yet, and nothing says what it is. Set image_name."),
        ({"name": NAME, "backend": "vllm"}, "There is no inference backend 'vllm'; there are: vLLM."),
        ({"name": NAME, "image_name": "x", "env": {"A": True}}, "env has values that are neither text nor number: A."),
    ],
)
def test_nonsense_is_refused(fake: FakeGPUStack, vllm: dict[str, Any], options: dict[str, Any], message: str) -> None:
    assert message in call("backend_version", fake, **options)["msg"]
    assert fake.writes() == []
