# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``vllm serve``: starts, serves until it is told to stop, or dies as the reference report saw it."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import signal
import sys
from collections.abc import Callable

from aiohttp import web

from . import command_line, failure, log
from .engine import Engine
from .metrics import Metrics
from .refusals import Refusal
from .scheduler import Pace, Scheduler
from .server import Api, Served
from .startup import Launch, launch, watch_nodes


def main() -> None:
    """Runs the command line."""
    options = command_line.parse(sys.argv[1:])
    sys.exit(asyncio.run(_serve(options)))


def _number(name: str, default: float) -> float:
    return float(os.environ.get(name, default))


async def _serve(options: argparse.Namespace) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    stopping = asyncio.create_task(stop.wait())
    starting = asyncio.create_task(launch(options, os.environ))
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        return 0
    try:
        launched, cluster, claim = starting.result()
    except Refusal as refusal:
        return _refuse(refusal)
    engine = _engine(options, launched)
    tasks = [asyncio.create_task(engine.run())]
    if cluster is not None:
        world = launched.layout.tensor_parallel * launched.layout.pipeline_parallel
        tasks.append(asyncio.create_task(watch_nodes(cluster, world)))
    runner = web.AppRunner(Api(engine, _served(options, launched)).application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, options.host, options.port, shutdown_timeout=1.0).start()
    log.info(
        log.API_SERVER,
        "launcher.py:46",
        f"Starting vLLM API server 0 on http://{options.host or '0.0.0.0'}:{options.port}",
    )
    print(f"({log.API_SERVER} pid={os.getpid()}) INFO:     Application startup complete.", file=sys.stderr, flush=True)
    await stopping
    print(f"({log.API_SERVER} pid={os.getpid()}) INFO:     Shutting down", file=sys.stderr, flush=True)
    engine.abort_all()
    await runner.cleanup()
    del claim
    return 0


def _refuse(refusal: Refusal) -> int:
    log.error(refusal.process, "core.py:1100", str(refusal))
    if refusal.process == log.ENGINE_CORE:
        text = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        log.error(log.API_SERVER, "utils.py:946", text)
    return 1


def _engine(options: argparse.Namespace, launched: Launch) -> Engine:
    pace = Pace(_number("BENCH_TOKENS_PER_SECOND", 30), _number("BENCH_PREFILL_TOKENS_PER_SECOND", 4000))
    layout, measured = launched.layout, launched.measured
    scheduler = Scheduler(measured.blocks, layout.block_size, layout.max_num_seqs, layout.max_num_batched_tokens, pace)
    engine = Engine(scheduler, Metrics(_names(options)[0]))
    longest = _number("BENCH_LONGEST_PROMPT_TOKENS", math.inf)
    engine.on_prompt = _break_at(longest, pace, launched.card.memory_bytes)
    if launched.breaks_between_stages:
        engine.on_answer = _break_after(layout.tensor_parallel * layout.pipeline_parallel)
    return engine


def _break_at(longest: float, pace: Pace, card_bytes: int) -> Callable[[int], None]:
    """The card runs out of memory when the engine has worked so far through a longer prompt."""

    def die() -> None:
        failure.out_of_memory(card_bytes)
        os._exit(1)

    def look(prompt_tokens: int) -> None:
        if prompt_tokens > longest:
            asyncio.get_running_loop().call_later(longest / pace.prefill_tokens_per_second, die)

    return look


def _break_after(ranks: int) -> Callable[[int], None]:
    """The channel between pipeline stages fails a little after so many requests began to answer."""
    requests = int(_number("BENCH_PP_CRASH_AFTER_REQUESTS", 1))
    seconds = _number("BENCH_PP_CRASH_SECONDS", 1)

    def die() -> None:
        failure.channel_breaks(ranks)
        os._exit(1)

    def count(answered: int) -> None:
        if answered == requests:
            asyncio.get_running_loop().call_later(seconds, die)

    return count


def _names(options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(options.served_model_name or [options.model])


def _served(options: argparse.Namespace, launched: Launch) -> Served:
    layout = launched.layout
    return Served(
        names=_names(options),
        root=options.model,
        max_model_len=launched.max_model_len,
        auto_tools=bool(options.enable_auto_tool_choice),
        always_usage=bool(options.enable_force_include_usage),
        answer_tokens=int(_number("BENCH_ANSWER_TOKENS", 64)),
        api_key=options.api_key,
        cache_labels={
            "block_size": layout.block_size,
            "cache_dtype": options.kv_cache_dtype,
            "enable_prefix_caching": options.enable_prefix_caching is not False,
            "engine": 0,
            "gpu_memory_utilization": layout.utilization,
            "num_gpu_blocks": launched.measured.blocks,
        },
    )
