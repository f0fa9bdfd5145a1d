# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack


@pytest.fixture
def key(tmp_path: Path) -> dict[str, Any]:
    return {
        "name": "load-test",
        "description": "Load test",
        "allowed_model_names": ["b", "a"],
        "path": str(tmp_path / "key"),
    }


def file_of(key: dict[str, Any]) -> Path:
    return Path(key["path"])


def secret_of(fake: FakeGPUStack) -> str:
    (secret,) = fake.secrets.values()
    return secret


def test_create_in_check_mode_writes_nothing(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    answer = call("api_key", fake, check=True, **key)
    assert answer["changed"] is True
    assert answer["diff"]["after"]["secret"] == f"in {key['path']}"
    assert fake.writes() == []
    assert not file_of(key).exists()


def test_create_writes_the_secret_to_a_file_of_its_owner_and_tells_it_nowhere(
    fake: FakeGPUStack, key: dict[str, Any]
) -> None:
    answer = call("api_key", fake, **key)
    assert fake.writes() == [("POST", "/v2/api-keys")]
    assert file_of(key).read_text() == secret_of(fake) + "\n"
    assert stat.S_IMODE(file_of(key).stat().st_mode) == 0o600
    assert secret_of(fake) not in str(answer)
    assert answer["api_key"]["name"] == "load-test"
    assert [path.name for path in file_of(key).parent.iterdir()] == ["key"]


def test_secret_as_a_variable(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    key["variable"] = "vault_key"
    call("api_key", fake, **key)
    assert file_of(key).read_text() == f'---\nvault_key: "{secret_of(fake)}"\n'
    assert call("api_key", fake, **key)["changed"] is False


def test_second_run_changes_nothing(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    assert call("api_key", fake, **{**key, "allowed_model_names": ["a", "b"]})["changed"] is False
    # Version, credentials, the key by its name, and whether the server takes what is in the file.
    assert fake.counts() == {"GET": 4, "login": 1}


def test_update_in_check_mode_and_update(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    key["description"] = "Load test of the night"
    answer = call("api_key", fake, check=True, **key)
    assert answer["diff"] == {
        "before": {"description": "Load test"},
        "after": {"description": "Load test of the night"},
    }
    assert fake.writes() == []
    assert call("api_key", fake, **key)["changed"] is True
    (stored,) = fake.api_keys.values()
    assert (stored["description"], stored["allowed_model_names"]) == ("Load test of the night", ["b", "a"])
    assert call("api_key", fake, **key)["changed"] is False


def test_lost_file_is_an_error_that_says_what_to_do(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    file_of(key).unlink()
    answer = call("api_key", fake, **key)
    assert "GPUStack tells a key only once. Put the file back, or set recreate" in answer["msg"]
    assert fake.writes() == []


def test_lost_file_is_made_anew_with_recreate(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    old = secret_of(fake)
    file_of(key).unlink()
    answer = call("api_key", fake, **key, recreate=True)
    assert [method for method, _path in fake.writes()] == ["DELETE", "POST"]
    assert answer["diff"]["before"] == {"secret": "lost"}
    assert file_of(key).read_text().strip() == secret_of(fake) != old


def test_key_that_was_lost_on_its_way_is_made_anew(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    fake.faults = [None, None, None, None, "lost"]
    assert call("api_key", fake, **key)["failed"] is True
    assert (len(fake.api_keys), file_of(key).read_text()) == (1, "")
    assert call("api_key", fake, **key)["changed"] is True
    assert file_of(key).read_text().strip() == secret_of(fake)
    assert call("api_key", fake, **key)["changed"] is False


def test_file_with_the_key_of_another_server_is_an_error(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    fake.trusts_localhost = False
    call("api_key", fake, **key)
    file_of(key).write_text("gpustack_1_2\n")
    assert "does not hold API key 'load-test' of this server" in call("api_key", fake, **key)["msg"]
    assert call("api_key", fake, **key, recreate=True)["changed"] is True


def test_file_that_holds_something_else_is_not_overwritten_by_a_new_key(
    fake: FakeGPUStack, key: dict[str, Any]
) -> None:
    file_of(key).write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    answer = call("api_key", fake, **key)
    assert "holds something, and this server has no API key 'load-test'" in answer["msg"]
    assert (file_of(key).read_text()[:14], fake.api_keys) == ("$ANSIBLE_VAULT", {})
    assert call("api_key", fake, **key, recreate=True)["changed"] is True


def test_file_of_several_lines_is_no_key(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    file_of(key).write_text("one\ntwo\n")
    assert "does not hold API key 'load-test' of this server" in call("api_key", fake, **key)["msg"]


def test_file_that_somebody_has_encrypted_is_left_alone(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    file_of(key).write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    assert call("api_key", fake, **key)["changed"] is False


def test_delete_in_check_mode_and_delete_and_again(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    call("api_key", fake, **key)
    gone = {"name": "load-test", "path": key["path"], "state": "absent"}
    assert call("api_key", fake, check=True, **gone)["changed"] is True
    assert (fake.writes(), file_of(key).exists()) == ([], True)
    assert call("api_key", fake, **gone)["changed"] is True
    assert (fake.api_keys, file_of(key).exists()) == ({}, False)
    assert call("api_key", fake, **gone)["changed"] is False


def test_nothing_is_made_where_the_file_could_not_be_written(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    key["path"] = "/nowhere/key"
    assert "/nowhere has to be a directory one may write to" in call("api_key", fake, **key)["msg"]
    assert fake.writes() == []


def test_scope_on_a_server_that_does_not_know_it(fake: FakeGPUStack, key: dict[str, Any]) -> None:
    answer = call("api_key", fake, **key, scope=["inference"])
    assert "scope of an API key needs GPUStack 2.2.0" in answer["msg"]
    assert fake.writes() == []
