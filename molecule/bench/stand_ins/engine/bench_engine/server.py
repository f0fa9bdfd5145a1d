# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's HTTP API: health, models, metrics, chat and completions, streamed or whole."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from . import VLLM_VERSION, tokens, tools
from .engine import FINAL, Engine, Request
from .scheduler import Sequence

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Served:
    """What the API serves and how."""

    names: tuple[str, ...]
    root: str
    max_model_len: int
    auto_tools: bool
    always_usage: bool
    answer_tokens: int
    api_key: str | None
    cache_labels: dict[str, Any]


class BadRequest(Exception):
    """The client's fault; becomes vLLM's error document."""

    def __init__(
        self, message: str, status: int = 400, kind: str = "BadRequestError", parameter: str | None = None
    ) -> None:
        super().__init__(message)
        self.document = {"error": {"message": message, "type": kind, "param": parameter, "code": status}}
        self.status = status


class Api:
    """The routes over one engine."""

    def __init__(self, engine: Engine, served: Served) -> None:
        self._engine = engine
        self._served = served

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._guard], client_max_size=64 << 20)
        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/ping", self._health),
                web.get("/load", self._load),
                web.get("/version", self._version),
                web.get("/metrics", self._metrics),
                web.get("/v1/models", self._models),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completion),
                web.post("/tokenize", self._tokenize),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Checks the API key and turns refusals into vLLM's error documents."""
        key = self._served.api_key
        if key and request.path.startswith("/v1") and request.headers.get("Authorization") != f"Bearer {key}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        try:
            return await handler(request)
        except BadRequest as error:
            return web.json_response(error.document, status=error.status)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            refused = BadRequest(f"The request is not what this API takes: {error!r}")
            return web.json_response(refused.document, status=400)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _load(self, _: web.Request) -> web.Response:
        gauges = self._engine.gauges()
        return web.json_response({"server_load": gauges["num_requests_running"] + gauges["num_requests_waiting"]})

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": VLLM_VERSION})

    async def _metrics(self, _: web.Request) -> web.Response:
        labels = ",".join(f'{name}="{value}"' for name, value in self._served.cache_labels.items())
        page = self._engine.metrics.text(self._engine.gauges())
        page += f"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{labels}}} 1.0\n"
        return web.Response(text=page, content_type="text/plain")

    async def _models(self, _: web.Request) -> web.Response:
        common = {"object": "model", "created": int(time.time()), "owned_by": "vllm", "parent": None}
        limits = {"root": self._served.root, "max_model_len": self._served.max_model_len}
        data = [{"id": name, **common, **limits} for name in self._served.names]
        return web.json_response({"object": "list", "data": data})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        if "messages" in body:
            number = tokens.count_chat(body["messages"], body.get("tools") or [])
        else:
            number = tokens.count(body["prompt"])
        return web.json_response(
            {"count": number, "max_model_len": self._served.max_model_len, "tokens": list(range(number))}
        )

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._check(body)
        choice = body.get("tool_choice", "auto" if body.get("tools") else "none")
        if choice == "auto" and not self._served.auto_tools:
            raise BadRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
        prompt = tokens.count_chat(body["messages"], body.get("tools") or [])
        function = tools.chosen(body)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return await self._answer(request, body, prompt, limit, ChatFormat(body["model"], function))

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._check(body)
        prompt = body["prompt"]
        number = len(prompt) if isinstance(prompt, list) else tokens.count(prompt)
        return await self._answer(request, body, number, body.get("max_tokens", 16), CompletionFormat(body["model"]))

    def _check(self, body: dict[str, Any]) -> None:
        if body["model"] not in self._served.names:
            raise BadRequest(f"The model `{body['model']}` does not exist.", 404, "NotFoundError", "model")
        if body.get("n", 1) != 1:
            raise BadRequest("This stand-in for vLLM answers one choice per request (n=1).")

    def _request(self, body: dict[str, Any], prompt: int, limit: int | None) -> Request:
        """The request with its length decided, as vLLM decides it."""
        longest = self._served.max_model_len
        if prompt >= longest:
            raise BadRequest(
                f"This model's maximum context length is {longest} tokens. However, your request has {prompt} input "
                "tokens. "
                "Please reduce the length of the input messages.",
                parameter="input_tokens",
            )
        if limit is not None and prompt + limit > longest:
            raise BadRequest(
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context length "
                f"is {longest} "
                f"tokens and your request has {prompt} input tokens ({limit} > {longest} - {prompt}).",
                parameter="max_tokens",
            )
        most = limit or longest - prompt
        natural = max(self._served.answer_tokens, body.get("min_tokens") or 0)
        by_itself = not body.get("ignore_eos") and natural <= most
        return Request(Sequence(prompt, natural if by_itself else most), by_itself)

    async def _answer(
        self, http: web.Request, body: dict[str, Any], prompt: int, limit: int | None, form: Format
    ) -> web.StreamResponse:
        request = self._request(body, prompt, limit)
        self._engine.submit(request)
        try:
            if body.get("stream"):
                wanted = (body.get("stream_options") or {}).get("include_usage") or self._served.always_usage
                return await _stream(http, request, form, include_usage=bool(wanted))
            return await _whole(http, request, form)
        except (asyncio.CancelledError, ConnectionError):
            self._engine.abort(request)
            raise


class Format:
    """How an endpoint dresses tokens; the base of both."""

    kind = prefix = ""

    def __init__(self, model: str) -> None:
        self._common = {"id": f"{self.prefix}-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self._words = tokens.answer()

    def word(self) -> str:
        """The text of the next token."""
        return next(self._words)

    def chunk(self, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> dict[str, Any]:
        """One streamed document."""
        document = {
            **self._common,
            "object": f"{self.kind}.chunk" if self.prefix == "chatcmpl" else self.kind,
            "choices": choices,
        }
        return {**document, "usage": usage} if usage else document

    def document(self, choice: dict[str, Any], usage: dict[str, int]) -> dict[str, Any]:
        """The whole answer."""
        return {**self._common, "object": self.kind, "choices": [choice], "usage": usage}

    def opening(self) -> list[dict[str, Any]]:
        """What a stream begins with."""
        return []

    def piece(self, text: str) -> dict[str, Any]:
        raise NotImplementedError

    def ending(self, reason: str) -> dict[str, Any]:
        raise NotImplementedError

    def choice(self, text: str, reason: str) -> dict[str, Any]:
        raise NotImplementedError


class CompletionFormat(Format):
    """/v1/completions."""

    kind, prefix = "text_completion", "cmpl"

    def piece(self, text: str) -> dict[str, Any]:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": None}

    def ending(self, reason: str) -> dict[str, Any]:
        return {"index": 0, "text": "", "logprobs": None, "finish_reason": reason}

    def choice(self, text: str, reason: str) -> dict[str, Any]:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}


class ChatFormat(Format):
    """/v1/chat/completions; with a function, the answer is a call of it."""

    kind, prefix = "chat.completion", "chatcmpl"

    def __init__(self, model: str, function: dict[str, Any] | None) -> None:
        super().__init__(model)
        self._call = tools.call(function) if function else None

    def opening(self) -> list[dict[str, Any]]:
        opening = [{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}]
        if self._call:
            delta = {"tool_calls": [{"index": 0, **self._call}]}
            opening.append({"index": 0, "delta": delta, "logprobs": None, "finish_reason": None})
        return opening

    def piece(self, text: str) -> dict[str, Any]:
        delta = {} if self._call else {"content": text}
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}

    def ending(self, reason: str) -> dict[str, Any]:
        return {"index": 0, "delta": {}, "logprobs": None, "finish_reason": self._reason(reason), "stop_reason": None}

    def choice(self, text: str, reason: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text, "tool_calls": []}
        if self._call:
            message = {"role": "assistant", "content": None, "tool_calls": [self._call]}
        return {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self._reason(reason),
            "stop_reason": None,
        }

    def _reason(self, reason: str) -> str:
        return "tool_calls" if self._call else reason


def _usage(request: Request) -> dict[str, int]:
    sequence = request.sequence
    return {
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": sequence.prompt_tokens + sequence.generated,
        "completion_tokens": sequence.generated,
    }


async def _whole(http: web.Request, request: Request, form: Format) -> web.Response:
    words: list[str] = []
    while len(words) < request.sequence.max_tokens:
        if await request.tokens.get() == FINAL:
            raise ConnectionError("the engine is shutting down")
        if http.transport is None or http.transport.is_closing():
            raise ConnectionError("the client went away")
        words.append(form.word())
    return web.json_response(form.document(form.choice("".join(words), request.finish_reason), _usage(request)))


async def _stream(http: web.Request, request: Request, form: Format, *, include_usage: bool) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
    )
    await response.prepare(http)

    async def send(document: dict[str, Any]) -> None:
        await response.write(f"data: {json.dumps(document)}\n\n".encode())

    for choice in form.opening():
        await send(form.chunk([choice]))
    for _ in range(request.sequence.max_tokens):
        if await request.tokens.get() == FINAL:
            raise ConnectionError("the engine is shutting down")
        await send(form.chunk([form.piece(form.word())]))
    await send(form.chunk([form.ending(request.finish_reason)]))
    if include_usage:
        await send(form.chunk([], _usage(request)))
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response
