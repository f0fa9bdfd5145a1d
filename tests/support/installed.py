# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection where it is installed and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path


class Place:
    """A directory that has only the installed collection."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.collection = directory / "collections/ansible_collections/gpuops/gpustack"

    def run(self, *command: object, others: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command as somebody runs it who has no configuration; ``others`` are the collections that pip brought."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        paths = [str(self.directory / "collections"), *([sysconfig.get_path("purelib")] if others else [])]
        own = {
            "ANSIBLE_COLLECTIONS_PATH": ":".join(paths),
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
            "ANSIBLE_NOCOLOR": "1",
        }
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.directory,
            env={**inherited, **own, **environment},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
