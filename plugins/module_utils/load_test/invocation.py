# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stage → the configuration file with which AIPerf (0.13) makes it.

The API key is in this file, so that it is in no argument list and no environment; AIPerf itself leaves it out of what
it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# One seed for all runs: runs are compared, so they ask the same.
SEED = 1
# Texts that differ, so that prefix caching answers none of them.
MOST_PROMPTS = 500
# What is under way when the time is over may still end.
GRACE_SECONDS = 600


@dataclass(frozen=True)
class Target:
    """Whom to ask: ``url`` is GPUStack's, ``model`` the name of a route, ``tokenizer`` a directory or a repository."""

    url: str
    model: str
    tokenizer: str
    api_key: str
    request_timeout_seconds: float


def configuration(stage: Mapping[str, Any], target: Target, directory: str) -> dict[str, Any]:
    """AIPerf's configuration of one stage of ``stages.stages``; what it finds out goes to ``directory``."""
    load: dict[str, Any] = {"type": "concurrency", "concurrency": stage["concurrency"]}
    if stage["requests"]:
        load["requests"] = stage["requests"]
    else:
        load |= {"duration": stage["seconds"], "gracePeriod": GRACE_SECONDS}
    return {
        "schemaVersion": "2.0",
        "randomSeed": SEED,
        "benchmark": {
            "model": target.model,
            "endpoint": {
                "url": target.url,
                "type": "chat",
                "streaming": True,
                "timeout": target.request_timeout_seconds,
                "apiKey": target.api_key,
                # What the engine counts is what its KV cache holds.
                "useServerTokenCount": True,
                # Answers as long as the stage says, so that two runs do the same work.
                "extra": {"ignore_eos": True},
            },
            "tokenizer": {"name": target.tokenizer},
            "dataset": {
                "type": "synthetic",
                "entries": min(stage["requests"] or MOST_PROMPTS, MOST_PROMPTS),
                "prompts": {"isl": stage["prompt_tokens"], "osl": stage["answer_tokens"]},
            },
            "profiling": load,
            "artifacts": {"dir": directory, "summary": ["json"], "records": ["jsonl"]},
            # The run is watched from elsewhere, with what GPUStack and the hosts tell.
            "gpuTelemetry": {"enabled": False},
            "serverMetrics": {"enabled": False},
            "runtime": {"ui": "none"},
        },
    }
