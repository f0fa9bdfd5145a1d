#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds signed apt repositories as NVIDIA lays them out, with Debian's tools and a key that is made for them alone.

build.py DIRECTORY NCCL_WHEEL

DIRECTORY/cuda/debian12/x86_64/                  driver, CUDA, NCCL
DIRECTORY/libnvidia-container/stable/deb/amd64/  container toolkit
DIRECTORY/tampered/debian12/x86_64/              the first one with a package list changed after it was signed
DIRECTORY/fingerprint                            of the key
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from contents import Package, driver_repository, toolkit_repository

FILES = Path(__file__).resolve().parent / "files"
LICENSES = {"proprietary": "NVIDIA", "open": "Dual MIT/GPL"}
ORIGIN = "NVIDIA (bench)"


def main() -> None:
    """Builds everything."""
    root, wheel = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        files = work / "files"
        shutil.copytree(FILES, files)
        with zipfile.ZipFile(wheel) as archive, (files / "libnccl.so.2").open("wb") as library:
            shutil.copyfileobj(archive.open("nvidia/nccl/lib/libnccl.so.2"), library)
        signer = Signer(work / "gpg")
        cuda = root / "cuda" / "debian12" / "x86_64"
        toolkit = root / "libnvidia-container" / "stable" / "deb" / "amd64"
        for target, packages, key in (
            (cuda, driver_repository(os.uname().release), cuda / "3bf863cc.pub"),
            (toolkit, toolkit_repository(), root / "libnvidia-container" / "gpgkey"),
        ):
            target.mkdir(parents=True)
            for package in packages:
                for version in package.versions:
                    build(package, version, files, target, work / "tree")
            index(target, signer)
            key.write_text(signer.public_key, encoding="ascii")
        (root / "fingerprint").write_text(signer.fingerprint + "\n", encoding="ascii")
        tamper(cuda, root / "tampered" / "debian12" / "x86_64")


class Signer:
    """A key without a passphrase that nobody keeps."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._gpg = ["gpg", "--batch", "--quiet", "--homedir", str(home)]
        subprocess.run(
            [
                *self._gpg,
                "--passphrase",
                "",
                "--quick-generate-key",
                "bench <bench@example.org>",
                "rsa3072",
                "sign",
                "never",
            ],
            check=True,
        )
        self.public_key = self._output("--armor", "--export")
        listing = self._output("--with-colons", "--list-keys").splitlines()
        self.fingerprint = next(line.split(":")[9] for line in listing if line.startswith("fpr:"))

    def sign(self, release: Path) -> None:
        """Writes InRelease beside Release."""
        target = str(release.with_name("InRelease"))
        subprocess.run([*self._gpg, "--clearsign", "--output", target, str(release)], check=True)

    def _output(self, *arguments: str) -> str:
        return subprocess.run([*self._gpg, *arguments], check=True, capture_output=True, text=True).stdout


def build(package: Package, version: str, files: Path, target: Path, tree: Path) -> None:
    """One .deb. It is not compressed, because nobody downloads it from afar."""
    shutil.rmtree(tree, ignore_errors=True)
    names = {"version": version, "upstream": version.rpartition("-")[0]}
    architecture = "all" if package.name == "cuda-keyring" else "amd64"
    control = {
        "Package": package.name,
        "Version": version,
        "Architecture": architecture,
        "Maintainer": "gpuops contributors <bench@example.org>",
        "Depends": package.depends.format(**names),
        "Provides": package.provides.format(**names),
        "Conflicts": package.conflicts,
        "Replaces": package.conflicts,
        "Description": f"stand-in for {package.name} on the bench",
    }
    (tree / "DEBIAN").mkdir(parents=True)
    lines = "".join(f"{field}: {value}\n" for field, value in control.items() if value)
    (tree / "DEBIAN" / "control").write_text(lines, encoding="utf-8")
    for path, source in package.files.items():
        if source.endswith(".c"):
            library(files / source, names["upstream"], tree / path.format(**names)[1:])
        elif source in LICENSES:
            kernel_module(LICENSES[source], names["upstream"], tree / path.format(**names)[1:])
        else:
            place(files / source, tree / path.format(**names)[1:], names)
    for script, source in package.scripts.items():
        place(files / source, tree / "DEBIAN" / script, names, mode=0o755)
    file = target / f"{package.name}_{version.replace(':', '%3a')}_{architecture}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def place(source: Path, target: Path, names: dict[str, str], mode: int | None = None) -> None:
    """Puts a file into a package; scripts learn the package's version."""
    target.parent.mkdir(parents=True, exist_ok=True)
    content = source.read_bytes()
    if not source.name.endswith(".so.2"):
        content = content.replace(b"@UPSTREAM@", names["upstream"].encode())
    target.write_bytes(content)
    target.chmod(mode or (0o755 if content.startswith(b"#!") else 0o644))


def library(source: Path, version: str, target: Path) -> None:
    """A shared library that knows the version of the driver it belongs to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    options = ["-shared", f"-Wl,-soname,{target.name}", f'-DDRIVER_VERSION="{version}"']
    subprocess.run(["tcc", *options, "-o", str(target), str(source)], check=True)
    target.chmod(0o644)


def kernel_module(license_name: str, version: str, target: Path) -> None:
    """An ELF object with nothing in it but what modinfo reads."""
    target.parent.mkdir(parents=True, exist_ok=True)
    raw = target.with_suffix(".raw")
    raw.write_bytes(f"license={license_name}\0version={version}\0name=nvidia\0".encode())
    section = ["--rename-section", ".data=.modinfo,alloc,load,readonly,data,contents"]
    formats = ["-I", "binary", "-O", "elf64-x86-64", "-B", "i386:x86-64"]
    subprocess.run(["objcopy", *formats, *section, str(raw), str(target)], check=True)
    raw.unlink()


def index(target: Path, signer: Signer) -> None:
    """Packages, Release and InRelease of a flat repository."""
    packages = subprocess.run(["apt-ftparchive", "packages", "."], cwd=target, check=True, capture_output=True).stdout
    (target / "Packages").write_bytes(packages)
    settings = [f"APT::FTPArchive::Release::{name}={value}" for name, value in (("Origin", ORIGIN), ("Label", "CUDA"))]
    options = [item for setting in settings for item in ("-o", setting)]
    release = subprocess.run(["apt-ftparchive", *options, "release", "."], cwd=target, check=True, capture_output=True)
    (target / "Release").write_bytes(release.stdout)
    signer.sign(target / "Release")


def tamper(source: Path, target: Path) -> None:
    """A repository in whose package list somebody has changed a version since it was signed."""
    target.mkdir(parents=True)
    for name in ("Release", "InRelease", "3bf863cc.pub"):
        shutil.copy(source / name, target / name)
    changed = (source / "Packages").read_bytes().replace(b"Version: 580.95.05-1", b"Version: 580.95.06-1")
    (target / "Packages").write_bytes(changed)


main()
