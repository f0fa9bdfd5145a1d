# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cards a process may use: what the container runtime handed in, narrowed by CUDA_VISIBLE_DEVICES.

Who uses memory of a card says so in a file under STATE, which every container of a host shares. The file is locked as
long as the process lives, so nothing has to be cleaned up after a kill; nvidia-smi adds the locked ones up.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from .memory import GIB, Card

PROFILE = Path("/run/gpu-bench/profile.json")
STATE = Path("/run/gpu-bench-state")


def host_profile() -> dict[str, Any] | None:
    """The profile of the host; None where the container was started without the nvidia runtime."""
    return json.loads(PROFILE.read_text(encoding="utf-8")) if PROFILE.exists() else None


def visible(profile: dict[str, Any] | None, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cards this process sees, in the order it sees them."""
    gpus: list[dict[str, Any]] = profile["gpus"] if profile else []
    for variable in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        chosen = environment.get(variable)
        if chosen in (None, "all"):
            continue
        by_name = {str(gpu["index"]): gpu for gpu in gpus} | {gpu["uuid"]: gpu for gpu in gpus}
        return [by_name[item] for item in chosen.split(",") if item in by_name]
    return gpus


def as_card(gpu: dict[str, Any]) -> Card:
    """A card of the profile in the terms of the memory model."""
    major, minor = gpu["compute_capability"].split(".")
    return Card(
        gpu["name"],
        (int(major), int(minor)),
        int(gpu["memory_cuda_gib"] * GIB),
        gpu["streaming_multiprocessors"],
        gpu["nvlinks"],
    )


class Claim:
    """Memory that this process holds on some cards until it ends."""

    def __init__(self, gpus: list[dict[str, Any]], used_mib: int, name: str) -> None:
        self._file: IO[str] | None = None
        if not STATE.is_dir():
            return
        path = STATE / f"{uuid.uuid4().hex}.json"
        self._file = path.open("w", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        document = {"pid": os.getpid(), "name": name, "used_mib": {gpu["uuid"]: used_mib for gpu in gpus}}
        json.dump(document, self._file)
        self._file.flush()
