# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import tarfile

from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.modules import support_bundle

FILES = {"README.txt": "what it is\n", "gpu-worker-a/logs/kernel.log": "größer\n"}


def bundle(path, files=FILES, **internal):
    return run_module(support_bundle.main, {"path": str(path), "files": files}, **internal)


def test_check_mode_writes_nothing(tmp_path):
    path = tmp_path / "support.tar.gz"
    assert bundle(path, check_mode=True)["changed"] is True
    assert not path.exists()


def test_archive_holds_the_texts_for_its_owner_alone(tmp_path):
    path = tmp_path / "support.tar.gz"
    answer = bundle(path)
    assert (answer["changed"], answer["path"]) == (True, str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["support/README.txt", "support/gpu-worker-a/logs/kernel.log"]
        assert archive.extractfile("support/gpu-worker-a/logs/kernel.log").read().decode() == "größer\n"


def test_again_changes_nothing(tmp_path):
    path = tmp_path / "support.tar.gz"
    bundle(path)
    assert bundle(path)["changed"] is False


def test_names_stay_in_the_archive(tmp_path):
    answer = bundle(tmp_path / "s.tar.gz", {"../x": ""})
    assert answer["failed"] is True
    assert "files has ../x; wanted are relative names" in answer["msg"]


def test_directory_that_is_not_there(tmp_path):
    answer = bundle(tmp_path / "none/s.tar.gz")
    assert "Name a directory that exists and is yours." in answer["msg"]
