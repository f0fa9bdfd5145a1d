# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error a user of the bench sees: what was found, what was wanted, what to do."""

from __future__ import annotations


class BenchError(Exception):
    """Something outside the program is not as it has to be; the text goes to the user as it is."""
