# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What differs between vLLM versions, as far as it changes a plan."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import PlanError

Version = tuple[int, ...]

OLDEST: Version = (0, 8, 5)


def parse_version(text: str) -> Version:
    """``0.17.1`` or ``0.17.1-v100-custom`` as a tuple that compares: ``(0, 17, 1)``."""
    match = re.match(r"v?(\d+(?:\.\d+)+)", text)
    if not match:
        raise PlanError(f"vllm_version is {text!r}, wanted a version like 0.17.1: correct it")
    version = tuple(int(part) for part in match.group(1).split("."))
    if version < OLDEST:
        raise PlanError(f"vllm_version is {text}, the oldest that can be planned is 0.8.5: declare a newer one")
    return version


@dataclass(frozen=True)
class Versions:
    """A half-open range of vLLM versions: from ``since`` on, and before ``before``; ``None`` is no limit."""

    since: Version | None = None
    before: Version | None = None

    def __contains__(self, version: Version) -> bool:
        if self.since is not None and version < self.since:
            return False
        return self.before is None or version < self.before

    def __str__(self) -> str:
        since = ".".join(map(str, self.since)) if self.since else ""
        before = ".".join(map(str, self.before)) if self.before else ""
        if since and before:
            return f"{since} up to, not including, {before}"
        return f"from {since}" if since else f"before {before}" if before else "all"


ALL = Versions()

SORT_SAMPLER = "sort"  # PyTorch: sorts the logits of every request
FLASHINFER_SAMPLER = "flashinfer"  # only where FlashInfer is installed and switched on
TRITON_SAMPLER = "triton"


def sampler(version: Version) -> str:
    """The top-k/top-p code that profiling runs: it decides the peak (vllm/v1/sample/ops/topk_topp_sampler.py)."""
    return TRITON_SAMPLER if version >= (0, 17) else SORT_SAMPLER


def default_gpu_memory_utilization(version: Version) -> float:
    """vLLM's default share of a card's memory (vllm/config/cache.py)."""
    return 0.92 if version >= (0, 20) else 0.9


def counts_cuda_graphs(version: Version) -> bool:
    """Whether CUDA graphs are taken out of the KV cache's memory; before 0.20 they come on top (vllm/envs.py)."""
    return version >= (0, 20)
