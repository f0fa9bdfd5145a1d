# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a package manager says it would do, and whether that is what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .freeze import DRIVER_PATTERNS, frozen
from .packages import CONTAINER_TOOLKIT
from .versions import matches

_SIMULATED = re.compile(r"^(Inst|Remv) (\S+)(?: \[(\S+)\])?(?: \((\S+))?", re.MULTILINE)


@dataclass(frozen=True)
class Transaction:
    """Versions by package name."""

    install: Mapping[str, str]
    remove: tuple[str, ...]


def read_madison(output: str) -> dict[str, list[str]]:
    """The versions of each package that `apt-cache madison` lists, in its order, newest first."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and fields[1] not in found.setdefault(fields[0], []):
            found[fields[0]].append(fields[1])
    return found


def newest_first(candidates: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The versions in falling order of their numbers; dnf lists them in the order of their letters."""

    def numbers(version: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", version)]

    return {name: sorted(versions, key=numbers, reverse=True) for name, versions in candidates.items()}


def resolve(
    wanted: Iterable[Mapping[str, str]], candidates: Mapping[str, list[str]]
) -> tuple[dict[str, str], list[str]]:
    """The exact version of every wanted package, and a sentence for each one that the repositories lack.

    ``wanted`` are ``{"name", "version"}``, the version with its end left out or empty for any; the newest that
    matches is taken.
    """
    exact: dict[str, str] = {}
    missing: list[str] = []
    for package in wanted:
        name, version = package["name"], package["version"]
        versions = candidates.get(name, [])
        fitting = next((candidate for candidate in versions if matches(version, candidate)), None)
        if fitting is not None:
            exact[name] = fitting
        elif versions:
            missing.append(f"{name} {version} is not there; there are {', '.join(versions[:8])}")
        else:
            missing.append(f"{name} is not there in any version")
    return exact, missing


def read_simulation(output: str) -> Transaction:
    """What `apt-get --simulate install` would install and remove."""
    install: dict[str, str] = {}
    removed: list[str] = []
    for action, name, _old, new in _SIMULATED.findall(output):
        if action == "Inst":
            install[name.partition(":")[0]] = new
        else:
            removed.append(name.partition(":")[0])
    return Transaction(install, tuple(sorted(set(removed) - set(install))))


def foreign_drivers(transaction: Transaction, driver_version: str) -> dict[str, str]:
    """Packages of another driver that would come along, with their versions."""
    names = frozen(transaction.install, DRIVER_PATTERNS)
    return {
        name: transaction.install[name]
        for name in names
        if name not in CONTAINER_TOOLKIT
        and not matches(driver_version, transaction.install[name])
        and re.match(r"(?:\d+:)?\d{3}\.\d", transaction.install[name])
    }


def dnf_repoquery(directory: str, names: Iterable[str]) -> list[str]:
    """dnf's command that lists all versions as ``apt-cache madison`` does, without touching dnf's cache.

    ``directory`` holds our repositories, and takes the cache meanwhile; the host's own count too. Locks do not count.
    """
    return [
        "dnf",
        "--quiet",
        f"--setopt=reposdir={directory},/etc/yum.repos.d",
        f"--setopt=cachedir={directory}/cache",
        "repoquery",
        "--showduplicates",
        "--queryformat=%{name} | %{evr} | %{repoid}",
        *names,
    ]
