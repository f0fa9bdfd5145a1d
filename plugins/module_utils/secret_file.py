# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file with one secret, which nobody but its owner ever could read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import Invalid

_VAULT = "$ANSIBLE_VAULT"


class SecretFile:
    """The secret alone, or as the value of a YAML variable. Nothing here parses YAML: it reads what it wrote."""

    def __init__(self, path: str, variable: str | None) -> None:
        self.path = Path(path)
        self._prefix = "" if variable is None else f"---\n{variable}: "

    @property
    def exists(self) -> bool:
        return self.path.exists()

    @property
    def is_empty(self) -> bool:
        return self.path.stat().st_size == 0

    def check(self) -> None:
        """Raise Invalid when the file could not be written, or holds what is none of our business."""
        directory = self.path.parent
        if self.path.is_dir() or not directory.is_dir() or not os.access(directory, os.W_OK):
            raise Invalid(f"path {self.path} can't be written: {directory} has to be a directory one may write to.")
        if self.exists and not os.access(self.path, os.R_OK):
            raise Invalid(f"path {self.path} can't be read by the user that the task runs as. Use become, or chown it.")

    def secret(self) -> str | None:
        """The secret in the file; None when somebody has encrypted it since, so that nobody here can tell."""
        text = self.path.read_text(encoding="utf-8")
        if text.startswith(_VAULT):
            return None
        return text.strip().rpartition(": ")[2].strip('"')

    def write(self, secret: str | None) -> None:
        """Replace the file in one step; None leaves it empty."""
        text = "" if secret is None else f'{self._prefix}"{secret}"\n' if self._prefix else f"{secret}\n"
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as target:
                target.write(text)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise

    def remove(self) -> None:
        self.path.unlink()
