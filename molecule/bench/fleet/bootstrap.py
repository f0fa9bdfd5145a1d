# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base image: Debian bookworm made by debootstrap, trusting what this machine trusts, using its mirrors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from .docker import logged
from .errors import BenchError
from .machine import apt_proxies, ca_bundle, mirrors

RELEASE = "bookworm"
PACKAGES = ("ca-certificates", "python3")
NEVER_NEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt", "var/log")
APT = 'APT::Install-Recommends "false";\nAcquire::Languages "none";\n'
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)


def inputs() -> list[str]:
    """Everything the image depends on, for its tag."""
    return [RELEASE, *PACKAGES, APT, sources(), apt_proxies(), ca_bundle()]


def sources() -> str:
    """sources.list of the hosts, with the mirrors of this machine (debootstrap's own default where it has none)."""
    found = mirrors()
    if found.main is None:
        return ""
    lines = [f"deb {found.main} {RELEASE} main", f"deb {found.main} {RELEASE}-updates main"]
    if found.security is not None:
        lines.append(f"deb {found.security} {RELEASE}-security main")
    return "\n".join(lines) + "\n"


def build(tag: str, label: str, root: Path, log: Path) -> None:
    """Makes the root file system under ``root``, imports it as ``tag`` and removes it again."""
    if os.geteuid() != 0:
        raise BenchError(
            "The base image is made with debootstrap, which only root can run: run the bench as root once."
        )
    shutil.rmtree(root, ignore_errors=True)
    mirror = mirrors().main
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, str(root)]
    logged([*command, mirror] if mirror else command, log)
    _settle(root)
    _trust(root)
    _import(root, tag, label)
    shutil.rmtree(root)


def _settle(root: Path) -> None:
    apt = root / "etc" / "apt"
    if sources():
        (apt / "sources.list").write_text(sources(), encoding="utf-8")
    (apt / "apt.conf.d" / "10bench").write_text(APT + apt_proxies(), encoding="utf-8")
    slim = "".join(f"path-exclude=/{path}/*\n" for path in NEVER_NEEDED if path.startswith("usr/share"))
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "10bench").write_text(slim, encoding="utf-8")
    for path in NEVER_NEEDED:
        for item in (root / path).iterdir():
            shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
    shutil.rmtree(root / "var" / "lib" / "apt" / "lists")
    (root / "var" / "lib" / "apt" / "lists" / "partial").mkdir(parents=True)


def _trust(root: Path) -> None:
    """Adds the certificates this machine trusts beyond Debian's own, as its administrator would."""
    own = set(CERTIFICATE.findall((root / "etc/ssl/certs/ca-certificates.crt").read_text(encoding="utf-8")))
    local = root / "usr" / "local" / "share" / "ca-certificates"
    for number, certificate in enumerate(sorted(set(CERTIFICATE.findall(ca_bundle())) - own)):
        (local / f"machine-{number}.crt").write_text(certificate, encoding="utf-8")
    subprocess.run(["chroot", str(root), "update-ca-certificates"], check=True, capture_output=True)


def _import(root: Path, tag: str, label: str) -> None:
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        result = subprocess.run(
            ["docker", "import", "--change", f"LABEL {label}", "-", tag],
            stdin=tar.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode != 0:
        raise BenchError(f"docker import failed: {result.stderr.strip()}")
