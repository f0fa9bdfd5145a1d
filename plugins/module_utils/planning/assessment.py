# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One layout, assessed: what rules refuse it, what memory it leaves, what context starts, how many requests fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .emissions import utilization_by_rule
from .fleet import NVLINK, Card, Fleet
from .memory import GIB, Engine, Prediction, concurrency, kv_bytes_per_token_and_layer, longest_request, predict
from .placement import Layout, Site
from .refusals import REFUSALS
from .rule import Refusal
from .settings import Settings
from .situation import Situation
from .versions import counts_cuda_graphs, sampler

# The prediction may be wrong by this much of the KV cache or this many GiB, whichever is more: a context is only
# promised when it starts all the same.
MARGIN_SHARE = 0.03
MARGIN_GIB = 0.1

# CUDA graphs of public start-up logs take 0.2 to 3.5 GiB; this is the usual case, for versions that count them.
CUDA_GRAPHS_GIB = 1.0

USEFUL_CONTEXT = 8192  # a shorter one, unless the model has no more, is only planned when it is declared


@dataclass(frozen=True)
class Assessment:
    """``context`` is what would be emitted (0: nothing starts); ``concurrency`` at that context, as vLLM prints it."""

    situation: Situation
    refusals: tuple[Refusal, ...]
    engine: Engine
    utilization: float
    prediction: Prediction
    safe_blocks: int
    context: int
    concurrency: float

    @property
    def layout(self) -> Layout:
        """The layout that was assessed."""
        return self.situation.layout

    @property
    def starts(self) -> bool:
        """Whether nothing refuses it and its context fits."""
        return not self.refusals and self.context > 0

    @property
    def serves(self) -> bool:
        """Whether it meets what is declared; a context that is not declared may be shorter than the model's own."""
        declared = self.situation.intent.context is not None
        return self.starts and (declared or self.useful) and self.concurrency >= self.situation.intent.concurrency

    @property
    def useful(self) -> bool:
        """Whether a context that nobody declared is long enough to be of use."""
        return self.context >= min(USEFUL_CONTEXT, self.situation.native_context or USEFUL_CONTEXT)

    @property
    def full_context(self) -> bool:
        """Whether the context is what was declared, or all that the model has."""
        return self.situation.intent.context is not None or self.context >= self.situation.native_context


def _weakest(cards: tuple[Card, ...]) -> Card:
    return min(cards, key=lambda card: (card.cuda_memory_gib, card.name))


def _defaults(cards: tuple[Card, ...]) -> tuple[int, int]:
    """max_num_seqs and max_num_batched_tokens of the API server (vllm/engine/arg_utils.py, get_batch_defaults)."""
    large = any(card.cuda_memory_gib >= 70 and "A100" not in card.name for card in cards)
    return (1024, 8192) if large else (256, 2048)


def engine_of(situation: Situation) -> Engine:
    """The engine's memory settings: the user's flags, else vLLM's defaults on these cards."""
    sequences, batched = _defaults(situation.layout.cards)
    sequences = int(situation.declared("--max-num-seqs") or sequences)
    if situation.declared("--enable-chunked-prefill") is False:
        batched = max(batched, situation.context or situation.native_context)
    batched = int(situation.declared("--max-num-batched-tokens") or batched)
    wide = situation.text("--dtype") in ("float32", "float") or (
        "--dtype" not in situation.parameters and situation.wants_float32
    )
    dtype_bytes = 4 if wide else 2
    narrow = situation.text("--kv-cache-dtype").startswith(("fp8", "int8"))
    estimate = situation.environment("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    counted = estimate == "1" if estimate else counts_cuda_graphs(situation.version)
    eager = situation.declared("--enforce-eager") is True
    layout = situation.layout
    return Engine(
        sampler=sampler(situation.version),
        max_num_seqs=sequences,
        max_num_batched_tokens=batched,
        block_size=int(situation.declared("--block-size") or 16),
        dtype_bytes=dtype_bytes,
        kv_bytes=1 if narrow else dtype_bytes,
        cuda_graphs_bytes=int(CUDA_GRAPHS_GIB * GIB) if counted and not eager else 0,
        offloaded_bytes=int(float(situation.declared("--cpu-offload-gb") or 0) * GIB),
        custom_all_reduce=(
            layout.hosts == 1
            and situation.tensor in (2, 4, 6, 8)
            and layout.closeness == NVLINK
            and not situation.before_ampere
            and situation.declared("--disable-custom-all-reduce") is not True
        ),
    )


def _predict(situation: Situation, engine: Engine, utilization: float) -> Prediction:
    weakest = _weakest(situation.layout.cards)
    prediction = predict(
        situation.shape,
        situation.layout.split,
        engine,
        cuda_memory_gib=weakest.cuda_memory_gib,
        gpu_memory_utilization=utilization,
        multiprocessors=max(card.multiprocessors for card in situation.layout.cards),
        capability=situation.capability,
    )
    fixed = situation.declared("--kv-cache-memory-bytes")
    blocks = situation.declared("--num-gpu-blocks-override")
    if fixed is None and blocks is None:
        return prediction
    page = engine.block_size * kv_bytes_per_token_and_layer(situation.shape, situation.tensor, engine.kv_bytes)
    layers = -(-situation.shape.layers // situation.pipeline)
    kv_blocks = int(blocks) if blocks is not None else int(fixed or 0) // page // layers
    room = int(weakest.cuda_memory_gib * GIB) - prediction.weights_bytes - prediction.overhead_bytes
    if kv_blocks * page * layers > room:
        kv_blocks = 0
    tokens = None if prediction.kv_tokens is None else kv_blocks * engine.block_size
    return replace(prediction, kv_bytes=kv_blocks * page * layers, kv_blocks=kv_blocks, kv_tokens=tokens)


def _safe_blocks(prediction: Prediction) -> int:
    """Blocks that are there even when the prediction is too high by the margin."""
    if prediction.kv_bytes <= 0:
        return 0
    margin = max(MARGIN_SHARE * prediction.kv_bytes, MARGIN_GIB * GIB)
    return int(prediction.kv_blocks * max(0.0, 1 - margin / prediction.kv_bytes))


def situation_of(settings: Settings, layout: Layout, fleet: Fleet) -> Situation:
    """The situation before a context is chosen: the declared one, or none."""
    hosts = {host for host, _indexes in next(layout.replicas())} if layout.pools else set(fleet.drivers)
    versions = sorted((fleet.cuda[host] for host in hosts if host in fleet.cuda), key=_numbers)
    return Situation(
        intent=settings.intent,
        shape=settings.shape,
        parameters=settings.parameters,
        version=settings.version,
        layout=layout,
        drivers={host: fleet.drivers[host] for host in hosts if host in fleet.drivers},
        cuda_version=versions[0] if versions else None,
        context=settings.intent.context or 0,
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def assess(settings: Settings, layout: Layout, fleet: Fleet) -> Assessment:
    """Rules first, then memory, then the context: the declared one, or the longest that starts."""
    situation = situation_of(settings, layout, fleet)
    refusals = tuple(rule for rule in REFUSALS if rule.applies(situation))
    engine = engine_of(situation)
    utilization = settings.intent.gpu_memory_utilization or utilization_by_rule(situation)
    prediction = _predict(situation, engine, utilization)
    safe = _safe_blocks(prediction)
    shape, intent = settings.shape, settings.intent
    longest = longest_request(shape, engine, safe)
    if intent.context is not None:
        context = intent.context if intent.context <= longest else 0
    else:
        enough = longest_request(shape, engine, safe, intent.concurrency)
        context = min(shape.context, enough) if shape.context else enough
    at_once = concurrency(shape, engine, prediction, context) if context else 0.0
    return Assessment(
        replace(situation, context=context or situation.context),
        refusals,
        engine,
        utilization,
        prediction,
        safe,
        context,
        at_once * layout.split.data,
    )


def preference(assessment: Assessment, fixed_gpus: int | None) -> tuple[object, ...]:
    """Sort key, best first. One host before several; alike cards before unlike ones; as few GPUs as serve; the tensor
    ranks that talk most on the closest links; the smallest card that does it, so that large ones stay free."""
    layout = assessment.layout
    card = _weakest(layout.cards)
    over_network = layout.hosts > 1 and layout.split.tensor > layout.per_host
    return (
        not assessment.serves,
        layout.hosts > 1,
        not assessment.full_context,
        layout.mixed,
        assessment.situation.has_volta and not assessment.situation.custom_image,
        0 if assessment.full_context else -assessment.context,
        0 if fixed_gpus else layout.split.world,
        over_network and not assessment.situation.has_volta,
        layout.split.pipeline > 1 and layout.hosts == 1,
        layout.split.data,
        layout.hosts,
        not layout.whole_hosts if layout.hosts > 1 else False,
        layout.split.pipeline,
        -layout.closeness,
        card.cuda_memory_gib,
        tuple(-part for part in card.capability),
        card.name,
        layout.split.expert_parallel,
        tuple(pool.hosts[0] for pool in layout.pools[:1]),
    )


def parameters_key(assessment: Assessment) -> tuple[object, ...]:
    """What must agree for two layouts to run with the same parameters."""
    situation = assessment.situation
    return (
        assessment.layout.split, assessment.context, assessment.utilization, assessment.engine.dtype_bytes,
        situation.before_ampere, situation.volta_or_turing, situation.has_volta, situation.distributed,
    )  # fmt: skip


def places(assessment: Assessment, settings: Settings, fleet: Fleet) -> Iterator[tuple[Site, ...]]:
    """Where replicas of this layout run with its parameters, each by its own cards and drivers.

    The layout itself was judged by its first hosts. Alike places are judged once.
    """
    judged: dict[object, bool] = {}
    for sites in assessment.layout.replicas():
        layout = assessment.layout.on(sites)
        kind = (layout.cards, *((fleet.drivers.get(host), fleet.cuda.get(host)) for host, _indexes in sites))
        if kind not in judged:
            own = assess(settings, layout, fleet)
            judged[kind] = own.serves and parameters_key(own) == parameters_key(assessment)
        if judged[kind]:
            yield sites
