# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.modules import engine_chat


class Engine(BaseHTTPRequestHandler):
    asked: list[dict[str, Any]]
    answers: list[tuple[int, Any]]

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, answer = self.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_args: object) -> None:
        """Keep the test's output clean."""


HELLO = (200, {"choices": [{"message": {"content": "Hello."}}]})


@pytest.fixture
def address() -> Iterator[str]:
    Engine.asked, Engine.answers = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def ask(address: str, check: bool = False, **options: Any) -> dict[str, Any]:
    return run_module(
        engine_chat.main, {"address": address, "model": "qwen", "prompt": "Hi.", **options}, check_mode=check
    )


def test_every_question_is_answered(address: str) -> None:
    Engine.answers = [HELLO] * 3
    answer = ask(address, requests=3, max_tokens=5)
    assert (answer["changed"], answer["answers"]) == (False, 3)
    assert answer["slowest_seconds"] >= answer["fastest_seconds"]
    assert Engine.asked[0] == {"model": "qwen", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 5}


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_model_that_still_reasons_has_answered(address: str, field: str) -> None:
    Engine.answers = [(200, {"choices": [{"message": {"content": None, field: "The user greets"}}]})]
    assert ask(address)["answers"] == 1


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ((200, {"choices": [{"message": None}]}), "'NoneType' object has no attribute 'get'"),
        ((500, {}), "HTTP Error 500"),
        ((200, {"choices": [{"message": {"content": ""}}]}), "an answer without text"),
        ((200, {"choices": []}), "list index out of range"),
    ],
)
def test_question_without_an_answer_fails(address: str, bad: tuple[int, Any], why: str) -> None:
    Engine.answers = [bad, HELLO]
    answer = ask(address, requests=2)
    assert answer["failed"] is True
    assert "did not answer 1 of 2 questions" in answer["msg"]
    assert why in answer["msg"]


def test_engine_that_is_not_there_fails() -> None:
    assert "did not answer 1 of 1 questions" in ask("127.0.0.1:9")["msg"]


def test_check_mode_asks_nothing(address: str) -> None:
    assert ask(address, check=True)["answers"] == 0
    assert Engine.asked == []
