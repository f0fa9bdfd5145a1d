# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_keys_by_name_without_their_secrets(fake: FakeGPUStack, tmp_path: Path) -> None:
    for name in ("b", "a"):
        call("api_key", fake, name=name, path=str(tmp_path / name))
    answer = call("api_key_info", fake)
    assert [key["name"] for key in answer["api_keys"]] == ["a", "b"]
    assert (answer["api_keys"][0]["scope"], answer["api_keys"][0]["expires_at"]) == (None, None)
    assert not any(secret in str(answer) for secret in fake.secrets.values())


def test_one_key_or_none(fake: FakeGPUStack, tmp_path: Path) -> None:
    call("api_key", fake, name="a", path=str(tmp_path / "a"))
    assert [key["name"] for key in call("api_key_info", fake, name="a")["api_keys"]] == ["a"]
    assert call("api_key_info", fake, name="aa")["api_keys"] == []
