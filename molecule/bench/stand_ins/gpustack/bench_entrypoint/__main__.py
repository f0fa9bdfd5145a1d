# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts GPUStack with the container's arguments, and its database where it needs one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from . import hardware, settings
from .database import Database

CONFIG = Path("/run/gpustack/config.yaml")


def main() -> None:
    """Becomes ``gpustack start``, or stays beside it for the database's sake."""
    given = settings.read(sys.argv[1:], os.environ)
    profile = json.loads(hardware.PROFILE.read_text(encoding="utf-8")) if hardware.PROFILE.exists() else None
    _write_config(yaml.safe_dump(hardware.merge(given.config, profile)))
    command = ["gpustack", "start", *given.arguments, "--config-file", str(CONFIG)]
    if not given.is_worker and given.values["gateway_mode"] != "disabled":
        sys.exit("This image has no gateway: start the server with --gateway-mode disabled.")
    if given.is_worker or given.values["database_url"]:
        os.execvp(command[0], command)
    database = Database(Path(given.values["data_dir"]), int(given.values["database_port"])).start()
    sys.exit(_run_beside(command, database))


def _write_config(text: str) -> None:
    """The user's configuration may hold tokens, so only its owner may read the merged one."""
    CONFIG.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(CONFIG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        target.write(text)


def _run_beside(command: list[str], database: subprocess.Popen[bytes]) -> int:
    """Runs the server until it or the database ends; returns its exit code. As pid 1 it also buries orphans."""
    server = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: os.kill(server.pid, received))
    while True:
        pid, status = os.wait()
        if pid == server.pid:
            server.returncode = os.waitstatus_to_exitcode(status)
            Database.stop(database)
            return server.returncode if server.returncode >= 0 else 128 - server.returncode
        if pid == database.pid:
            print("PostgreSQL ended; stopping the server.", file=sys.stderr)
            os.kill(server.pid, signal.SIGTERM)


if __name__ == "__main__":
    main()
