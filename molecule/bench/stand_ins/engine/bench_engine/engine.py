# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running engine: drives the scheduler in real time and hands every token to its request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .metrics import Metrics
from .scheduler import Scheduler, Sequence

FINAL = -1


@dataclass
class Request:
    """A sequence with its times; ``tokens`` delivers the number of each new token, FINAL when the engine dropped the
    request."""

    sequence: Sequence
    ends_by_itself: bool
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    last_token: float | None = None
    first_token: float | None = None
    tokens: asyncio.Queue[int] = field(default_factory=asyncio.Queue)

    @property
    def finish_reason(self) -> str:
        return "stop" if self.ends_by_itself else "length"


class Engine:
    """Takes requests and runs steps as long as there are any; ``on_answer`` hears how many requests began to answer,
    ``on_prompt`` how long the prompt of each new one is."""

    def __init__(self, scheduler: Scheduler, metrics: Metrics) -> None:
        self.scheduler = scheduler
        self.metrics = metrics
        self.answered = 0
        self.on_answer: Callable[[int], None] = lambda answered: None
        self.on_prompt: Callable[[int], None] = lambda tokens: None
        self._requests: dict[int, Request] = {}
        self._work = asyncio.Event()

    def submit(self, request: Request) -> None:
        """Queues a request."""
        self._requests[id(request.sequence)] = request
        self.metrics.count("prompt_tokens", request.sequence.prompt_tokens)
        self.metrics.count("prefix_cache_queries", request.sequence.prompt_tokens)
        self.scheduler.add(request.sequence)
        self._work.set()
        self.on_prompt(request.sequence.prompt_tokens)

    def abort(self, request: Request) -> None:
        """Drops a request whose client went away."""
        if self._requests.pop(id(request.sequence), None) is not None:
            self.scheduler.abort(request.sequence)
            self.metrics.finish("abort")

    def abort_all(self) -> None:
        """Drops everything, as at shutdown."""
        for request in list(self._requests.values()):
            self.abort(request)
            request.tokens.put_nowait(FINAL)

    async def run(self) -> None:
        """Runs until cancelled."""
        due = time.monotonic()
        while True:
            if not self.scheduler.busy:
                self._work.clear()
                await self._work.wait()
                due = time.monotonic()
            preemptions = self.scheduler.preemptions
            step = self.scheduler.step()
            self.metrics.count("num_preemptions", self.scheduler.preemptions - preemptions)
            now = time.monotonic()
            for sequence in self.scheduler.running:
                running = self._requests[id(sequence)]
                running.started = running.started or now
            due += step.seconds
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            for sequence in step.advanced:
                request = self._requests.get(id(sequence))
                if request is not None:
                    self._deliver(request)

    def gauges(self) -> dict[str, float]:
        """What is going on right now, under vLLM's names."""
        return {
            "num_requests_running": len(self.scheduler.running),
            "num_requests_waiting": len(self.scheduler.waiting),
            "kv_cache_usage_perc": self.scheduler.usage,
        }

    def _deliver(self, request: Request) -> None:
        now = time.monotonic()
        self.metrics.count("generation_tokens")
        if request.first_token is None:
            request.first_token = now
            self.metrics.observe("time_to_first_token_seconds", now - request.arrived)
            self.answered += 1
            self.on_answer(self.answered)
        else:
            self.metrics.observe("inter_token_latency_seconds", now - (request.last_token or now))
        request.last_token = now
        request.tokens.put_nowait(request.sequence.generated)
        if request.sequence.finished:
            self._finish(request, now)

    def _finish(self, request: Request, now: float) -> None:
        del self._requests[id(request.sequence)]
        sequence = request.sequence
        self.metrics.finish(request.finish_reason)
        self.metrics.observe("e2e_request_latency_seconds", now - request.arrived)
        self.metrics.observe("request_queue_time_seconds", (request.started or now) - request.arrived)
        self.metrics.observe("request_prompt_tokens", sequence.prompt_tokens)
        self.metrics.observe("request_generation_tokens", sequence.generated)
        if sequence.generated > 1:
            each = (now - (request.first_token or now)) / (sequence.generated - 1)
            self.metrics.observe("request_time_per_output_token_seconds", each)
