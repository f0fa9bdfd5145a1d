# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of an engine, as its log tells it.

One that runs pipeline stages over Ray on Volta ends as the reference report saw it.

The first error is the one that counts: the channel between the stages times out. What follows is Ray 2.54 tearing the
compiled graph down, with an AttributeError that fills the log and explains nothing.
"""

from __future__ import annotations

from . import log

TIMEOUT = (
    "ray.exceptions.RayChannelTimeoutError: System error: Timed out waiting for object available to read. "
    "ObjectID: 00df8462915c3ea8b71f89a4ada09627c76860140200000002e1f505"
)
ATTRIBUTE = (
    "AttributeError: '_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'. "
    "Did you mean: '_accelerator_group_id'?"
)
UNAVAILABLE = (
    "ray.exceptions.ActorUnavailableError: The actor is temporarily unavailable: RpcError: RPC error: "
    "Socket closed rpc_code: 14."
)
LOST = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. "
    "The node of the actor was marked dead."
)


def channel_breaks(ranks: int) -> None:
    """Writes the log of the crash between pipeline stages."""
    core = log.ENGINE_CORE
    log.error(core, "core.py:1100", "EngineCore encountered a fatal error.")
    log.error(core, "core.py:1100", "Traceback (most recent call last):")
    log.error(core, "core.py:1100", '  File "vllm/v1/executor/ray_executor.py", line 470, in execute_model')
    log.error(core, "core.py:1100", TIMEOUT)
    for rank in range(ranks):
        log.error(
            log.RAY_WORKER,
            "torch_tensor_accelerator_channel.py:643",
            f"(rank {rank}) Traceback (most recent call last):",
        )
        log.error(log.RAY_WORKER, "torch_tensor_accelerator_channel.py:643", ATTRIBUTE)
    log.error(core, "core.py:1109", UNAVAILABLE)
    _engine_dead()


def out_of_memory(card_bytes: int) -> None:
    """Writes the log of an engine whose card had no room for what a long prompt takes."""
    core, gib = log.ENGINE_CORE, card_bytes / (1 << 30)
    log.error(core, "core.py:1100", "EngineCore encountered a fatal error.")
    log.error(core, "core.py:1100", "Traceback (most recent call last):")
    log.error(core, "core.py:1100", '  File "vllm/v1/worker/gpu_model_runner.py", line 3375, in execute_model')
    log.error(
        core,
        "core.py:1100",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.69 GiB. GPU 0 has a total capacity of "
        f"{gib:.2f} GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has {gib - 1.02:.2f} GiB "
        "memory in use. If reserved but unallocated memory is large try setting "
        "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
    )
    _engine_dead()


def node_lost() -> None:
    """Writes the log of an engine one of whose nodes went away."""
    log.error(log.ENGINE_CORE, "core.py:1100", "EngineCore encountered a fatal error.")
    log.error(log.ENGINE_CORE, "core.py:1100", LOST)
    _engine_dead()


def _engine_dead() -> None:
    log.error(
        log.API_SERVER,
        "async_llm.py:708",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the "
        "root cause.",
    )
