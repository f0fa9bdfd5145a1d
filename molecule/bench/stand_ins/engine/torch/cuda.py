# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The architectures that the image holds kernels for; Volta's among them, as in the image of the reference report.

BENCH_ARCHITECTURES (``sm_75 sm_80 …``) makes it another image.
"""

from __future__ import annotations

import os

BUILT_FOR = "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"


def get_arch_list() -> list[str]:
    """As torch.cuda.get_arch_list() answers."""
    return os.environ.get("BENCH_ARCHITECTURES", BUILT_FOR).split()
