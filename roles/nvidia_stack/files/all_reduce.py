# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An all-reduce over the GPUs of several hosts, checked and timed; runs in the image of the engines, with its own NCCL.

all_reduce.py FIRST_RANK GPUS RANKS ADDRESS PORT MINIMUM_BYTES MAXIMUM_BYTES

One process for each GPU of this host. Rank 0 prints what nccl-tests' all_reduce_perf prints, so that people and tools
know how to read it: of each size the time, and how many values were wrong on all ranks together.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import platform
import sys
import time

WARM_UP, ROUNDS = 3, 10
HEADER = (
    "#       size         count      type   redop    root" + "     time   algbw   busbw #wrong" * 2 + "\n"
    "#        (B)    (elements)                         " + "     (us)  (GB/s)  (GB/s)       " * 2
)
FLOAT_BYTES = 4


def main() -> int:
    """Run the ranks of this host; the exit code is that of the first one that fails."""
    first, gpus, ranks, address, port, minimum, maximum = (
        value if number == 3 else int(value) for number, value in enumerate(sys.argv[1:])
    )
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=run, args=(first + gpu, gpu, ranks, f"tcp://{address}:{port}", minimum, maximum))
        for gpu in range(gpus)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return next((1 for worker in workers if worker.exitcode), 0)


def run(rank: int, gpu: int, ranks: int, rendezvous: str, minimum: int, maximum: int) -> None:
    """One rank: every rank gives its number plus one, and finds the sum of all of them in every place."""
    import torch
    from torch import distributed

    torch.cuda.set_device(gpu)
    patience = datetime.timedelta(hours=1)  # who started this has the time-out
    distributed.init_process_group("nccl", init_method=rendezvous, rank=rank, world_size=ranks, timeout=patience)
    card = f"device {gpu:2} {torch.cuda.get_device_name(gpu)}"
    here = f"#  Rank {rank:2} Group  0 Pid {os.getpid():6} on {platform.node():>10} {card}"
    places: list[str] = [""] * ranks
    distributed.all_gather_object(places, here)
    if rank == 0:
        print("# Using devices", *places, "#", sep="\n")
        print(HEADER)
    all_wrong, bandwidths, size = 0, [], minimum
    while size <= maximum:
        count = max(1, size // FLOAT_BYTES)
        values = torch.full((count,), float(rank + 1), device="cuda")
        distributed.all_reduce(values)
        wrong = (values != ranks * (ranks + 1) / 2).sum()
        distributed.all_reduce(wrong)
        seconds = measure(torch, distributed, values)
        gigabytes = count * FLOAT_BYTES / 1e9 / seconds
        bus = gigabytes * 2 * (ranks - 1) / ranks
        half = f"{seconds * 1e6:9.1f} {gigabytes:7.2f} {bus:7.2f} {int(wrong):6}"
        if rank == 0:
            print(f"{count * FLOAT_BYTES:12} {count:13}     float     sum      -1 {half} {half}", flush=True)
        all_wrong += int(wrong)
        bandwidths.append(bus)
        size *= 4
    if rank == 0:
        print(f"# Out of bounds values : {all_wrong} {'FAILED' if all_wrong else 'OK'}")
        print(f"# Avg bus bandwidth    : {sum(bandwidths) / len(bandwidths):g}", flush=True)
    distributed.destroy_process_group()


def measure(torch, distributed, values) -> float:  # type: ignore[no-untyped-def]
    """Seconds of one all-reduce, of this rank's clock."""
    for _round in range(WARM_UP):
        distributed.all_reduce(values)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _round in range(ROUNDS):
        distributed.all_reduce(values)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / ROUNDS


if __name__ == "__main__":
    sys.exit(main())
