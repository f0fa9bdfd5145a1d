# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NVIDIA's package repositories as entries of our own: where they are, which key signs them, what the entry says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import MANAGED
from .packages import RHEL

# Directory names of NVIDIA's repositories; its ARM servers are called sbsa, where Debian and the toolkit say arm64.
CUDA_ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "sbsa"}
DEB_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}
# Whoever wrote an entry, it leads to one of NVIDIA's repositories where this is in it.
OF_NVIDIA = re.compile(r"compute/cuda/repos|libnvidia-container|nvidia-docker|nvidia\.github\.io")
CUDA_KEY = {"deb": "3bf863cc.pub", "rpm": "D42D0685.pub"}


@dataclass(frozen=True)
class Repository:
    """A repository of packages. ``path`` is the file of its entry, ``key_path`` that of its key."""

    name: str
    url: str
    key_url: str
    path: str
    key_path: str


def repositories(
    family: str, release: str, architecture: str, cuda_url: str, container_toolkit_url: str
) -> list[Repository]:
    """The two repositories for a distribution, such as ``("debian", "12", "x86_64", …)``.

    The URLs are those of the directory that holds one directory for each distribution, and of libnvidia-container.
    """
    cuda = f"{cuda_url.rstrip('/')}/{distribution(family, release)}/{CUDA_ARCHITECTURE[architecture]}"
    toolkit = container_toolkit_url.rstrip("/")
    if family == RHEL:
        return [
            _rpm("nvidia-cuda", cuda, f"{cuda}/{CUDA_KEY['rpm']}"),
            _rpm("nvidia-container-toolkit", f"{toolkit}/stable/rpm/{architecture}", f"{toolkit}/gpgkey"),
        ]
    return [
        _deb("nvidia-cuda", cuda, f"{cuda}/{CUDA_KEY['deb']}"),
        _deb(
            "nvidia-container-toolkit",
            f"{toolkit}/stable/deb/{DEB_ARCHITECTURE[architecture]}",
            f"{toolkit}/gpgkey",
        ),
    ]


def also_of_others(path: str, content: str) -> bool:
    """Whether a file of entries has some that lead elsewhere, so that it must not go as a whole."""
    text = re.sub(r"^\s*#.*$", "", content, flags=re.MULTILINE)
    if path.endswith(".repo"):
        entries = re.split(r"^\[", text, flags=re.MULTILINE)[1:]
    elif path.endswith(".sources"):
        entries = re.split(r"\n\s*\n", text)
    else:
        entries = text.splitlines()
    return any(entry.strip() and not OF_NVIDIA.search(entry) for entry in entries)


def distribution(family: str, release: str) -> str:
    """debian12, ubuntu2404, rhel9: NVIDIA's name of a distribution's release."""
    return f"{family}{release.replace('.', '') if family != RHEL else release.partition('.')[0]}"


def entry(repository: Repository, key_path: str | None = None) -> str:
    """The content of the entry. ``key_path`` is where the key is meanwhile, before it has its place."""
    key = key_path or repository.key_path
    if repository.path.endswith(".repo"):
        lines = [
            f"[{repository.name}]",
            f"name={repository.name}",
            f"baseurl={repository.url}",
            "enabled=1",
            "gpgcheck=1",
            f"gpgkey=file://{key}",
        ]
        return "\n".join([f"# {MANAGED}", *lines, ""])
    # By-Hash: NVIDIA's delivery network has answered requests by hash with 404 while it was being filled.
    lines = ["Types: deb", f"URIs: {repository.url}/", "Suites: /", f"Signed-By: {key}", "By-Hash: no"]
    return "\n".join([f"# {MANAGED}", *lines, ""])


def _deb(name: str, url: str, key_url: str) -> Repository:
    return Repository(name, url, key_url, f"/etc/apt/sources.list.d/{name}.sources", f"/etc/apt/keyrings/{name}.asc")


def _rpm(name: str, url: str, key_url: str) -> Repository:
    return Repository(name, url, key_url, f"/etc/yum.repos.d/{name}.repo", f"/etc/pki/rpm-gpg/RPM-GPG-KEY-{name}")
