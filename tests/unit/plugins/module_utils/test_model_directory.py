# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import model_directory

CONFIG = {"model_type": "qwen2", "num_hidden_layers": 4}


@pytest.fixture(name="directory")
def fixture_directory(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"x" * 50)
    weight_map = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return tmp_path


def test_a_complete_directory(directory):
    assert model_directory.inspect(str(directory)) == {
        "exists": True,
        "is_directory": True,
        "config": CONFIG,
        "weights_size_bytes": 150,
        "missing_files": [],
        "problem": None,
    }


def test_files_of_the_index_that_are_missing(directory):
    (directory / "model-00002-of-00002.safetensors").unlink()
    found = model_directory.inspect(str(directory))
    assert found["missing_files"] == ["model-00002-of-00002.safetensors"]
    assert found["weights_size_bytes"] == 100


def test_without_an_index_nothing_is_missing(directory):
    (directory / "model.safetensors.index.json").unlink()
    assert model_directory.inspect(str(directory))["missing_files"] == []


@pytest.mark.parametrize("index", ["[]", "{", '{"weight_map": []}', "\x00"])
def test_a_broken_index_says_nothing(directory, index):
    (directory / "model.safetensors.index.json").write_text(index)
    assert model_directory.inspect(str(directory))["missing_files"] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a":\n1', "has a config.json that is not valid JSON: line 2, column 2: "),
        (b"[1]", "has a config.json that is not a JSON object"),
        (b"\xff\xfe", "has a config.json that is not a text in JSON"),
        (b"", "has a config.json that is not valid JSON: line 1, column 1: "),
        (b"[" * 100000, "has a config.json that is not a text in JSON"),
    ],
)
def test_a_config_that_cannot_be_used(directory, text, problem):
    (directory / "config.json").write_bytes(text)
    found = model_directory.inspect(str(directory))
    assert found["config"] is None
    assert found["problem"].startswith(problem)
    assert found["weights_size_bytes"] == 150


def test_no_config(directory):
    (directory / "config.json").unlink()
    assert model_directory.inspect(str(directory))["problem"] == "has no config.json"


def test_nothing_there(tmp_path):
    found = model_directory.inspect(str(tmp_path / "missing"))
    assert (found["exists"], found["is_directory"], found["problem"]) == (False, False, "does not exist")


def test_a_file_instead_of_a_directory(directory):
    found = model_directory.inspect(str(directory / "config.json"))
    assert (found["exists"], found["is_directory"], found["problem"]) == (True, False, "is not a directory")
