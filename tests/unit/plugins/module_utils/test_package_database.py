# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.module_utils import package_database

LOCK = """# Added lock on Mon Nov  3 10:00:00 2025
nvidia-driver-cuda-3:580.95.05-1.el9.*
kmod-nvidia-latest-dkms-3:580.95.05-1.el9.*
!bash-0:5.1.8-9.el9.*
"""


def test_only_what_is_installed_counts():
    assert package_database.read_dpkg("hi |a|1:1.0-1\nii |b|2\nrc |c|3\nun |d|\n") == (
        {"a": "1:1.0-1", "b": "2"},
        ["a"],
    )


def test_rpm_packages_with_their_epochs():
    assert package_database.read_rpm("nvidia-driver-cuda|3:580.95.05-1.el9\n(none)\n") == {
        "nvidia-driver-cuda": "3:580.95.05-1.el9"
    }


def test_locks_of_dnf_without_what_is_excluded():
    assert package_database.read_versionlock(LOCK) == ["kmod-nvidia-latest-dkms", "nvidia-driver-cuda"]
