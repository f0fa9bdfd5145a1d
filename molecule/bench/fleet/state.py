# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench keeps in the checkout: ``.bench/``, never in git."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any


class State:
    """Paths under ``.bench/`` and the few things that are made once and kept."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.root = checkout / ".bench"
        self.build = self.root / "build"
        self.logs = self.root / "logs"
        self.ssh_key = self.root / "ssh" / "id_ed25519"
        self.known_hosts = self.root / "known_hosts"
        self.admin_password = self.root / "secrets" / "admin_password"
        self.packages_fingerprint = self.root / "packages_fingerprint"
        self._facts = self.root / "state.json"
        for directory in (self.root, self.build, self.logs):
            directory.mkdir(exist_ok=True)
        for directory in (self.ssh_key.parent, self.admin_password.parent):
            directory.mkdir(mode=0o700, exist_ok=True)

    def make_admin_password(self) -> None:
        """The password of GPUStack's first administrator, random, written once, for the owner's eyes only."""
        if not self.admin_password.exists():
            write_private(self.admin_password, secrets.token_urlsafe(24) + "\n")

    def facts(self) -> dict[str, Any]:
        """Small facts that outlive one run: the port of the registry, the pid of our dockerd."""
        if not self._facts.exists():
            return {}
        known: dict[str, Any] = json.loads(self._facts.read_text(encoding="utf-8"))
        return known

    def remember(self, **facts: Any) -> None:
        """Keeps facts for the next run; None forgets one."""
        merged = {key: value for key, value in {**self.facts(), **facts}.items() if value is not None}
        self._facts.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, and that never was readable for others."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        target.write(text)
