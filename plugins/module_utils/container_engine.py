# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a host's Docker comes from and how it is configured, decided from its distribution. Pure Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .nvidia_stack.settings import refuse_unknown
from .nvidia_stack.versions import matches

MANAGED = "Managed by Ansible (gpuops.gpustack.container_engine)."
DISTRIBUTION, DOCKER = "distribution", "docker"
APT, DNF = "apt", "dnf"
MANAGERS = {"debian": APT, "ubuntu": APT, "rhel": DNF, "rocky": DNF, "almalinux": DNF}
CODENAMES = {"12": "bookworm", "22.04": "jammy", "24.04": "noble"}
# Docker's directories; rebuilds of RHEL use those of CentOS.
DIRECTORIES = {"debian": "debian", "ubuntu": "ubuntu", "rhel": "rhel", "rocky": "centos", "almalinux": "centos"}

# python3-requests is what community.docker talks to the engine with; iptables is only a recommendation of docker.io.
NEEDED = {APT: ("iptables", "python3-requests"), DNF: ("iptables-nft", "python3-requests")}
OF_THE_DISTRIBUTION = ("docker.io",)
OF_DOCKER = ("docker-ce", "docker-ce-cli")  # always at one version
OF_DOCKER_BESIDE = ("containerd.io",)

# Where Docker itself says its repository is; a mirror has an address of its own.
PUBLIC_ADDRESS = "download.docker.com"
PROXY_UNIT = "/etc/systemd/system/docker.service.d/gpustack-proxy.conf"
# Before, the engine does not start with the key "proxies" in its configuration.
FIRST_WITH_PROXIES = 23

# systemd's driver loses the devices of running containers at every daemon-reload (NVML: Unknown Error); cgroupfs does
# not.
KEEPS_DEVICES = "native.cgroupdriver=cgroupfs"


@dataclass(frozen=True)
class Settings:
    """The role's variables of the same names."""

    source: str = DISTRIBUTION
    packages: list[str] = field(default_factory=list)
    version: str = ""
    repository_url: str = ""
    registry_mirrors: list[str] = field(default_factory=list)
    insecure_registries: list[str] = field(default_factory=list)
    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    log_max_size: str = ""
    log_max_files: int = 1
    live_restore: bool | None = None
    nvidia: bool = False
    nvidia_runtime_path: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """The settings in a dictionary. Raises ValueError with what was found and what is wanted."""
        refuse_unknown(data, (one.name for one in fields(cls)))
        # Ansible before 2.19 makes an empty text of what is null.
        settings = cls(**{name: value for name, value in data.items() if (name, value) != ("live_restore", "")})
        if settings.source not in (DISTRIBUTION, DOCKER):
            raise ValueError(f"source is {settings.source!r}: wanted is {DISTRIBUTION} or {DOCKER}")
        if settings.log_max_size and not re.fullmatch(r"[1-9]\d*[kmg]", settings.log_max_size):
            raise ValueError(f"log_max_size is {settings.log_max_size!r}: wanted is a size such as 50m")
        return settings


def plan(
    distribution: Mapping[str, str],
    settings: Mapping[str, Any],
    installed: Mapping[str, Any] | None = None,
    engine_version: str = "",
) -> dict[str, Any]:
    """What a host gets.

    ``distribution`` is ``{"id", "version"}`` of ``host_facts``, ``installed`` what ``package_facts`` finds,
    ``engine_version`` the answer to ``dockerd --version``.

    * ``manager``: apt or dnf; ``packages``: ``[{"name", "version"}]``, an empty version is any; ``outdated``: the names
      of those that are not installed like that
    * ``repositories``: Docker's, as ``package_rehearsal`` takes it; empty where the distribution's packages are used
    * ``entry_pattern``: a regular expression for the lines of entries, whoever wrote them, for the same repository
    * ``daemon``: settings for daemon.json, the proxy among them where the engine takes it there
    * ``proxy_unit``: what an older engine needs instead, ``{"path", "content"}``; nothing in it where none is needed

    Raises ValueError for settings that are none, and for a distribution without Docker.
    """
    wanted = Settings.from_dict(settings)
    manager = MANAGERS.get(distribution["id"])
    if manager is None:
        raise ValueError(f"{distribution['id']} is not known: wanted is one of {', '.join(MANAGERS)}")
    if manager == DNF and wanted.source == DISTRIBUTION and not wanted.packages:
        raise ValueError(f"{distribution['id']} has no Docker of its own: wanted is the source {DOCKER}")
    from_docker = wanted.source == DOCKER
    packages = _packages(manager, wanted)
    return {
        "manager": manager,
        "packages": packages,
        "outdated": [one["name"] for one in packages if not _is_installed(one, installed or {})],
        "repositories": [_repository(manager, distribution, wanted.repository_url)] if from_docker else [],
        "entry_pattern": _entry_pattern(wanted.repository_url) if from_docker else "",
        **_configuration(wanted, engine_version),
    }


def _configuration(wanted: Settings, engine_version: str) -> dict[str, Any]:
    daemon, proxies = _daemon(wanted), _proxies(wanted)
    if proxies and _takes_proxies(engine_version):
        return {"daemon": {**daemon, "proxies": proxies}, "proxy_unit": _proxy_unit({})}
    return {"daemon": daemon, "proxy_unit": _proxy_unit(proxies)}


def _takes_proxies(engine_version: str) -> bool:
    match = re.search(r"version (\d+)\.", engine_version)
    return match is not None and int(match[1]) >= FIRST_WITH_PROXIES


def _is_installed(package: Mapping[str, str], installed: Mapping[str, Any]) -> bool:
    return any(matches(package["version"], one["version"]) for one in installed.get(package["name"], []))


def _packages(manager: str, wanted: Settings) -> list[dict[str, str]]:
    if wanted.packages:
        return [{"name": name, "version": ""} for name in wanted.packages]
    needed = [{"name": name, "version": ""} for name in NEEDED[manager]]
    if wanted.source == DISTRIBUTION:
        return [*({"name": name, "version": ""} for name in OF_THE_DISTRIBUTION), *needed]
    engine = [{"name": name, "version": wanted.version} for name in OF_DOCKER]
    return [*engine, *({"name": name, "version": ""} for name in OF_DOCKER_BESIDE), *needed]


def _repository(manager: str, distribution: Mapping[str, str], url: str) -> dict[str, str]:
    base = f"{url.rstrip('/')}/{DIRECTORIES[distribution['id']]}"
    if manager == DNF:
        key_path = "/etc/pki/rpm-gpg/RPM-GPG-KEY-gpustack-docker"
        address = f"{base}/{distribution['version'].partition('.')[0]}/$basearch/stable"
        lines = [
            "[docker]",
            "name=docker",
            f"baseurl={address}",
            "enabled=1",
            "gpgcheck=1",
            f"gpgkey=file://{key_path}",
        ]
        path = "/etc/yum.repos.d/gpustack-docker.repo"
    else:
        key_path = "/etc/apt/keyrings/gpustack-docker.asc"
        address = base
        codename = CODENAMES.get(distribution["version"])
        if codename is None:
            raise ValueError(f"Docker's repository for {distribution['id']} {distribution['version']} is not known")
        lines = ["Types: deb", f"URIs: {base}", f"Suites: {codename}", "Components: stable", f"Signed-By: {key_path}"]
        path = "/etc/apt/sources.list.d/gpustack-docker.sources"
    return {
        "name": "docker",
        "url": address,
        "key_url": f"{base}/gpg",
        "key_path": key_path,
        "path": path,
        "content": "\n".join([f"# {MANAGED}", *lines, ""]),
    }


def _entry_pattern(url: str) -> str:
    """Two entries for one repository with different keys make apt refuse both, and every installer has its own name."""
    return rf".*({re.escape(PUBLIC_ADDRESS)}|{re.escape(url.rstrip('/'))}/)"


def _daemon(wanted: Settings) -> dict[str, Any]:
    daemon: dict[str, Any] = {}
    if wanted.log_max_size:
        daemon["log-driver"] = "json-file"
        daemon["log-opts"] = {"max-size": wanted.log_max_size, "max-file": str(wanted.log_max_files)}
    if wanted.live_restore is not None:
        daemon["live-restore"] = wanted.live_restore
    if wanted.registry_mirrors:
        daemon["registry-mirrors"] = wanted.registry_mirrors
    if wanted.insecure_registries:
        daemon["insecure-registries"] = wanted.insecure_registries
    if wanted.nvidia:
        daemon["exec-opts"] = [KEEPS_DEVICES]
        daemon["runtimes"] = {"nvidia": {"path": wanted.nvidia_runtime_path, "runtimeArgs": []}}
    return daemon


def _proxies(wanted: Settings) -> dict[str, str]:
    values = {"http-proxy": wanted.http_proxy, "https-proxy": wanted.https_proxy, "no-proxy": wanted.no_proxy}
    return {name: value for name, value in values.items() if value} if wanted.http_proxy or wanted.https_proxy else {}


def _proxy_unit(proxies: Mapping[str, str]) -> dict[str, str]:
    """In a unit a per cent sign is written twice, as in the escapes of a password."""
    if not proxies:
        return {"path": PROXY_UNIT, "content": ""}
    variables = [
        f'Environment="{name.replace("-", "_").upper()}={value.replace("%", "%%")}"' for name, value in proxies.items()
    ]
    return {"path": PROXY_UNIT, "content": "\n".join([f"# {MANAGED}", "[Service]", *variables, ""])}
