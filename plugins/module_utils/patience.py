# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bearing with a server that restarts while something is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .errors import GPUStackError, ServerError, Unreachable
from .waiting import NoAnswer

Seen = TypeVar("Seen")
End = TypeVar("End")


def with_patience(wait: Callable[[Callable[[], Seen]], End], look: Callable[[], Seen]) -> End:
    """What `wait` makes of `look`, where a server that is away is no answer, as `waiting` wants it.

    When the wait gives up on it, the server's last error is raised.
    """
    away: list[GPUStackError] = []

    def patient() -> Seen:
        try:
            return look()
        except (Unreachable, ServerError) as error:
            away[:] = [error]
            raise NoAnswer from error

    try:
        return wait(patient)
    except NoAnswer:
        raise away[0] from None
