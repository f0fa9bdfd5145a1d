# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log of a model instance, as GPUStack passes it on from the worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .client import Client
from .errors import GPUStackError
from .masking import redact


def read_log(client: Client, instance: Mapping[str, Any], lines: int, secrets: Iterable[str]) -> list[str]:
    """The last lines without secrets; empty where there is no log, as for an instance without a worker.

    Of a distributed instance it is the log of the first worker. It goes with the instance.
    """
    if lines <= 0 or not instance.get("worker_name"):
        return []
    try:
        text = client.get_text(f"/v2/model-instances/{instance['id']}/logs", tail=lines)
    except GPUStackError:
        return []
    return redact(text, secrets).splitlines()[-lines:]
