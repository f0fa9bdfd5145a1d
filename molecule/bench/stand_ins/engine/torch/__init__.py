# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for PyTorch: only what tells which cards an image has code for."""

from . import cuda, version

__all__ = ["cuda", "version"]
__version__ = f"2.10.0+cu{version.cuda.replace('.', '')}"
