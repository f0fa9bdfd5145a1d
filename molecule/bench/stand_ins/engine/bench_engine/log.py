# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines in vLLM's log format."""

from __future__ import annotations

import os
import sys
import time

API_SERVER = "APIServer"
ENGINE_CORE = "EngineCore_DP0"
WORKER = "Worker_TP0"
RAY_WORKER = "RayWorkerWrapper"
_FIRST_PID = {API_SERVER: 0, ENGINE_CORE: 214, WORKER: 387, RAY_WORKER: 387}


def line(level: str, process: str, place: str, text: str) -> None:
    """Prints one line as a vLLM process would: ``(APIServer pid=1) INFO 03-18 09:12:44 [utils.py:233] text``."""
    pid = os.getpid() + _FIRST_PID[process]
    stamp = time.strftime("%m-%d %H:%M:%S")
    for part in text.splitlines() or [""]:
        print(f"({process} pid={pid}) {level} {stamp} [{place}] {part}", file=sys.stderr, flush=True)


def info(process: str, place: str, text: str) -> None:
    line("INFO", process, place, text)


def warning(process: str, place: str, text: str) -> None:
    line("WARNING", process, place, text)


def error(process: str, place: str, text: str) -> None:
    line("ERROR", process, place, text)
