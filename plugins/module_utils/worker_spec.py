# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What GPUStack takes when a worker is changed. It wipes what is not sent along."""

from __future__ import annotations

from .ensure import Kind

KIND = Kind(label="worker", path="/v2/workers", sent=("name", "labels", "maintenance"))
