# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PostgreSQL that a server brings with it, in its data directory."""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

BINARIES = Path("/usr/lib/postgresql/15/bin")
AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups")
START_SECONDS = 60


class Database:
    """PostgreSQL on 127.0.0.1 for one server; survives kills and new containers on the same volume."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self._base = data_dir / "postgresql"
        self._data = self._base / "data"
        self._port = str(port)
        self._lock: IO[str] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Makes the cluster if there is none, starts it and waits until it takes connections; returns its process."""
        self._base.mkdir(parents=True, exist_ok=True)
        shutil.chown(self._base, "postgres", "postgres")
        self._lock = (self._base / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not self._data.exists():
            self._initialise()
        # Its process numbers are of a container that is gone; we hold the lock, so nobody else is on these files.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "jit=off", "max_connections=200")
        options = [item for setting in settings for item in ("-c", setting)]
        command = [*AS_POSTGRES, str(BINARIES / "postgres"), "-D", str(self._data), "-p", self._port, *options]
        process = subprocess.Popen(command, start_new_session=True)
        self._await(process)
        exists = self._client("psql", "-tAc", "SELECT 1 FROM pg_database WHERE datname = 'gpustack'", "postgres")
        if exists.stdout.strip() != "1":
            self._client("createdb", "gpustack").check_returncode()
        return process

    @staticmethod
    def stop(process: subprocess.Popen[bytes]) -> None:
        """Shuts down fast: open transactions are rolled back, nothing needs recovery afterwards."""
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait()

    def _initialise(self) -> None:
        """A half-made cluster never gets the final name."""
        unfinished = self._base / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        options = ("--username=root", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        command = [*AS_POSTGRES, str(BINARIES / "initdb"), "-D", str(unfinished), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        unfinished.rename(self._data)

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._client("pg_isready").returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("PostgreSQL did not start; see its messages above.")
            time.sleep(0.2)

    def _client(self, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(BINARIES / tool), "-h", "127.0.0.1", "-p", self._port, "-U", "root", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)
