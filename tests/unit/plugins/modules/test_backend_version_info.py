# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_only_added_versions_are_told_by_backend_and_name(fake: FakeGPUStack) -> None:
    fake.add_backend("vLLM", {"b-custom": {"image_name": "b"}, "a-custom": {"image_name": "a", "entrypoint": ""}})
    fake.add_backend("llama.cpp", {"cuda": {"image_name": "x", "built_in_frameworks": ["cuda"]}})
    fake.add_backend("SGLang", {"z-custom": {"image_name": "z", "env": {"API_KEY": "0123456789"}}})
    versions = call("backend_version_info", fake)["backend_versions"]
    assert [(version["backend"], version["name"]) for version in versions] == [
        ("SGLang", "z-custom"),
        ("vLLM", "a-custom"),
        ("vLLM", "b-custom"),
    ]
    assert versions[0]["env"] == {"API_KEY": "********"}
    assert versions[1]["entrypoint"] is None


def test_one_backend(fake: FakeGPUStack) -> None:
    fake.add_backend("vLLM", {"a-custom": {"image_name": "a"}})
    fake.add_backend("SGLang", {"z-custom": {"image_name": "z"}})
    assert [v["name"] for v in call("backend_version_info", fake, backend="vLLM")["backend_versions"]] == ["a-custom"]


def test_backend_that_is_not_there_is_an_error(fake: FakeGPUStack) -> None:
    assert (
        "There is no inference backend 'x'; there are: none." in call("backend_version_info", fake, backend="x")["msg"]
    )
