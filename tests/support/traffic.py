# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Callers that never stop asking a model, and remember every question that was not answered.

Half of them stream. A stream that ends without `[DONE]` was cut, whatever its status said.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import requests
from demo_fleet import SERVER_URL, admin_password


@dataclass
class Traffic:
    """Use as a context manager; look at `sent`, `failures` and `longest_silence_seconds` afterwards or meanwhile."""

    model: str
    callers: int = 4
    tokens: int = 4
    prompt: str = "Say hello."
    failures: list[str] = field(default_factory=list)
    answered_at: list[float] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(self.callers)]

    def __enter__(self) -> Traffic:
        self.began = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    @property
    def longest_silence_seconds(self) -> float:
        """The longest time in which nobody got an answer."""
        times = [self.began, *sorted(self.answered_at)]
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)

    @property
    def failed_after_seconds(self) -> tuple[float, float]:
        """When the first and the last of the requests that failed were sent, since the beginning."""
        times = [float(failure.split(" ", 1)[0]) for failure in self.failures] or [0.0]
        return min(times), max(times)

    @property
    def failing_seconds(self) -> float:
        first, last = self.failed_after_seconds
        return last - first

    @property
    def last_failure_at(self) -> datetime:
        """UTC."""
        return datetime.now(UTC) - timedelta(seconds=time.monotonic() - self.began - self.failed_after_seconds[1])

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        return (
            f"{self.sent} requests in {seconds:.0f} s, {len(self.failures)} failed, "
            f"longest silence {self.longest_silence_seconds:.1f} s"
        )

    def _call(self, number: int) -> None:
        session = requests.Session()
        session.auth = ("admin", admin_password())
        stream = number % 2 == 1
        while not self._end.is_set():
            began = time.monotonic()
            problem = self._ask(session, stream)
            with self._lock:
                self.sent += 1
                if problem is None:
                    self.answered_at.append(time.monotonic())
                else:
                    self.failures.append(f"{began - self.began:.1f} {problem}")
            if problem is not None:
                self._end.wait(0.2)  # as a caller who tries again would

    def _ask(self, session: requests.Session, stream: bool) -> str | None:
        """What went wrong; None when the answer was complete."""
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.tokens,
            "messages": [{"role": "user", "content": self.prompt}],
            "stream": stream,
        }
        try:
            answer = session.post(f"{SERVER_URL}/v1/chat/completions", json=body, timeout=120)
        except requests.RequestException as error:
            return type(error).__name__
        if answer.status_code != 200:
            return f"{answer.status_code} {answer.text[:120]}"
        if stream:
            return None if answer.text.rstrip().endswith("[DONE]") else f"stream was cut: {answer.text[-80:]!r}"
        try:
            return None if answer.json()["choices"][0]["message"]["content"] else "empty answer"
        except (json.JSONDecodeError, LookupError):
            return f"not an answer: {answer.text[:120]}"
