# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The architectures that the image holds kernels for, Volta's among them as in the image of the reference report; and
the cards of the host.

BENCH_ARCHITECTURES (``sm_75 sm_80 …``) makes it another image.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

BUILT_FOR = "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"
PROFILE = Path("/run/gpu-bench/profile.json")


def get_arch_list() -> list[str]:
    """As torch.cuda.get_arch_list() answers."""
    return os.environ.get("BENCH_ARCHITECTURES", BUILT_FOR).split()


def get_device_name(device: int) -> str:
    """The card's name; there is none where the runtime has handed no cards in."""
    return str(json.loads(PROFILE.read_text(encoding="utf-8"))["gpus"][device]["name"])


def set_device(device: int) -> None:
    """As torch.cuda.set_device(): a card that is not there is an error."""
    get_device_name(device)


def synchronize() -> None:
    """Nothing here runs behind the program's back."""
