# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines of an engine's log by which a crash is known. The cause first: what follows it explains nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Signature:
    """``is_cause`` tells the first error from those that it draws after it."""

    id: str
    pattern: str
    means: str
    is_cause: bool


SIGNATURES = (
    Signature(
        "ray-channel-timeout",
        r"RayChannelTimeoutError",
        "the channel between pipeline stages timed out; use no pipeline parallelism on these cards",
        True,
    ),
    Signature("cuda-out-of-memory", r"OutOfMemoryError: CUDA out of memory", "the card ran out of memory", True),
    Signature("cuda-error", r"CUDA error: |CUBLAS_STATUS_\w+_FAILED", "a kernel failed on the card", True),
    Signature("nccl-error", r"ncclUnhandledCudaError|NCCL error", "communication between the cards failed", True),
    Signature("node-lost", r"ActorDiedError", "a worker of the engine, or its host, went away", True),
    Signature(
        "ray-accelerator-group",
        r"_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'",
        "Ray takes its channels down; this follows another error",
        False,
    ),
    Signature(
        "ray-actor-unavailable",
        r"ActorUnavailableError",
        "a worker of the engine is gone; this follows another error",
        False,
    ),
    Signature("engine-dead", r"EngineDeadError", "the engine is gone; this follows another error", False),
)


def crashes(log: Sequence[str]) -> list[dict[str, Any]]:
    """``[{"id", "role", "means", "text"}]``, role ``cause`` or ``consequence``; causes first."""
    found: dict[str, dict[str, Any]] = {}
    for line in log:
        for signature in SIGNATURES:
            if signature.id not in found and re.search(signature.pattern, line):
                found[signature.id] = {
                    "id": signature.id,
                    "role": "cause" if signature.is_cause else "consequence",
                    "means": signature.means,
                    "text": line.strip()[:400],
                }
    return sorted(found.values(), key=lambda crash: crash["role"] != "cause")
