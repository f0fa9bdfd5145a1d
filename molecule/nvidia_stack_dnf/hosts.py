#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of this scenario: Debian, in which dnf takes the place of apt, and which calls itself Rocky Linux 9.

hosts.py up      made anew, with the packages of the bench as RPMs in a repository of its own
hosts.py down    removes it
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
sys.path.insert(0, str(CHECKOUT / "molecule" / "bench"))

from fleet import extra
from fleet.docker import docker
from fleet.errors import BenchError
from fleet.profile import load
from fleet.state import State
from repository import image as packages

PROFILE = load(HERE / "hardware" / "profile.yml")
(HOST,) = (host.name for host in PROFILE.hosts)
DISGUISE = """
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends dnf dnf-plugins-core python3-dnf createrepo-c rpm gnupg binutils make
mkdir -p /etc/rpm
python3 /srv/build.py /srv/debs /srv/repository >/var/log/build.log 2>&1
cat >/etc/systemd/system/repository.service <<UNIT
[Service]
ExecStart=python3 -m http.server 80 --bind 127.0.0.1 --directory /srv/repository
[Install]
WantedBy=multi-user.target
UNIT
systemctl enable --now repository.service
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros.gpuops  # Debian keeps it in the home directory
mkdir -p /etc/yum.repos.d /etc/pki/rpm-gpg /etc/dnf/vars
cp /srv/repository/libnvidia-container/gpgkey /etc/pki/rpm-gpg/base
cat >/etc/yum.repos.d/base.repo <<REPOSITORY
[base]
name=base
baseurl=http://127.0.0.1/base
gpgcheck=1
gpgkey=file:///etc/pki/rpm-gpg/base
REPOSITORY
echo 9 >/etc/dnf/vars/releasever
# kernel-devel of a kernel that RHEL never had cannot be called as RHEL's is.
mkdir -p /lib/modules/$(uname -r)/build
printf 'ID=rocky\\nVERSION_ID="9.6"\\nPLATFORM_ID="platform:el9"\\n' >/etc/os-release.new
mv /etc/os-release.new /etc/os-release
for tool in dpkg-query apt-get apt-mark apt-cache; do mv /usr/bin/$tool /usr/bin/$tool.hidden; done
"""


def up() -> None:
    """The host, with dnf and a repository."""
    state = State(CHECKOUT)
    extra.up(PROFILE, state)
    debs = state.build / "debs"
    shutil.rmtree(debs, ignore_errors=True)
    docker("cp", f"{packages.CONTAINER}:/srv/repository", str(debs))
    docker("cp", str(debs), f"{HOST}:/srv/debs")
    docker("cp", str(HERE / "files" / "build.py"), f"{HOST}:/srv/build.py")
    docker("exec", HOST, "sh", "-ec", DISGUISE)
    fingerprint = docker("exec", HOST, "cat", "/srv/repository/fingerprint")
    (state.root / "dnf_fingerprint").write_text(fingerprint + "\n", encoding="ascii")


if __name__ == "__main__":
    try:
        if sys.argv[1] == "up":
            up()
        else:
            extra.down(PROFILE)
    except BenchError as error:
        sys.exit(str(error))
