# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a fleet that runs, or does not: facts and logs in, findings out; pure Python."""

from __future__ import annotations

from .diagnosis import diagnose
from .examination import examine
from .finding import Look

__all__ = ["Look", "diagnose", "examine"]
