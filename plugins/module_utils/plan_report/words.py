# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures and sentences that terminal and page share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..wording import counted, joined
from .fleet import Claims, Seat
from .model import Host, Layout, Plan, Prediction

UNKNOWN = "not predicted"
REFERENCE = re.compile(r"(https?://[^\s,;]+|[\w.-]+/[\w.-]+#[0-9]+)")


def gib(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f} GiB"


def tokens(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,} tokens"


def each(layout: Layout, figure: str) -> str:
    """A figure of one replica; with the number of replicas where there are several."""
    return f"{layout.replicas} × {figure}" if layout.replicas > 1 else figure


def at_once(layout: Layout) -> str:
    concurrency = layout.predicted.concurrency
    return UNKNOWN if concurrency is None else each(layout, f"{concurrency:.2f}")


def kv_tokens(layout: Layout) -> str:
    size = layout.predicted.kv_cache_tokens
    return UNKNOWN if size is None else each(layout, tokens(size))


def per_gpu(predicted: Prediction) -> str:
    return f"weights {gib(predicted.weights_gib)}, KV cache {gib(predicted.kv_cache_gib)}"


def capacity(layout: Layout) -> str:
    """``6.98 requests of 65,536 tokens at once``; empty where either is unknown."""
    if layout.predicted.concurrency is None or layout.max_model_len is None:
        return ""
    return f"{at_once(layout)} requests of {tokens(layout.max_model_len)} at once"


def kv_cache(layout: Layout) -> str:
    size, enough = kv_tokens(layout), capacity(layout)
    return f"{size}, enough for {enough}" if enough else size


def listed(items: Sequence[str], limit: int = 3) -> str:
    """``a, b and c``; past the limit ``a, b, c and 4 more``."""
    shown = list(items[:limit])
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    return joined(shown)


def spans(indexes: Sequence[int]) -> str:
    """Card indexes in short: ``0–3, 6``."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def sizes(layout: Layout) -> str:
    data = f" × DP {layout.data_parallel_size}" if layout.data_parallel_size > 1 else ""
    return f"TP {layout.tensor_parallel_size} × PP {layout.pipeline_parallel_size}{data}"


def where(layout: Layout) -> str:
    """``4 GPUs on 2 hosts``, and the number of replicas where there are several."""
    place = f" on {counted(layout.hosts, 'host')}" if layout.hosts else ""
    each = f"{layout.replicas} replicas, each " if layout.replicas > 1 else ""
    return f"{each}{counted(layout.gpus, 'GPU')}{place}"


def places(layout: Layout) -> dict[str, str]:
    """Cards by host, those of different replicas apart: ``0–1 | 2–3``."""
    return {
        host: " | ".join(spans(placement[host]) for placement in layout.placements if host in placement)
        for host in layout.seats
    }


def conflict(seat: Seat, claims: Claims) -> str:
    names = listed([plan.name for plan in claims.by_seat[seat]])
    return f"{seat[0]} GPU {seat[1]} is planned for {names}, which want more than its memory together"


def versions(host: Host) -> str:
    driver = f"Driver {host.driver_version}" if host.driver_version else "Driver unknown"
    return f"{driver}, CUDA up to {host.cuda_version}" if host.cuda_version else driver


def wiring(host: Host) -> str:
    """NVLink and peer-to-peer reads between the cards of a host; empty where there is nothing between cards."""
    if not host.links:
        return ""
    joined = sum(link.nvlinks > 0 for link in host.links)
    nvlink = (
        "NVLink between all pairs" if joined == len(host.links) else f"NVLink in {joined} of {len(host.links)} pairs"
    )
    reads = {link.p2p_read for link in host.links}
    known = ", peer-to-peer reads work" if reads == {True} else ", no peer-to-peer reads" if reads == {False} else ""
    return (nvlink if joined else "No NVLink") + known


def linked(text: str) -> list[tuple[str, str]]:
    """The text in pieces, each with its address or none: web addresses, and ``owner/repository#number`` of GitHub."""
    return [(piece, _address(piece)) for piece in REFERENCE.split(text) if piece]


def _address(piece: str) -> str:
    if not REFERENCE.fullmatch(piece):
        return ""
    return piece if "://" in piece else f"https://github.com/{piece.replace('#', '/issues/')}"


def outcome(plans: Sequence[Plan], claims: Claims) -> str:
    """The one sentence to read when only one is read."""
    return f"{_fitting(plans, claims)}{_warned(plans)}"


def _fitting(plans: Sequence[Plan], claims: Claims) -> str:
    if not plans:
        return "No model is declared: nothing to plan"
    refused = [plan.name for plan in plans if not plan.feasible]
    if not refused and claims.contested:
        return f"{counted(len(plans), 'model')} planned; each fits alone, but not all together"
    if not refused:
        return f"{counted(len(plans), 'model')} planned, {'it fits' if len(plans) == 1 else 'all fit'}"
    verb = "does" if len(refused) == 1 else "do"
    return f"{len(plans) - len(refused)} of {counted(len(plans), 'model')} fit; {listed(refused)} {verb} not"


def _warned(plans: Sequence[Plan]) -> str:
    number = sum(len(plan.warnings) for plan in plans)
    return f"; {counted(number, 'warning')}" if number else ""
