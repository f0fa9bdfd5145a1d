# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for PyTorch: which cards an image has code for, and as much as a check of an all-reduce needs."""

from . import cuda, distributed, version
from .tensor import Tensor, full

__all__ = ["Tensor", "cuda", "distributed", "full", "version"]
__version__ = f"2.10.0+cu{version.cuda.replace('.', '')}"
