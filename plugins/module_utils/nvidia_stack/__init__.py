# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host stack (driver, CUDA, NCCL, container toolkit): what a host needs, and whether it has it. Pure Python."""

from __future__ import annotations

from .plan import plan
from .verification import problems_of

__all__ = ["plan", "problems_of"]
