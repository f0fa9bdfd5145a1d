# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cards of this host are and what they are doing."""

from __future__ import annotations

import fcntl
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROFILES = (Path("/etc/gpu-bench/profile.json"), Path("/run/gpu-bench/profile.json"))
STATE = Path("/run/gpu-bench-state")
PERSISTENCE = "persistence_mode"
LOADED_DRIVER = "loaded_driver"  # written by the stand-in for the kernel, and seen in containers too
RESERVED_SHARE = 128  # the driver keeps about one part in so many of a card's memory for itself
IDLE_C, BUSY_C = 33, 58
IDLE_POWER_SHARE, BUSY_POWER_SHARE = 0.1, 0.72


@dataclass(frozen=True)
class Process:
    """A process that holds memory of a card."""

    pid: int
    name: str
    used_mib: int


@dataclass(frozen=True)
class Gpu:
    """One card; ``facts`` are its entry in the profile."""

    facts: dict[str, Any]
    processes: tuple[Process, ...] = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.facts[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def used_mib(self) -> int:
        return sum(process.used_mib for process in self.processes)

    @property
    def reserved_mib(self) -> int:
        return int(self.memory_total_mib) // RESERVED_SHARE

    @property
    def free_mib(self) -> int:
        return int(self.memory_total_mib) - self.reserved_mib - self.used_mib

    @property
    def temperature_c(self) -> int:
        return BUSY_C if self.processes else IDLE_C

    @property
    def power_w(self) -> float:
        return round(float(self.power_limit_w) * (BUSY_POWER_SHARE if self.processes else IDLE_POWER_SHARE), 2)

    @property
    def uncorrected_errors(self) -> int:
        """Of its memory, where the profile makes the card ill."""
        return int(self.facts.get("uncorrected_errors", 0))

    @property
    def slowed_by(self) -> str | None:
        """The reason why its clocks are slow, in nvidia-smi's words, where the profile makes the card ill."""
        return self.facts.get("slowed_by")

    @property
    def mig(self) -> str:
        """Disabled on cards that could be divided, N/A on all others."""
        return "Disabled" if self.architecture in ("Ampere", "Hopper", "Blackwell") and self.mig_capable else "N/A"

    @property
    def mig_capable(self) -> bool:
        return any(card in self.facts["name"] for card in ("A100", "A30", "H100", "H200", "H20", "B200"))


@dataclass(frozen=True)
class Host:
    """All cards of a host and how they are joined."""

    driver_version: str
    cuda_version: str
    cpu_cores: int
    gpus: tuple[Gpu, ...]
    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    persistence: bool = False

    def link(self, one: int, other: int) -> dict[str, Any]:
        """How two cards are joined."""
        return self.links[f"{min(one, other)}-{max(one, other)}"]


def read() -> Host | None:
    """The host as it is now; None where no profile was handed in, or no driver is loaded."""
    profile = next((path for path in PROFILES if path.exists()), None)
    driver = loaded_driver()
    if profile is None or driver is None:
        return None
    facts = json.loads(profile.read_text(encoding="utf-8"))
    return from_profile(facts, claims(), driver, (STATE / PERSISTENCE).exists())


def loaded_driver() -> str | None:
    """The version of the kernel module that is loaded."""
    path = STATE / LOADED_DRIVER
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def from_profile(
    profile: dict[str, Any], held: list[dict[str, Any]], driver_version: str, persistence: bool = False
) -> Host:
    """A host from its profile, the claims on its cards' memory and the driver that is loaded."""
    gpus = tuple(Gpu(facts, _processes(facts["uuid"], held)) for facts in profile["gpus"])
    return Host(driver_version, profile["cuda_version"], profile["cpu_cores"], gpus, profile["links"], persistence)


def claims() -> list[dict[str, Any]]:
    """Claims whose process still lives: it holds a lock on its file. Files that nobody holds are removed."""
    held = []
    for path in sorted(STATE.glob("*.json")):
        with path.open(encoding="utf-8") as source:
            try:
                fcntl.flock(source, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(json.load(source))
            else:
                path.unlink(missing_ok=True)
    return held


def _processes(uuid: str, held: list[dict[str, Any]]) -> tuple[Process, ...]:
    mine = [claim for claim in held if uuid in claim["used_mib"]]
    return tuple(Process(claim["pid"], claim["name"], claim["used_mib"][uuid]) for claim in mine)
