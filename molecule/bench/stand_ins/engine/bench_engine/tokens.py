# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counting tokens and making answers, without a tokenizer or a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TEMPLATE_TOKENS = 26  # what Qwen2.5's chat template adds around one message, its system prompt included
PER_MESSAGE_TOKENS = 5
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[A-Za-z]{1,8}|\d|[^\sA-Za-z\d]")
ANSWER = (
    "This answer comes from the simulated engine of the bench: its pace, its limits and its figures follow the cards "
    "and the model, its words follow nothing."
)


def count(text: str) -> int:
    """Tokens of a text, close to what a BPE tokenizer gives for prose."""
    return len(_TOKEN.findall(text))


def count_chat(messages: list[dict[str, Any]], tools: list[Any]) -> int:
    """Tokens of a conversation after the chat template."""
    total = TEMPLATE_TOKENS
    for message in messages:
        total += PER_MESSAGE_TOKENS + count(content_text(message.get("content")))
    return total + sum(count(str(tool)) for tool in tools)


def content_text(content: Any) -> str:
    """A message's text, whether it is a string or a list of parts."""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def answer() -> Iterator[str]:
    """The words of an endless answer, one per token."""
    first = True
    while True:
        for word in ANSWER.split():
            yield word if first else f" {word}"
            first = False
