# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a collection wants of the controller, and what is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.galaxy.dependency_resolution.versioning import meets_requirements
from ansible.release import __version__ as ansible_core


def of_collection(directory: Path, load: Callable[[str], Any]) -> list[dict[str, Any]]:
    """``[{"name", "wanted", "found", "satisfied"}]``: ansible-core, then the collections that this one depends on.

    ``wanted`` is a version specifier as the collection's own metadata has it, ``found`` a version or None. ``load``
    reads a file of YAML or JSON.
    """
    wanted = {"ansible-core": load(str(directory / "meta" / "runtime.yml"))["requires_ansible"]}
    wanted.update(_metadata(directory, load).get("dependencies") or {})
    return [_requirement(name, versions, load) for name, versions in wanted.items()]


def _requirement(name: str, wanted: str, load: Callable[[str], Any]) -> dict[str, Any]:
    found = ansible_core if name == "ansible-core" else _collection_version(name, load)
    return {"name": name, "wanted": wanted, "found": found, "satisfied": bool(found) and _is_good(found, wanted)}


def _is_good(version: str, wanted: str) -> bool:
    """A candidate of a release counts as that release; ansible-core does not write them as collections do."""
    release = re.match(r"\d+\.\d+\.\d+", version)
    return release is not None and bool(meets_requirements(release.group(), wanted))


def _collection_version(name: str, load: Callable[[str], Any]) -> str | None:
    try:
        package = import_module(f"ansible_collections.{name}")
    except ImportError:
        return None
    version: str | None = _metadata(Path(next(iter(package.__path__))), load).get("version")
    return version


def _metadata(directory: Path, load: Callable[[str], Any]) -> dict[str, Any]:
    """Of an installed collection, or of one that lies there as its source does."""
    manifest = directory / "MANIFEST.json"
    if manifest.exists():
        return dict(load(str(manifest))["collection_info"])
    return dict(load(str(directory / "galaxy.yml")))
