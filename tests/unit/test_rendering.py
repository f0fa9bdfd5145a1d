# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The helper that renders roles, as far as tests of roles do not show it."""

from __future__ import annotations

import os
import subprocess
import sys

ENDS_ABRUPTLY = """
import os, rendering
rendering._process().submit(os.getpid).result()
os._exit(0)
"""


def test_the_rendering_process_ends_with_a_test_that_ends_abruptly() -> None:
    # Its output is open for as long as any process of it runs.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", ENDS_ABRUPTLY]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
