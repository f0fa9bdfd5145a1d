# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine is: capabilities, cgroups, package mirrors, trusted certificates, pip's settings.

Nothing here is written down anywhere else: mirrors, proxies and certificates come from the machine's own configuration.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CAP_SYS_RESOURCE = 24
ALL_CAPABILITIES = (1 << 41) - 1
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")
BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


@dataclass(frozen=True)
class Confinement:
    """What containers may be given here."""

    capabilities: int
    cgroup_v2: bool

    @property
    def complete(self) -> bool:
        return self.capabilities & ALL_CAPABILITIES == ALL_CAPABILITIES


def confinement() -> Confinement:
    """Reads the capability bounding set of this process and the cgroup version of the machine."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    return Confinement(int(bounding, 16), Path("/sys/fs/cgroup/cgroup.controllers").exists())


def is_debian() -> bool:
    """True where apt-get installs Debian's packages."""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and re.search(r"^ID=\"?debian\"?$", release.read_text(encoding="utf-8"), re.MULTILINE) is not None
    )


@dataclass(frozen=True)
class Mirrors:
    """Where this machine gets Debian from; None where it does not say."""

    main: str | None
    security: str | None


def mirrors(apt: Path = Path("/etc/apt")) -> Mirrors:
    """Reads the Debian mirrors from sources.list and *.sources: the first archive, and the first security archive."""
    main = security = None
    for uri, suites in _apt_entries(apt):
        if not any(re.match(r"(bookworm|trixie|bullseye|stable|oldstable)", suite) for suite in suites):
            continue
        if any(suite.endswith(("-security", "/updates")) for suite in suites):
            security = security or uri
        elif any("-" not in suite for suite in suites):
            main = main or uri
    return Mirrors(main, security)


def _apt_entries(apt: Path) -> list[tuple[str, list[str]]]:
    """(URI, suites) of every active binary source whose packages Debian itself signs."""
    entries = []
    for path in sorted([apt / "sources.list", *apt.glob("sources.list.d/*.list")]):
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+.*\bmain\b", line)
            if match:
                entries.append((match[1], [match[2]]))
    for path in sorted(apt.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and "main" in fields.get("Components", "").split():
                entries.extend((uri, fields.get("Suites", "").split()) for uri in fields.get("URIs", "").split())
    return entries


def apt_proxies() -> str:
    """The Acquire::…::Proxy lines of apt's configuration, for the hosts' own apt."""
    try:
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""
    return "".join(line + "\n" for line in dump.splitlines() if re.match(r"Acquire::https?::Proxy\b", line))


def ca_bundle() -> str:
    """The certificates this machine trusts, in PEM; empty when there is no bundle."""
    named = [os.environ[name] for name in BUNDLE_VARIABLES if os.environ.get(name)]
    for path in map(Path, [*named, *BUNDLES]):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return ""


def pip_conf() -> str:
    """A pip.conf with this machine's index, proxy and time-outs (no local paths: a build cannot see them)."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    merged: dict[str, str] = {}
    for scope, key, value in re.findall(r"^(:?\w+:?)\.([\w-]+)='(.*)'$", listing, re.MULTILINE):
        urls = " ".join(item for item in value.split() if not item.startswith(("file:", "/")))
        if key in PIP_SETTINGS and urls and (scope == ":env:" or key not in merged):
            merged[key] = urls
    return "".join(["[global]\n", *(f"{key} = {value}\n" for key, value in merged.items())])


def proxy_variables() -> dict[str, str]:
    """Proxy variables of the environment, which builds inherit."""
    names = ("http_proxy", "https_proxy", "no_proxy")
    return {
        name: os.environ[spelling] for name in names for spelling in (name, name.upper()) if os.environ.get(spelling)
    }
