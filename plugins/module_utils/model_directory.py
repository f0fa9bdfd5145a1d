# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What lies in a directory of model weights."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".gguf")

_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


def inspect(path: str) -> dict[str, Any]:
    """The directory's ``config.json`` and its weight files; what is wrong with it as ``problem``, never an exception.

    ``{"exists", "is_directory", "config", "weights_size_bytes", "missing_files", "problem"}``: ``config`` is None where
    it is missing or invalid, ``missing_files`` are those that the index of the weights names and the directory lacks.
    """
    directory = Path(path)
    found: dict[str, Any] = {
        "exists": directory.exists(),
        "is_directory": directory.is_dir(),
        "config": None,
        "weights_size_bytes": None,
        "missing_files": [],
        "problem": None,
    }
    if not found["exists"]:
        return {**found, "problem": "does not exist"}
    if not found["is_directory"]:
        return {**found, "problem": "is not a directory"}
    try:
        files = {entry.name: entry.stat().st_size for entry in os.scandir(directory) if entry.is_file()}
    except OSError as error:
        return {**found, "problem": f"cannot be read: {error.strerror}"}
    config, problem = _read_object(directory / "config.json")
    return {
        **found,
        "config": config,
        "weights_size_bytes": sum(size for name, size in files.items() if name.endswith(WEIGHT_SUFFIXES)),
        "missing_files": sorted(_indexed_files(directory) - files.keys()),
        "problem": problem,
    }


def _indexed_files(directory: Path) -> set[str]:
    for index in _INDEXES:
        content, _problem = _read_object(directory / index)
        weight_map = (content or {}).get("weight_map")
        if isinstance(weight_map, dict):
            return {str(name) for name in weight_map.values()}
    return set()


def _read_object(path: Path) -> tuple[dict[str, Any] | None, str | None]:
    """The JSON object in a file, or None and why there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, f"has no {path.name}"
    except OSError as error:
        return None, f"has a {path.name} that cannot be read: {error.strerror}"
    except json.JSONDecodeError as error:
        return None, f"has a {path.name} that is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}"
    except (UnicodeDecodeError, RecursionError):
        return None, f"has a {path.name} that is not a text in JSON"
    if not isinstance(content, dict):
        return None, f"has a {path.name} that is not a JSON object"
    return content, None
