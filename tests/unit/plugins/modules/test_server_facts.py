# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ssl
from typing import Any
from urllib.error import URLError
from urllib.request import OpenerDirector

import pytest
from api_modules import call
from fake_gpustack import FakeGPUStack
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.module_utils import client
from ansible_collections.gpuops.gpustack.plugins.modules import server_facts


def facts(result: dict[str, Any]) -> dict[str, Any]:
    assert result["changed"] is False
    return result["ansible_facts"]["gpustack_api"]


def test_server_that_answers_and_takes_the_credentials(fake: FakeGPUStack) -> None:
    assert facts(call("server_facts", fake)) == {
        "url": fake.url,
        "answers": True,
        "trusted": True,
        "version": "v2.1.1",
        "supported_from": "2.1.1",
        "supported_below": "2.4.0",
        "model_files": [],
        "problem": None,
    }


def test_wrong_password_is_a_problem_and_no_failure(fake: FakeGPUStack) -> None:
    found = facts(call("server_facts", fake, password="wrong-password"))
    assert (found["answers"], found["version"]) == (True, "v2.1.1")
    assert "refuses the credentials" in found["problem"]
    assert "wrong-password" not in found["problem"]


def test_unknown_release_is_told_by_its_version(fake: FakeGPUStack) -> None:
    fake.version = "v9.0.0"
    found = facts(call("server_facts", fake))
    assert (found["answers"], found["version"], found["problem"]) == (True, "v9.0.0", None)


def test_no_server_is_a_problem_with_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRY_DELAYS_SECONDS", ())
    options = {"server_url": "http://127.0.0.1:9", "username": "admin", "password": "secret-word", "timeout": 1}
    found = facts(run_module(server_facts.main, options))
    assert (found["answers"], found["version"]) == (False, None)
    assert found["problem"].startswith("GPUStack at http://127.0.0.1:9 can't be reached")


def test_server_that_nobody_vouches_for_is_told_from_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        error = ssl.SSLCertVerificationError(1, "certificate verify failed")
        error.verify_message = "self-signed certificate"
        raise URLError(error)

    monkeypatch.setattr(OpenerDirector, "open", refuse)
    options = {"server_url": "https://gpustack.example.com", "username": "admin", "password": "secret-word"}
    found = facts(run_module(server_facts.main, options))
    assert (found["answers"], found["trusted"]) == (False, False)
    assert "is not trusted: self-signed certificate. Name the certificate of the authority" in found["problem"]


def test_address_that_is_none_fails_in_one_sentence() -> None:
    result = run_module(server_facts.main, {"server_url": "gpustack", "username": "admin", "password": "secret-word"})
    assert result["failed"] is True
    assert result["msg"].startswith("server_url is 'gpustack'; wanted is http(s)://host[:port]")
