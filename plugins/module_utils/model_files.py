# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What GPUStack has fetched to its workers."""

from __future__ import annotations

from typing import Any

from .client import Client
from .lookup import worker_named
from .presentation import show_model_file


def model_files(client: Client, worker: str | None = None) -> list[dict[str, Any]]:
    """The files of all models, or of those on one worker, as ``model_file_info`` documents them, by worker and number.

    Raises NotFound for a worker that is unknown.
    """
    workers = list(client.listing("/v2/workers")) if worker is None else [worker_named(client, worker)]
    names = {one["id"]: one["name"] for one in workers}
    only = {} if worker is None else {"worker_id": workers[0]["id"]}
    shown = [show_model_file(file, names.get(file["worker_id"])) for file in client.listing("/v2/model-files", **only)]
    return sorted(shown, key=lambda file: (str(file["worker"] or ""), file["id"]))
