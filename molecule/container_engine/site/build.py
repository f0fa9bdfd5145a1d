#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a signed apt repository as Docker lays it out, and the certificates of a registry.

build.py DIRECTORY

DIRECTORY/repository/linux/debian/   Docker's packages: their names and dependencies, with the contents of Debian's
DIRECTORY/fingerprint                of the key that signs them
DIRECTORY/tls/                       the CA of the site, and the registry's certificate

The packages of version 28 are empty: they are there to be taken by whoever asks for no version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUFFIX = "-1~debian.12~bookworm"
OLD, NEW, TRAP = "5:20.10.23", "5:20.10.24", "5:28.3.3"
CONTAINERD = "1.6.20-1"
REGISTRY = "172.30.0.4"
ARCHIVES = Path("/var/cache/apt/archives")  # the host image has downloaded what a role is going to install


def main() -> None:
    """Builds everything."""
    site = Path(sys.argv[1])
    repository = site / "repository" / "linux" / "debian"
    packages = repository / "dists" / "bookworm" / "pool" / "stable" / "amd64"
    packages.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        engine, client, below = trees(work)
        for version in (OLD, NEW):
            build(engine, "docker-ce", version + SUFFIX, packages)
            build(client, "docker-ce-cli", version + SUFFIX, packages)
        build(below, "containerd.io", CONTAINERD, packages)
        for name, version in (("docker-ce", TRAP + SUFFIX), ("docker-ce-cli", TRAP + SUFFIX)):
            empty = work / "empty" / name
            empty.mkdir(parents=True)
            build(empty, name, version, packages)
        index(repository, work / "gpg", site / "fingerprint")
    certificates(site / "tls")


def trees(work: Path) -> tuple[Path, Path, Path]:
    """Debian's packages unpacked and divided as Docker divides its own: engine, client, and what is below them."""
    engine, client, below = (work / name for name in ("engine", "client", "below"))
    unpack("docker.io", engine)
    (client / "usr" / "bin").mkdir(parents=True)
    shutil.move(engine / "usr/bin/docker", client / "usr/bin/docker")
    unpack("containerd", below)
    with tempfile.TemporaryDirectory() as directory:
        runc = Path(directory) / "runc"
        unpack("runc", runc)
        shutil.copytree(runc / "usr" / "sbin", below / "usr" / "sbin", dirs_exist_ok=True)
    return engine, client, below


def unpack(name: str, target: Path) -> None:
    """A package with its scripts."""
    (archive,) = ARCHIVES.glob(f"{name}_*.deb")
    subprocess.run(["dpkg-deb", "--raw-extract", str(archive), str(target)], check=True)


RELATIONS = {
    "docker-ce": {"Depends": "containerd.io (>= 1.6.4), docker-ce-cli, iptables, adduser, libdevmapper1.02.1",
                  "Conflicts": "docker.io", "Replaces": "docker.io", "Recommends": "docker-ce-rootless-extras"},
    "docker-ce-cli": {"Conflicts": "docker.io (<< 999)", "Replaces": "docker.io"},
    "containerd.io": {"Provides": "containerd, runc", "Conflicts": "containerd, runc", "Replaces": "containerd, runc"},
}  # fmt: skip


def build(tree: Path, name: str, version: str, target: Path) -> None:
    """One .deb."""
    control = {
        "Package": name,
        "Version": version,
        "Architecture": "amd64",
        "Maintainer": "gpuops contributors <bench@example.org>",
        **RELATIONS[name],
        "Description": f"stand-in for {name} on the bench",
    }
    (tree / "DEBIAN").mkdir(exist_ok=True)
    (tree / "DEBIAN" / "control").write_text("".join(f"{field}: {value}\n" for field, value in control.items()))
    (tree / "DEBIAN" / "md5sums").unlink(missing_ok=True)
    file = target / f"{name}_{re.sub('^[0-9]+:', '', version)}_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", str(tree), str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def index(repository: Path, home: Path, fingerprint: Path) -> None:
    """Packages and InRelease, and the key that signs them, which nobody keeps."""
    lists = repository / "dists" / "bookworm" / "stable" / "binary-amd64"
    lists.mkdir(parents=True)
    scan = ["apt-ftparchive", "packages", "dists/bookworm/pool/stable/amd64"]
    (lists / "Packages").write_bytes(subprocess.run(scan, cwd=repository, check=True, capture_output=True).stdout)
    fields = {"Origin": "Docker", "Label": "Docker CE", "Suite": "bookworm", "Codename": "bookworm",
              "Components": "stable", "Architectures": "amd64"}  # fmt: skip
    options = [item for key, value in fields.items() for item in ("-o", f"APT::FTPArchive::Release::{key}={value}")]
    suite = repository / "dists" / "bookworm"
    release = subprocess.run(["apt-ftparchive", *options, "release", "."], cwd=suite, check=True, capture_output=True)
    (suite / "Release").write_bytes(release.stdout)

    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    subprocess.run([*gpg, "--quick-generate-key", "Docker on the bench", "rsa2048", "sign", "never"], check=True)
    subprocess.run([*gpg, "--clearsign", "--output", str(suite / "InRelease"), str(suite / "Release")], check=True)
    key = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True).stdout
    (repository / "gpg").write_bytes(key)
    listing = subprocess.run([*gpg, "--with-colons", "--list-keys"], check=True, capture_output=True, text=True).stdout
    found = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
    fingerprint.write_text(found + "\n", encoding="ascii")


def certificates(target: Path) -> None:
    """The CA of the site, and a certificate that it has signed for the registry's address."""
    target.mkdir()
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-days", "3650"]
    authority = ["-x509", "-subj", "/CN=CA of the bench", "-keyout", "ca.key", "-out", "ca.crt"]
    subprocess.run([*new, *authority], cwd=target, check=True, capture_output=True)
    name = ["-subj", f"/CN={REGISTRY}", "-addext", f"subjectAltName=IP:{REGISTRY}"]
    signed = ["-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "registry.key", "-out", "registry.crt"]
    leaf = ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run([*new, *name, *leaf, *signed], cwd=target, check=True, capture_output=True)


main()
