# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outer Docker engine: its command line, and the engine itself where none runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from .errors import BenchError
from .machine import is_debian
from .progress import Progress
from .state import State

ENGINE = {"docker": "docker.io", "dockerd": "docker.io", "iptables": "iptables"}
PIDFILE = Path("/var/run/docker.pid")


def docker(*arguments: str, check: bool = True, text: str | None = None) -> str:
    """Runs a docker command and returns what it printed; raises BenchError with its own words when it fails."""
    result = subprocess.run(["docker", *arguments], input=text, capture_output=True, text=True, check=False)
    if check and result.returncode != 0:
        raise BenchError(f"docker {' '.join(arguments[:3])} failed: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout.strip()


def logged(command: list[str], log: Path, **options: Any) -> None:
    """Runs a long command with its output in a log file; raises BenchError with the log's end when it fails."""
    with log.open("w", encoding="utf-8") as target:
        result = subprocess.run(command, stdout=target, stderr=subprocess.STDOUT, check=False, **options)
    if result.returncode != 0:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        raise BenchError(f"{command[0]} {command[1]} failed; the end of {log}:\n{tail}")


def inspect(kind: str, name: str) -> dict[str, Any] | None:
    """What docker says about one container, image, network or volume; None when there is none."""
    result = subprocess.run(["docker", kind, "inspect", name], capture_output=True, text=True, check=False)
    return json.loads(result.stdout)[0] if result.returncode == 0 else None


def answers() -> bool:
    """True when a Docker engine answers."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0


def ensure_engine(state: State, progress: Progress) -> None:
    """Makes sure that an engine answers: installs and starts one where it may, says what to do where it may not."""
    if answers():
        return
    ensure_tools(ENGINE, state, progress)
    if not answers():
        _start_engine(state, progress)


def ensure_tools(packages: dict[str, str], state: State, progress: Progress) -> None:
    """Installs what is missing of ``packages``, a mapping of tool to Debian package."""
    missing = sorted({package for tool, package in packages.items() if shutil.which(tool) is None})
    if not missing:
        return
    if os.geteuid() != 0 or not is_debian():
        raise BenchError(f"The bench needs {' and '.join(missing)}: install them, or run it as root on Debian.")
    progress.say(f"installing {', '.join(missing)} …")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    log = state.logs / "apt.log"
    logged(["apt-get", "update", "-q"], log, env=environment)
    logged(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], log, env=environment)


def _start_engine(state: State, progress: Progress) -> None:
    if os.geteuid() != 0:
        raise BenchError("No Docker engine answers: start it (systemctl start docker) or run the bench as root.")
    if PIDFILE.exists() and not _is_dockerd(PIDFILE):
        PIDFILE.unlink()
    progress.say("starting dockerd …")
    with (state.logs / "dockerd.log").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(
            ["dockerd"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    deadline = time.monotonic() + 60
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"dockerd did not start; see {state.logs / 'dockerd.log'}.")
        time.sleep(0.5)
    state.remember(dockerd_pid=process.pid)


def _is_dockerd(pidfile: Path) -> bool:
    """A pid file outlives a killed engine, and its number may belong to somebody else by now."""
    try:
        pid = int(pidfile.read_text(encoding="utf-8"))
        return "dockerd" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except (ValueError, OSError):
        return False


def stop_own_engine(state: State, progress: Progress) -> None:
    """Stops the dockerd that the bench itself started, and no other."""
    pid = state.facts().get("dockerd_pid")
    state.remember(dockerd_pid=None)
    if pid is None or not PIDFILE.exists() or PIDFILE.read_text(encoding="utf-8").strip() != str(pid):
        return
    if not _is_dockerd(PIDFILE):
        return
    if docker("ps", "--quiet"):
        state.remember(dockerd_pid=pid)
        progress.say("dockerd keeps running: it has other containers")
        return
    progress.say("stopping the dockerd that the bench started")
    os.kill(pid, signal.SIGTERM)
    for _ in range(60):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.5)
