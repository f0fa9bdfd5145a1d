# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can go wrong between a module and GPUStack: one class per remedy.

Every message says what was found, what was wanted and what to do, and holds no secret.
"""

from __future__ import annotations


class GPUStackError(Exception):
    """Base of all; `status` is the HTTP status where the server answered, else None."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(GPUStackError):
    """No answer: refused, timed out, name unknown, no TLS."""


class Untrusted(GPUStackError):
    """Nobody whom the client trusts vouches for the server, so nothing was sent to it."""


class NotGPUStack(GPUStackError):
    """Something answered, but not GPUStack's API."""


class UnsupportedVersion(GPUStackError):
    """A GPUStack release this collection has not been tested with."""


class Unauthorized(GPUStackError):
    """Wrong credentials (401)."""


class Forbidden(GPUStackError):
    """Right credentials without the right (403)."""


class NotFound(GPUStackError):
    """The object does not exist (404, or a name that was looked up in vain)."""


class Conflict(GPUStackError):
    """The name is taken, or the object is still in use (409)."""


class Invalid(GPUStackError):
    """The server refuses the request's content (400, 422), or would change something that can't be changed."""


class NotApplied(GPUStackError):
    """The server accepted a write and kept something else."""


class ServerError(GPUStackError):
    """The server failed (5xx)."""
