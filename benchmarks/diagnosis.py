# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What it costs to hold a log of 100 MB against the whole catalogue, beside `grep -E` for the same texts.

    python benchmarks/diagnosis.py

A quiet log is one that matches nothing; a noisy one repeats the reference report's error in every third line. grep runs
in the C locale, which is its quickest, and only counts lines; the diagnosis reads, numbers and ranks them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / ".ansible/collections"))

from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor import diagnose
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.signatures import CATALOGUE

SIZE_BYTES = 100_000_000
ROUNDS = 3
REQUEST = '(APIServer pid=1) INFO:     172.30.0.10:51220 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
METRICS = (
    "(APIServer pid=1) INFO 03-18 09:20:01 [loggers.py:257] Engine 000: Avg prompt throughput: 11.2 tokens/s, Avg "
    "generation throughput: 30.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%\n"
)
ERROR = (
    "(RayWorkerWrapper pid=388) ERROR 03-18 09:20:01 [torch_tensor_accelerator_channel.py:643] AttributeError: "
    "'_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'.\n"
)


def log_of(lines: str) -> str:
    """The lines, repeated to the size."""
    return lines * (SIZE_BYTES // len(lines))


def grep_seconds(log: str) -> float:
    """grep for every text of the catalogue, read from a file in the page cache."""
    escaped = "|".join(
        "".join(f"\\{sign}" if sign in r".^$*+?()[]{}|\\" else sign for sign in said)
        for signature in CATALOGUE
        for said in signature.says
    )
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        file.write(log)
        file.flush()
        command = ["grep", "-cE", escaped, file.name]
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env={**os.environ, "LC_ALL": "C"})
        return time.perf_counter() - started


def diagnosis_seconds(log: str) -> float:
    started = time.process_time()
    diagnose(log)
    return time.process_time() - started


def main() -> None:
    """Prints one row for each kind of log."""
    print(f"{len(CATALOGUE)} signatures, {SIZE_BYTES // 1_000_000} MB, best of {ROUNDS}")
    quiet, noisy = log_of(REQUEST * 5 + METRICS), log_of(REQUEST + METRICS + ERROR)
    grep = min(grep_seconds(quiet) for _ in range(ROUNDS))
    of_quiet = min(diagnosis_seconds(quiet) for _ in range(ROUNDS))
    of_noisy = min(diagnosis_seconds(noisy) for _ in range(ROUNDS))
    print(f"  quiet: {of_quiet:.1f} s, {of_quiet / grep:.0f} times grep -E ({grep:.1f} s)")
    print(f"  noisy: {of_noisy:.1f} s, {of_noisy / of_quiet:.1f} times the quiet one")


if __name__ == "__main__":
    main()
