# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the model directories, of the GPUStack server and of its release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..releases import SUPPORTED_FROM
from ..upgrade import obstacles, other_releases, parse
from .fleet import Finding, Fleet, by_value, size_text

_MANY = 3


def model_directory_unusable(fleet: Fleet) -> Iterator[Finding]:
    """GPUStack may place a model on any worker, so each of them needs it at the same path."""
    for path, directories in _model_directories(fleet):
        complete = sorted(host for host, found in directories.items() if not found["problem"])
        elsewhere = f"; it is all right on {', '.join(complete)}" if complete else ""
        remedy = (
            f"Copy {path} from {complete[0]}." if complete else f"Put the model's files into {path} on every worker."
        )
        for host, found in directories.items():
            if found["problem"]:
                wanted = "the model at this path, with its config.json, on every worker"
                yield Finding([host], f"{path} {found['problem']}{elsewhere}", wanted, remedy)


def model_files_missing(fleet: Fleet) -> Iterator[Finding]:
    """A copy that broke off leaves a directory that looks right until the engine loads it."""
    for path, directories in _model_directories(fleet):
        for host, found in directories.items():
            if found["missing_files"]:
                yield Finding(
                    [host],
                    f"{path} lacks {_some(found['missing_files'])}",
                    "all files that the index of the weights names",
                    "Copy the model again.",
                )


def model_config_differs(fleet: Fleet) -> Iterator[Finding]:
    """Ranks of one engine that read different configurations fail late or, worse, do not."""
    for path, directories in _model_directories(fleet):
        groups = by_value({host: found["config"] for host, found in directories.items() if found["config"] is not None})
        if len(groups) > 1:
            keys = sorted({key for config, _hosts in groups[1:] for key in _differing_keys(groups[0][0], config)})
            yield Finding(
                _odd_ones(groups),
                f"config.json of {path} is not the same everywhere: {_some(keys)} differ"
                f" ({_sides(hosts for _config, hosts in groups)})",
                "the same model on every worker",
                "Copy the model again from the host that has the right one.",
            )


def model_weights_differ(fleet: Fleet) -> Iterator[Finding]:
    """The same configuration and another size: half copied, or another version of the weights."""
    for path, directories in _model_directories(fleet):
        sizes = {host: found["weights_size_bytes"] for host, found in directories.items() if not found["problem"]}
        groups = by_value(sizes)
        if len(groups) > 1:
            yield Finding(
                _odd_ones(groups),
                f"the weights in {path} are not of the same size everywhere: "
                + ", ".join(f"{size_text((size or 0) / 2**20)} on {' '.join(hosts)}" for size, hosts in groups),
                "the same model on every worker",
                "Copy the model again from the host that has all of it.",
            )


def server_untrusted(fleet: Fleet) -> Iterator[Finding]:
    """Whoever answers for the server would be told the administrator's password."""
    server = fleet.server or {}
    if server.get("trusted") is False:
        yield Finding(
            [],
            str(server["problem"]).partition(". ")[0],  # what follows is the remedy for a task
            "a certificate that the controller trusts, for the host that gpustack_server_url names",
            "SSL_CERT_FILE=/path/to/the/authority.pem ansible-playbook …, or the trust of the controller's system.",
        )


def server_unreachable(fleet: Fleet) -> Iterator[Finding]:
    """Everything after preflight talks to the server."""
    server = fleet.server
    if server is not None and server.get("trusted", True) and "version" in server and server["version"] is None:
        yield Finding(
            [],
            f"{server.get('url') or 'the server'} does not answer: {server.get('problem') or 'no reason given'}",
            "a GPUStack server that answers",
            "Correct gpustack_server_url, or start the server.",
        )


def server_refuses(fleet: Fleet) -> Iterator[Finding]:
    """It answers, and does not take who asks."""
    server = fleet.server or {}
    if server.get("version") is not None and server.get("problem"):
        yield Finding(
            [],
            str(server["problem"]),
            "credentials of an administrator",
            "Correct gpustack_server_admin_password; after the server's first start it is changed in GPUStack alone.",
        )


def server_unsupported(fleet: Fleet) -> Iterator[Finding]:
    """GPUStack's API changes between releases, and silently ignores what it does not know."""
    server = fleet.server or {}
    if server.get("version") is None:
        return
    version, oldest, below = (_version(server.get(key)) for key in ("version", "supported_from", "supported_below"))
    if version and (not oldest or version >= oldest) and (not below or version < below):
        return
    limits = [
        f"{word} {server[key]}"
        for word, key in (("from", "supported_from"), ("below", "supported_below"))
        if server.get(key)
    ]
    yield Finding(
        [],
        f"{server.get('url') or 'the server'} runs GPUStack {server['version']}",
        f"a release {' and '.join(limits)}" if limits else "a release with a version number",
        "Upgrade the server, or use a release of this collection that was made for it.",
    )


def release_unreachable(fleet: Fleet) -> Iterator[Finding]:
    """GPUStack's database goes forward only, and some ways have lost data."""
    server = fleet.server or {}
    running = parse(server.get("version"))
    if not server.get("declared") or running is None or running < SUPPORTED_FROM:
        return
    subject = f"{server.get('url') or 'the server'} runs GPUStack"
    for obstacle in obstacles(server["version"], server["declared"], subject):
        yield Finding([], obstacle.found, obstacle.wanted, obstacle.remedy)


def worker_release_differs(fleet: Fleet) -> Iterator[Finding]:
    """Server and workers talk in the words of their release, and are tried together in one only."""
    declared = (fleet.server or {}).get("declared")
    releases = {host: worker["release"] for host, worker in fleet.workers.items() if worker.get("release")}
    if not declared:
        return
    for host, release in other_releases(declared, releases).items():
        yield Finding(
            [host],
            f"GPUStack {release} is declared for the worker",
            f"that of the server, {declared}",
            "Set gpustack_worker_version to gpustack_server_version.",
        )


def _model_directories(fleet: Fleet) -> Iterator[tuple[str, dict[str, Mapping[str, Any]]]]:
    unknown: dict[str, Any] = {
        "config": None,
        "weights_size_bytes": None,
        "missing_files": [],
        "problem": "was not looked at",
    }
    for path in fleet.model_directories:
        yield (
            path,
            {
                host: (facts.get("model_directories") or {}).get(path, unknown)
                for host, facts in fleet.worker_facts().items()
            },
        )


def _odd_ones(groups: list[tuple[Any, list[str]]]) -> list[str]:
    """The hosts outside the largest group; all of them where no group is the largest."""
    undecided = len(groups[0][1]) == len(groups[1][1])
    return sorted(host for _value, hosts in groups[0 if undecided else 1 :] for host in hosts)


def _differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {key for key in {*one, *other} if one.get(key) != other.get(key)}


def _sides(groups: Iterator[list[str]]) -> str:
    return " against ".join(" ".join(hosts) for hosts in groups)


def _some(items: list[str]) -> str:
    more = len(items) - _MANY
    return ", ".join(items[:_MANY]) + (f" and {more} more" if more > 0 else "")


def _version(text: Any) -> tuple[int, ...] | None:
    match = re.match(r"v?(\d+(?:\.\d+)*)", str(text or ""))
    numbers = tuple(int(number) for number in match.group(1).split(".")) if match else ()
    return numbers if any(numbers) else None  # a development build calls itself 0.0.0
