# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Libraries made of fat binaries as CUDA's linker writes them."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import fatbin

PTX, MACHINE_CODE = 1, 2


def entry(kind, architecture, code=b"code"):
    return struct.pack("<HHIQ12xI", kind, 0x0101, 64, len(code), architecture).ljust(64, b"\0") + code


def binary(*entries, version=1):
    body = b"".join(entries)
    return struct.pack("<4sHHQ", fatbin.MAGIC, version, 16, len(body)) + body


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (binary(entry(MACHINE_CODE, 70), entry(MACHINE_CODE, 80), entry(PTX, 90)), ["compute_90", "sm_70", "sm_80"]),
        (
            b"\x7fELF" + binary(entry(MACHINE_CODE, 75)) + b"between" + binary(entry(MACHINE_CODE, 120)),
            ["sm_120", "sm_75"],
        ),
        (binary(entry(MACHINE_CODE, 75, code=fatbin.MAGIC * 3)), ["sm_75"]),
        (binary(entry(MACHINE_CODE, 70), version=7), []),
        (binary(entry(9, 70)), []),
        (binary(entry(MACHINE_CODE, 70))[:-1], []),
        (b"no device code" + fatbin.MAGIC, []),
    ],
    ids=["kinds", "several", "magic inside", "other version", "other kind", "cut", "none"],
)
def test_architectures_of_a_library(tmp_path, content, expected):
    library = tmp_path / "library.so"
    library.write_bytes(content)
    assert fatbin.architectures_in(str(library)) == expected
