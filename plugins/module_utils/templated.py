# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What templates make of values: ansible-core 2.18 gives filters a text for every number, and an empty one for null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with null where there is an empty text."""
    return {name: None if value == "" else value for name, value in values.items()}
