# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a fleet before anything on it is changed. Facts in, all problems at once out; pure Python."""

from __future__ import annotations

from .problems import problems_of
from .text import line_of, text_of

__all__ = ["line_of", "problems_of", "text_of"]
