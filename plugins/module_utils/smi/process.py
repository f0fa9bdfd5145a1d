# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs nvidia-smi, and never waits for it longer than agreed."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace

from .. import processes
from ..nvidia_smi import read
from .problems import problem
from .reading import Reading

# Where drivers put it beside the usual PATH: WSL, Container-Optimized OS and Talos.
_DIRECTORIES = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin", "/opt/bin")


def run(arguments: list[str], timeout_seconds: float) -> tuple[str, int, bool]:
    """Output, exit code and whether time ran out, in the language that is parsed."""
    return processes.run(arguments, timeout_seconds, {"LC_ALL": "C"})


def find(nvidia_smi: str) -> str | None:
    """The path of the executable; None when there is none."""
    return shutil.which(nvidia_smi, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_DIRECTORIES]))


def asker(nvidia_smi: str, timeout_seconds: float) -> Callable[[str], Reading]:
    """The function that ``gather`` asks: an argument string in, what nvidia-smi answered out."""
    executable = find(nvidia_smi)

    def ask(command: str) -> Reading:
        if executable is None:
            return Reading(problems=[problem("nvidia_smi_missing", f"no executable {nvidia_smi}")])
        try:
            output, rc, timed_out = run([executable, *shlex.split(command)], timeout_seconds)
        except OSError as error:
            return Reading(problems=[problem("nvidia_smi_failed", f"{executable}: {error.strerror}")])
        if not timed_out:
            return read(command, output, rc)
        # What it printed before it hung still counts; that it broke off needs no second problem.
        reading = read(command, output)
        late = problem("nvidia_smi_timeout", f"`{executable} {command}` gave no answer within {timeout_seconds} s")
        reading.problems = [p for p in reading.problems if p.lacks not in ("devices", "links")] + [late]
        return replace(reading, nvlink=reading.nvlink if output.strip() else None)

    return ask
