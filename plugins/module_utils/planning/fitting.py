# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What would make a model fit that does not: computed for the layout that comes closest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .assessment import Assessment, assess, preference
from .fleet import Fleet
from .hardware import TURING, Capability
from .memory import GIB, Split, blocks_of_request, kv_groups, longest_request, weights_bytes
from .parallelism import broken, tensor_sizes
from .placement import layouts
from .quantization import quantization
from .settings import Settings

_MOST_GPUS = 64
_PADDING = 128 * 8
_FIXED_CACHE = ("--kv-cache-memory-bytes", "--num-gpu-blocks-override")

# Variants that are usually published, best first; below 7.5 only what runs there.
_VARIANTS: tuple[tuple[str, Capability | None, Mapping[str, Any]], ...] = (
    ("FP8", (8, 9), {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    ("GPTQ-Int8", None, {"quant_method": "gptq", "bits": 8, "group_size": 128}),
    ("AWQ (4 bit)", TURING, {"quant_method": "awq", "bits": 4, "group_size": 128}),
    ("bitsandbytes (4 bit)", None, {"quant_method": "bitsandbytes", "load_in_4bit": True}),
)


def closest(assessments: list[Assessment]) -> Assessment | None:
    """The layout that lacks least: few refusals, then most memory left after weights and overhead."""
    if not assessments:
        return None

    def lacking(assessment: Assessment) -> tuple[int, int]:
        memory = assessment.prediction
        weakest = min(card.cuda_memory_gib for card in assessment.layout.cards)
        spare = weakest * GIB * assessment.utilization - memory.weights_bytes - memory.overhead_bytes
        return len(assessment.refusals), -int(spare * assessment.layout.split.world)

    return min(assessments, key=lacking)


def _context(near: Assessment) -> list[str]:
    """A shorter context, or fewer requests at once."""
    intent, shape, engine = near.situation.intent, near.situation.shape, near.engine
    advice = []
    wanted = intent.concurrency
    length = longest_request(shape, engine, near.safe_blocks, wanted)
    if length >= 256 and (intent.context is None or length < intent.context):
        advice.append(f"declare context: {length}" + (f" (for concurrency {wanted})" if wanted > 1 else ""))
    if intent.context and wanted > 1:
        groups = kv_groups(shape.layers - shape.sliding_layers, shape.sliding_layers)
        at_once = near.safe_blocks // blocks_of_request(shape, engine, groups, intent.context)
        if 0 < at_once < wanted:
            advice.append(f"declare concurrency: {at_once} (for context {intent.context})")
    return advice


def _elsewhere(settings: Settings, fleet: Fleet) -> list[str]:
    """Another number of GPUs of this fleet than the declared one."""
    wanted = replace(settings.wanted, gpus=None)
    if settings.wanted.gpus is None or settings.wanted.tensor or settings.wanted.pipeline:
        return []
    found = [assess(settings, layout, fleet) for layout in layouts(fleet, settings.shape, wanted)]
    serving = sorted((entry for entry in found if entry.serves), key=lambda entry: preference(entry, None))
    if not serving:
        return []
    layout = serving[0].layout
    return [f"declare gpus: {layout.split.world} ({layout.cards[0].name})"]


def _gpus(settings: Settings, near: Assessment, fleet: Fleet) -> list[str]:
    """More cards of the strongest kind, as one tensor-parallel group or, where stages are allowed, several."""
    card = near.layout.cards[0]
    sizes = tensor_sizes(settings.shape, _MOST_GPUS, near.layout.split.expert_parallel)
    slicing = sizes if len(sizes) == 1 else sizes[1:]
    for gpus in range(near.layout.split.world + 1, _MOST_GPUS + 1):
        for tensor in (size for size in reversed(slicing) if gpus % size == 0):
            split = Split(tensor, gpus // tensor, 1, near.layout.split.expert_parallel)
            if broken(settings.shape, split)[1]:
                continue
            layout = replace(near.layout, split=split, hosts=1, pools=(), cards=(card,))
            if assess(settings, layout, fleet).serves:
                stages = f", pipeline parallel {split.pipeline}" if split.pipeline > 1 else ""
                return [f"give it {gpus} GPUs like {card.name} (tensor parallel {tensor}{stages})"]
    return []


def _quantised(settings: Settings, near: Assessment, fleet: Fleet) -> list[str]:
    """The first usual variant that fits on the cards that are there."""
    if settings.shape.quantization is not None:
        return []
    for name, since, config in _VARIANTS:
        if since is not None and near.situation.capability < since:
            continue
        # Publishers pad the MLP so that whole groups fall on each of up to 8 ranks.
        padded = -(-settings.shape.intermediate_size // _PADDING) * _PADDING
        shape = replace(settings.shape, quantization=quantization(config), intermediate_size=padded)
        if broken(shape, near.layout.split)[1]:
            continue
        if assess(replace(settings, shape=shape), near.layout, fleet).serves:
            gib = weights_bytes(shape, near.layout.split, 0, near.engine.dtype_bytes) / GIB
            return [f"take a {name} variant ({gib:.1f} GiB of weights per GPU)"]
    return []


def remedies(settings: Settings, near: Assessment, fleet: Fleet) -> list[str]:
    """What would make it fit; only for a layout that no rule refuses."""
    if near.refusals:
        return []
    fixed = [flag for flag in _FIXED_CACHE if flag in settings.parameters]
    if fixed:
        return [f"drop {flag} from backend_parameters: vLLM takes what is left" for flag in fixed]
    cards = _elsewhere(settings, fleet) or _gpus(settings, near, fleet)
    return _context(near) + cards + _quantised(settings, near, fleet)


def shortage(near: Assessment) -> str:
    """What does not fit, in numbers."""
    intent, memory, layout = near.situation.intent, near.prediction, near.layout
    card = min(layout.cards, key=lambda c: c.cuda_memory_gib)
    budget = card.cuda_memory_gib * near.utilization
    where = f"on {layout.split.world} x {near.situation.cards_text}"
    weights, overhead = memory.weights_bytes / GIB, memory.overhead_bytes / GIB
    left = budget - weights - overhead
    if left <= 0:
        return (
            f"{where} each GPU may use {budget:.2f} GiB, but weights take {weights:.2f} and activations and libraries "
            f"{overhead:.2f}"
        )
    tokens = memory.kv_tokens if memory.kv_tokens is not None else memory.kv_blocks * near.engine.block_size
    wanted = f"{intent.concurrency} request(s) of {intent.context or near.situation.native_context} tokens"
    return f"{where} {left:.2f} GiB per GPU are left for the KV cache, about {tokens} tokens, not enough for {wanted}"
