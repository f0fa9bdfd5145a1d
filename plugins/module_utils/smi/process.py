# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs nvidia-smi, and never waits for it longer than agreed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace

from ..nvidia_smi import read
from .problems import problem
from .reading import Reading

# Where drivers put it beside the usual PATH: WSL, Container-Optimized OS and Talos.
_DIRECTORIES = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin", "/opt/bin")
# A process in uninterruptible sleep outlives SIGKILL; after this it is left behind.
_KILL_SECONDS = 2


def run(arguments: list[str], timeout_seconds: float) -> tuple[str, int, bool]:
    """Output (stdout and stderr as they came), exit code, and whether time ran out and the process group was killed."""
    # Where there is no module whose run_command could be used; and that one ends a process, not its group.
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
    )
    timed_out = False
    try:
        output, _none = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        try:
            output, _none = process.communicate(timeout=_KILL_SECONDS)
        except subprocess.TimeoutExpired as left:
            output = left.output or b""
    return output.decode("utf-8", errors="replace"), process.returncode or 0, timed_out


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
