# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from api_modules import call
from fake_gpustack import FakeGPUStack


def test_files_of_all_workers_and_of_one(fake: FakeGPUStack) -> None:
    cluster = fake.add_cluster("racks")
    for worker in ("gpu-worker-b", "gpu-worker-a"):
        fake.add_worker(worker, cluster)
        call("model_file", fake, worker=worker, local_path="/m")
    files = call("model_file_info", fake)["model_files"]
    assert [(file["worker"], file["local_path"]) for file in files] == [("gpu-worker-a", "/m"), ("gpu-worker-b", "/m")]
    files = call("model_file_info", fake, worker="gpu-worker-b")["model_files"]
    assert [file["worker"] for file in files] == ["gpu-worker-b"]
    assert "No worker 'x' is registered." in call("model_file_info", fake, worker="x")["msg"]
