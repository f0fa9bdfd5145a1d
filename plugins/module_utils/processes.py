# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a program, and never waits for it longer than agreed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping

# A process in uninterruptible sleep outlives SIGKILL; after this it is left behind.
_KILL_SECONDS = 2


def run(
    arguments: list[str], timeout_seconds: float, environment: Mapping[str, str] | None = None
) -> tuple[str, int, bool]:
    """Output (stdout and stderr as they came), exit code, and whether time ran out and the process group was killed.

    ``environment`` is what the program gets beside this process's own.
    """
    # Where there is no module whose run_command could be used; and that one ends a process, not its group.
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
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
