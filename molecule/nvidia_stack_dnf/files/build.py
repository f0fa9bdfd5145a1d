#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds signed dnf repositories as NVIDIA lays them out for RHEL 9, on a host of the bench.

build.py DEBS DIRECTORY

DEBS                                        the bench's Debian packages, whose contents come in here under RHEL's names
DIRECTORY/base/                             what RHEL and EPEL have
DIRECTORY/cuda/rhel9/x86_64/                driver with its module streams, CUDA, NCCL
DIRECTORY/libnvidia-container/stable/rpm/…  container toolkit
DIRECTORY/fingerprint                       of the key
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ARTIFACTS = Path("/tmp/rpmbuild")
OLD, NEXT, TRAP = "580.95.05", "580.105.08", "590.48.01"
# Streams of the module nvidia-driver, and the driver's versions in each.
STREAMS = {"580-dkms": (OLD, NEXT), "580-open": (OLD, NEXT), "latest-dkms": (TRAP,)}


class Source(NamedTuple):
    """An RPM: what it is called, the Debian package that it is made of (empty: nothing is in it), what it needs."""

    name: str
    deb: str
    requires: str = ""


DRIVER = (
    Source("nvidia-driver", "", "nvidia-kmod = 3:{version}"),
    Source("nvidia-driver-cuda", "nvidia-driver-cuda", "nvidia-driver-cuda-libs = 3:{version}"),
    Source("nvidia-driver-cuda-libs", "libnvidia-ml1"),
    Source("nvidia-persistenced", "nvidia-persistenced"),
)
KMODS = {"dkms": Source("kmod-nvidia-latest-dkms", "nvidia-kernel-dkms", "dkms"),
         "open": Source("kmod-nvidia-open-dkms", "nvidia-kernel-open-dkms", "dkms")}  # fmt: skip
TOOLKIT = (
    "libnvidia-container1",
    "libnvidia-container-tools",
    "nvidia-container-toolkit-base",
    "nvidia-container-toolkit",
)


def main() -> None:
    """Builds everything."""
    debs, root = map(Path, sys.argv[1:])
    key = make_key(root)
    cuda = root / "cuda" / "rhel9" / "x86_64"
    toolkit = root / "libnvidia-container" / "stable" / "rpm" / "x86_64"
    base = root / "base"
    for directory in (base, cuda, toolkit):
        directory.mkdir(parents=True, exist_ok=True)
    streams = {
        stream: [package for version in versions for package in driver(debs, cuda, stream, version)]
        for stream, versions in STREAMS.items()
    }
    build("dkms", "", "3.0.10", "1.el9", base, contents(debs, "dkms", "3.0.10-9~bench"))
    build("bash", "", "5.1.8", "1.el9", base, provides="/bin/sh")  # rpm knows nothing of what Debian has installed
    # Debian's dnf has the plugin in another package.
    build("python3-dnf-plugin-versionlock", "", "4.3.0", "1.el9", base)
    for version in ("12.9.1", "12.9.2"):
        build("cuda-libraries-12-9", "", version, "1", cuda)
        build("cuda-runtime-12-9", "", version, "1", cuda, requires="cuda-drivers")
    build("cuda-drivers", "3", TRAP, "1.el9", cuda, requires=f"nvidia-driver = 3:{TRAP}")
    build("libnccl", "", "2.27.5", "1+cuda12.9", cuda, contents(debs, "libnccl2", "2.27.5-1+cuda12.9"))
    build("libnccl", "", "2.28.3", "1+cuda13.0", cuda)
    for name in TOOLKIT:
        for version in ("1.18.2", "1.19.0"):
            build(name, "", version, "1", toolkit, contents(debs, name, f"{version}-1"))
    for repository in (base, cuda, toolkit):
        packages = sorted(map(str, repository.glob("*.rpm")))
        signing = ["rpm", "--define", f"_gpg_name {key}", "--define", "__gpg /usr/bin/gpg", "--addsign"]
        subprocess.run([*signing, *packages], check=True, capture_output=True)
        subprocess.run(["createrepo_c", "--quiet", str(repository)], check=True)
    modules = ARTIFACTS / "modules.yaml"
    modules.write_text("".join(module(stream, streams[stream]) for stream in STREAMS), encoding="utf-8")
    subprocess.run(["modifyrepo_c", "--mdtype=modules", str(modules), str(cuda / "repodata")], check=True)


def make_key(root: Path) -> str:
    """A key that nobody keeps; its public half is where the roles look for it."""
    gpg = ["gpg", "--batch", "--quiet", "--passphrase", ""]
    subprocess.run(
        [*gpg, "--quick-generate-key", "NVIDIA for RHEL on the bench", "rsa2048", "sign", "never"], check=True
    )
    listing = subprocess.run([*gpg, "--with-colons", "--list-keys"], check=True, capture_output=True, text=True).stdout
    fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
    public = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True, text=True).stdout
    for path in ("cuda/rhel9/x86_64/D42D0685.pub", "libnvidia-container/gpgkey"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(public, encoding="ascii")
    (root / "fingerprint").write_text(fingerprint + "\n", encoding="ascii")
    return fingerprint


def driver(debs: Path, target: Path, stream: str, version: str) -> list[str]:
    """The packages of a driver in a stream; those that two streams share are built once."""
    kmod = KMODS["open" if stream.endswith("open") else "dkms"]
    built = []
    for source in (kmod, *DRIVER):
        tree = contents(debs, source.deb, f"{version}-1") if source.deb else None
        provides = f"nvidia-kmod = 3:{version}" if source is kmod else ""
        requires = source.requires.format(version=version)
        built.append(build(source.name, "3", version, "1.el9", target, tree, requires, provides))
    return built


def contents(debs: Path, name: str, version: str) -> Path:
    """A Debian package unpacked, with its scripts in DEBIAN."""
    tree = ARTIFACTS / "trees" / f"{name}_{version}"
    if not tree.exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        (deb,) = debs.rglob(f"{name}_{version}_*.deb")
        subprocess.run(["dpkg-deb", "--raw-extract", str(deb), str(tree)], check=True)
    return tree


def build(
    name: str, epoch: str, version: str, release: str, target: Path, tree: Path | None = None,
    requires: str = "", provides: str = "",
) -> str:  # fmt: skip
    """One RPM; its name, epoch, version, release and architecture as modules list them."""
    tags = {"Name": name, "Epoch": epoch, "Version": version, "Release": release, "Summary": "stand-in",
            "License": "none", "AutoReqProv": "no", "Requires": requires, "Provides": provides}  # fmt: skip
    lines = [f"{tag}: {value}" for tag, value in tags.items() if value]
    lines += ["%description", f"stand-in for {name} on the bench", *(sections(tree) if tree else ["%files"])]
    spec = ARTIFACTS / f"{name}.spec"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text("\n".join(lines) + "\n", encoding="utf-8")
    defines = {"_topdir": ARTIFACTS, "_rpmdir": target, "_rpmfilename": "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
               "debug_package": "%{nil}", "__os_install_post": "%{nil}", "_binary_payload": "w1.gzdio"}  # fmt: skip
    options = [item for key, value in defines.items() for item in ("--define", f"{key} {value}")]
    subprocess.run(["rpmbuild", "--quiet", "-bb", *options, str(spec)], check=True)
    return f"{name}-{epoch or 0}:{version}-{release}.x86_64"


def sections(tree: Path) -> list[str]:
    """What is in a package, and its scripts: Debian's, which take an argument and do not run for what is replaced."""
    files = [path for path in tree.rglob("*") if not path.is_dir() and "DEBIAN" not in path.parts]
    lines = ["%install"]
    for path in files:
        lines.append(f"install -D -m {path.stat().st_mode & 0o777:o} {path} %{{buildroot}}/{path.relative_to(tree)}")
    begin = {"postinst": "%post\nset -- configure", "prerm": '%preun\n[ "$1" = 0 ] || exit 0'}
    for script in (tree / "DEBIAN" / name for name in begin):
        if script.exists():
            lines += [begin[script.name], *script.read_text(encoding="utf-8").splitlines()[1:]]
    return [*lines, "%files", *(f"/{path.relative_to(tree)}" for path in files)]


def module(stream: str, artifacts: list[str]) -> str:
    """A stream as modules.yaml describes it."""
    names = "".join(f"      - {artifact}\n" for artifact in artifacts)
    return (
        "---\ndocument: modulemd\nversion: 2\ndata:\n  name: nvidia-driver\n"
        f"  stream: {stream}\n  version: 1\n  context: {stream.replace('-', '')[:8]}\n  arch: x86_64\n"
        "  summary: NVIDIA driver\n  description: stand-in\n  license:\n    module: [none]\n"
        f"  artifacts:\n    rpms:\n{names}...\n"
    )


main()
