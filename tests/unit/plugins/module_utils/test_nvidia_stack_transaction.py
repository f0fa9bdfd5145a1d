# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from stack_host import FINGERPRINT, KEY

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import (
    freeze,
    openpgp,
    transaction,
    versions,
)

MADISON = """\
libnccl2 | 2.28.3-1+cuda13.0 | http://mirror.example.org/cuda  Packages
libnccl2 | 2.27.5-1+cuda12.9 | http://mirror.example.org/cuda  Packages
libnccl2 | 2.27.5-1+cuda12.9 | http://other.example.org/cuda  Packages
cuda-libraries-12-9 | 12.9.1-1 | http://mirror.example.org/cuda  Packages
"""
SIMULATION = """\
Reading package lists...
Remv nvidia-kernel-open-dkms [580.95.05-1]
Inst libcuda1 (580.95.05-1 NVIDIA:CUDA [amd64])
Inst nvidia-driver-cuda [575.57.08-1] (580.95.05-1 NVIDIA:CUDA [amd64]) []
Inst nvidia-container-toolkit (1.18.2-1 NVIDIA [amd64])
Inst cuda-drivers (590.48.01-1 NVIDIA:CUDA [amd64])
Inst nvidia-modprobe (590.48.01-1 NVIDIA:CUDA [amd64])
Inst libfoo:i386 (1.0 Debian:12 [i386])
Conf libcuda1 (580.95.05-1 NVIDIA:CUDA [amd64])
"""


@pytest.mark.parametrize(
    ("wanted", "version", "matching"),
    [
        ("580.95.05", "580.95.05-1", True),
        ("580.95.05", "3:580.95.05-1.el9", True),
        ("580", "580.95.05-1", True),
        ("580", "5800.1-1", False),
        ("12.9", "12.9.1-1", True),
        ("12.9.1", "12.9.10-1", False),
        ("2.27.5-1+cuda12.9", "2.27.5-1+cuda12.9", True),
        ("2.27.5-1+cuda12.9", "2.27.5-1+cuda13.0", False),
        ("", "1", True),
        ("", None, False),
    ],
)
def test_the_end_of_a_version_may_be_left_out(wanted, version, matching):
    assert versions.matches(wanted, version) is matching


def test_nccl_version_codes():
    assert versions.nccl_code("2.27.5-1+cuda12.9") == 22705
    assert versions.nccl_text(22705) == "2.27.5"


def test_every_package_gets_its_exact_version_or_the_list_of_what_there_is():
    candidates = transaction.read_madison(MADISON)
    wanted = [
        {"name": "libnccl2", "version": "2.27.5-1+cuda12.9"},
        {"name": "cuda-libraries-12-9", "version": "12.9"},
        {"name": "nvidia-driver-cuda", "version": "580.95.05"},
    ]
    exact, missing = transaction.resolve(wanted, candidates)
    assert exact == {"libnccl2": "2.27.5-1+cuda12.9", "cuda-libraries-12-9": "12.9.1-1"}
    assert missing == ["nvidia-driver-cuda is not there in any version"]
    _exact, missing = transaction.resolve([{"name": "libnccl2", "version": "2.26.2"}], candidates)
    assert missing == ["libnccl2 2.26.2 is not there; there are 2.28.3-1+cuda13.0, 2.27.5-1+cuda12.9"]


def test_versions_count_as_numbers_and_not_as_letters():
    listed = {"nvidia-driver": ["3:580.105.08-1.el9", "3:580.95.05-1.el9", "3:590.48.01-1.el9"]}
    ordered = transaction.newest_first(listed)
    assert ordered == {"nvidia-driver": ["3:590.48.01-1.el9", "3:580.105.08-1.el9", "3:580.95.05-1.el9"]}
    newest, _missing = transaction.resolve([{"name": "nvidia-driver", "version": "580"}], ordered)
    assert newest == {"nvidia-driver": "3:580.105.08-1.el9"}


def test_a_simulation_tells_what_comes_and_goes_and_which_driver_would_come_along():
    simulated = transaction.read_simulation(SIMULATION)
    assert simulated.remove == ("nvidia-kernel-open-dkms",)
    assert simulated.install["nvidia-driver-cuda"] == "580.95.05-1"
    assert simulated.install["libfoo"] == "1.0"
    assert transaction.foreign_drivers(simulated, "580.95.05") == {
        "cuda-drivers": "590.48.01-1",
        "nvidia-modprobe": "590.48.01-1",
    }


def test_what_is_frozen():
    names = [
        "libcuda1",
        "nvidia-persistenced",
        "libcublas-12-9",
        "libnccl2",
        "bash",
        "cuda-cudart-12-9",
        "libcublas-13-0",
    ]
    assert freeze.frozen(names, freeze.held_patterns("12.9.1")) == [
        "cuda-cudart-12-9",
        "libcublas-12-9",
        "libcuda1",
        "libnccl2",
        "nvidia-persistenced",
    ]


def test_versionlock_of_dnf():
    assert freeze.versionlock(["b", "a"]) == ["dnf", "versionlock", "add", "a", "b"]


def test_a_fingerprint_is_read_without_gpg():
    assert openpgp.fingerprint(KEY) == FINGERPRINT
    assert openpgp.fingerprint(KEY.replace("BLOCK-----\n\n", "BLOCK-----\nComment: a\n\n", 1)) == FINGERPRINT
    assert openpgp.normalised("eb69 3b30") == "EB693B30"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>404</html>", "no ASCII-armoured OpenPGP public key"),
        (KEY.replace("mI", "!!", 1), "damaged"),
        (
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n",
            "does not begin with an OpenPGP public key",
        ),
    ],
)
def test_what_is_no_key(text, message):
    with pytest.raises(ValueError, match=message):
        openpgp.fingerprint(text)
