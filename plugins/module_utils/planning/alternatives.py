# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other layouts that would serve, with their predictions, best first."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from .answer import predicted, sites_of
from .assessment import Assessment, assess, places, preference
from .fleet import Fleet
from .placement import Layout, Site, on_one_host
from .settings import Settings

_MOST = 4


def _alternative(assessment: Assessment, replicas: list[tuple[Site, ...]], why: str) -> dict[str, Any]:
    split = assessment.layout.split
    return {
        "summary": why,
        "replicas": len(replicas),
        "gpus_per_replica": split.world,
        "tensor_parallel_size": split.tensor,
        "pipeline_parallel_size": split.pipeline,
        "data_parallel_size": split.data,
        "max_model_len": assessment.context,
        "distributed": assessment.layout.hosts > 1,
        "placements": [sites_of(sites) for sites in replicas],
        "predicted": predicted(assessment),
    }


def _sizes_text(layout: Layout) -> str:
    split = layout.split
    text = f"tensor parallel {split.tensor}"
    if split.pipeline > 1:
        text += f", pipeline parallel {split.pipeline}"
    if split.data > 1:
        text += f", data parallel {split.data}"
    return f"{text} on {' and '.join(card.name for card in layout.cards)}"


def alternatives(settings: Settings, fleet: Fleet, best: Assessment, ranked: list[Assessment]) -> list[dict[str, Any]]:
    """Other layouts that serve: smaller replicas on the same number of GPUs first, then other sizes and cards."""
    found = _smaller_replicas(settings, fleet, best)
    wanted = max(1, settings.intent.replicas)
    seen = {_kind(best)}
    sliced = {other.layout.cards for other in ranked if other.serves and other.layout.split.pipeline == 1}
    for other in ranked:
        layout = other.layout
        # Inside a host, stages only help where no tensor-parallel size does.
        needless = layout.hosts == 1 and layout.split.pipeline > 1 and layout.cards in sliced
        if _kind(other) in seen or not other.serves or needless:
            continue
        replicas = list(islice(places(other, settings, fleet), wanted))
        if len(replicas) == wanted:
            seen.add(_kind(other))
            hosts = "one host" if layout.hosts == 1 else f"{layout.hosts} hosts"
            found.append(_alternative(other, replicas, f"{_sizes_text(layout)}, {hosts}"))
    return found[:_MOST]


def _kind(assessment: Assessment) -> tuple[object, ...]:
    """Alternatives that differ in nothing else than stages are shown once."""
    layout = assessment.layout
    return layout.split.world, layout.split.data > 1, layout.cards, layout.hosts > 1


def _smaller_replicas(settings: Settings, fleet: Fleet, best: Assessment) -> list[dict[str, Any]]:
    intent, world = settings.intent, best.layout.split.world
    found = []
    for parts in (parts for parts in range(2, world + 1) if world % parts == 0):
        wanted = replace(settings.wanted, gpus=world // parts)
        if settings.wanted.tensor is not None:
            break
        smaller = replace(
            settings, wanted=wanted, intent=replace(intent, concurrency=1, context=best.context, gpus=None)
        )
        options = [assess(smaller, layout, fleet) for layout in on_one_host(fleet, settings.shape, wanted)]
        options = sorted((option for option in options if option.serves), key=lambda option: preference(option, world))
        if not options:
            continue
        count = parts * max(1, intent.replicas)
        replicas = list(islice(places(options[0], smaller, fleet), count))
        if len(replicas) == count and count * int(options[0].concurrency) >= intent.concurrency * max(
            1, intent.replicas
        ):
            found.append(
                _alternative(
                    options[0],
                    replicas,
                    f"{count} replicas of {_sizes_text(options[0].layout)}, each on one host",
                )
            )
    return found
