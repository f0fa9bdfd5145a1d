# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From options to a running engine: the checks vLLM makes on the way, and the lines it prints."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import VLLM_VERSION, cards, failure, log, refusals
from .cluster import CURRENT_CLUSTER, receive, send
from .memory import GIB, MIB, Card, Layout, Measured, measure
from .model import Model, load

CLUSTER_SECONDS = 1800
CONTEXT_MIB = 420  # what CUDA itself takes of a card, beside vLLM's budget


@dataclass(frozen=True)
class Launch:
    """What an engine starts with."""

    model: Model
    layout: Layout
    measured: Measured
    max_model_len: int
    card: Card
    breaks_between_stages: bool


class Cluster:
    """The engine's connection to the head of the Ray cluster; knows its nodes as long as it lasts."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._nodes: list[dict[str, Any]] = []
        self._changed = asyncio.Event()
        self._listener = asyncio.create_task(self._listen(reader))

    @classmethod
    async def connect(cls, environment: Mapping[str, str]) -> Cluster:
        """Waits for the head beside us (the two start together) and connects."""
        while True:
            try:
                address = environment.get("RAY_ADDRESS") or CURRENT_CLUSTER.read_text(encoding="utf-8")
                host, port = address.rsplit(":", 1)
                reader, writer = await asyncio.open_connection(host, int(port))
                break
            except OSError:
                await asyncio.sleep(0.5)
        send(writer, {"watch": True})
        log.info(log.ENGINE_CORE, "ray_utils.py:452", f"Connected to Ray cluster at {address}.")
        return cls(reader, writer)

    async def gather(self, world: int, own_ip: str) -> list[dict[str, Any]]:
        """Waits until enough cards joined; ours first, then the other nodes', as Ray packs a placement group."""
        specs = [{"GPU": 1.0}] * world
        started, reported_s = time.monotonic(), 10
        while len(self._gpus(own_ip)) < world:
            passed_s = time.monotonic() - started
            if passed_s > CLUSTER_SECONDS or self._listener.done():
                raise refusals.Refusal(
                    f"ValueError: Cannot provide a placement group of placement_group_specs={specs} within "
                    f"{CLUSTER_SECONDS} seconds. See `ray status` to make sure the cluster has enough resources."
                )
            if passed_s > reported_s:
                text = f"Waiting for creating a placement group of specs for {reported_s} seconds. specs={specs}."
                text += " Check `ray status` to see if you have enough resources."
                log.info(log.ENGINE_CORE, "ray_utils.py:300", text)
                reported_s *= 2
            await self._change(1)
        return self._gpus(own_ip)[:world]

    def claim(self, used_mib: int) -> None:
        """Tells every node how much memory the engine takes on its cards."""
        send(self._writer, {"claim_mib": used_mib})

    async def lost(self, world: int) -> None:
        """Returns when the cluster no longer has our cards, or is gone itself."""
        while len(self._gpus("")) >= world and not self._listener.done():
            await self._change(None)

    def _gpus(self, first_ip: str) -> list[dict[str, Any]]:
        nodes = sorted(self._nodes, key=lambda node: node["ip"] != first_ip)
        return [gpu for node in nodes for gpu in node["gpus"]]

    async def _change(self, timeout_s: float | None) -> None:
        self._changed.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_s)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            async for message in receive(reader):
                self._nodes = message["nodes"]
                self._changed.set()
        except ConnectionError:
            pass
        finally:
            self._changed.set()


async def launch(
    options: argparse.Namespace, environment: Mapping[str, str]
) -> tuple[Launch, Cluster | None, cards.Claim | None]:
    """Goes through vLLM's start; raises Refusal where vLLM would give up."""
    log.info(
        log.API_SERVER, "api_server.py:302", f"vLLM API server version {VLLM_VERSION}, serving model {options.model}"
    )
    log.info(log.API_SERVER, "utils.py:233", f"non-default args: {options.given}")
    refusals.check_tools(options)
    model = _model(options)
    log.info(log.API_SERVER, "model.py:530", f"Resolved architecture: {model.architecture}")
    length, warning = refusals.choose_length(model, options.max_model_len, environment)
    if warning:
        log.warning(log.API_SERVER, "model.py:2043", warning)
    log.info(log.API_SERVER, "model.py:1545", f"Using max model len {length}")

    world = options.tensor_parallel_size * options.pipeline_parallel_size
    profile = cards.host_profile()
    local = cards.visible(profile, environment)
    cluster = None
    started = time.monotonic()
    if options.distributed_executor_backend == "ray":
        cluster = await Cluster.connect(environment)
        gpus = await cluster.gather(world, environment.get("VLLM_HOST_IP", ""))
    else:
        refusals.check_local_cards(world, len(local))
        gpus = local[:world]
    card = min((cards.as_card(gpu) for gpu in gpus), key=lambda item: (item.compute_capability, item.memory_bytes))
    worker = log.WORKER if cluster is None else log.RAY_WORKER
    dtype, warning = refusals.choose_dtype(model, options.dtype, card)
    if warning:
        log.warning(log.API_SERVER, "model.py:1840", warning)
    layout = _layout(options, card, dtype, length)
    refusals.check_division(model, layout)
    refusals.check_quantization(options.quantization or _method(model), card)
    _say_what_starts(options, layout, dtype, card, worker)
    await asyncio.sleep(float(environment.get("BENCH_START_SECONDS", "5")))
    measured = measure(model, layout, card)
    launch_ = _fit(options, model, layout, measured, length, card)
    _say_memory(launch_, time.monotonic() - started, worker)
    claim = _claim(launch_, cluster, gpus)
    return launch_, cluster, claim


def _model(options: argparse.Namespace) -> Model:
    overrides = options.hf_overrides if isinstance(options.hf_overrides, dict) else {}
    try:
        return load(Path(options.model), overrides)
    except FileNotFoundError:
        raise refusals.Refusal(
            f"OSError: Can't load the configuration of '{options.model}'. If you were trying to load it from "
            "'https://huggingface.co/models', make sure you don't have a local directory with the same name. "
            "Otherwise, make sure "
            f"'{options.model}' is the correct path to a directory containing a config.json file",
            log.API_SERVER,
        ) from None


def _method(model: Model) -> str | None:
    return (model.config.get("quantization_config") or {}).get("quant_method")


def _layout(options: argparse.Namespace, card: Card, dtype: str, length: int) -> Layout:
    """Defaults of the API server: large ones only on large cards that are not A100s."""
    large = card.memory_bytes >= 70 * GIB and "a100" not in card.name.lower()
    tokens = options.max_num_batched_tokens or (8192 if large else 2048)
    if options.enable_chunked_prefill is False and options.max_num_batched_tokens is None:
        tokens = max(tokens, length)
    width = 4 if dtype == "float32" else 2
    return Layout(
        options.tensor_parallel_size,
        options.pipeline_parallel_size,
        options.gpu_memory_utilization,
        options.max_num_seqs or (1024 if large else 256),
        tokens,
        width,
        1 if options.kv_cache_dtype.startswith("fp8") else width,
        options.block_size,
    )


def _fit(
    options: argparse.Namespace, model: Model, layout: Layout, measured: Measured, length: int, card: Card
) -> Launch:
    """The memory checks; --max-model-len=auto shrinks to what fits."""
    refusals.check_weights(measured, card)
    if options.kv_cache_memory_bytes:
        blocks = options.kv_cache_memory_bytes // measured.kv_block_bytes
        measured = _replace(measured, kv_cache_bytes=options.kv_cache_memory_bytes, blocks=blocks)
    if options.num_gpu_blocks_override:
        measured = _replace(measured, blocks=options.num_gpu_blocks_override)
    if options.max_model_len == -1:
        length = min(length, max(1, measured.tokens))
    refusals.check_cache(measured, length)
    old = card.compute_capability[0] == 7
    return Launch(model, layout, measured, length, card, old and layout.pipeline_parallel > 1)


def _replace(measured: Measured, **changes: int) -> Measured:
    return Measured(**{**vars(measured), **changes})


def _say_what_starts(options: argparse.Namespace, layout: Layout, dtype: str, card: Card, worker: str) -> None:
    text = (
        f"Initializing a V1 LLM engine (v{VLLM_VERSION}) with config: model='{options.model}', dtype=torch.{dtype}, "
        f"tensor_parallel_size={layout.tensor_parallel}, pipeline_parallel_size={layout.pipeline_parallel}, "
        f"quantization={options.quantization}, kv_cache_dtype={options.kv_cache_dtype}"
    )
    log.info(log.ENGINE_CORE, "core.py:98", text)
    if card.compute_capability < (8, 0):
        chosen = "Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN', 'FLEX_ATTENTION']."
    else:
        chosen = (
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN']."
        )
    log.info(worker, "cuda.py:405", chosen)


def _say_memory(launch_: Launch, seconds: float, worker: str) -> None:
    measured = launch_.measured
    weights = f"Model loading took {measured.weights_bytes / GIB:.2f} GiB memory and {seconds:.6f} seconds"
    log.info(worker, "gpu_model_runner.py:4364", weights)
    log.info(worker, "gpu_worker.py:456", f"Available KV cache memory: {measured.kv_cache_bytes / GIB:.2f} GiB")
    log.info(log.ENGINE_CORE, "kv_cache_utils.py:1314", f"GPU KV cache size: {measured.tokens:,} tokens")
    length = launch_.max_model_len
    concurrency = measured.blocks / -(-length // measured.block_size)
    text = f"Maximum concurrency for {length:,} tokens per request: {concurrency:.2f}x"
    log.info(log.ENGINE_CORE, "kv_cache_utils.py:1319", text)


def _claim(launch_: Launch, cluster: Cluster | None, gpus: list[dict[str, Any]]) -> cards.Claim | None:
    measured = launch_.measured
    used_mib = (measured.weights_bytes + measured.overhead_bytes + measured.kv_cache_bytes) // MIB + CONTEXT_MIB
    if cluster is None:
        return cards.Claim(gpus, used_mib, "VLLM::EngineCore")
    cluster.claim(used_mib)
    return None


async def watch_nodes(cluster: Cluster, world: int) -> None:
    """Ends the process as vLLM ends when a node goes away."""
    await cluster.lost(world)
    failure.node_lost()
    os._exit(1)
