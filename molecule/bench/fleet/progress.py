# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress lines with the time since the start, so that nobody wonders whether a long step hangs."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Prints ``[ 12 s] text`` lines."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._start = time.monotonic()

    def say(self, text: str) -> None:
        """Prints one line now."""
        elapsed = time.monotonic() - self._start
        print(f"[{elapsed:4.0f} s] {text}", file=self._stream, flush=True)
