# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For which GPU architectures a library holds device code, read from the library as cuobjdump does.

A CUDA library embeds fat binaries: a header (magic, version, header size, size of all entries) and entries, each with a
header (kind at byte 0, header size at 4, size of the code at 8, architecture at 28). Kind 1 is PTX, which the driver
compiles for that architecture and newer ones, kind 2 machine code.

Runs inside images too, so it needs nothing but Python's standard library and imports nothing of this collection.
"""

from __future__ import annotations

import mmap
import struct

MAGIC = b"\x50\xed\x55\xba"
_HEADER = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQ12xI")
_KINDS = {1: "compute", 2: "sm"}


def architectures_in(path: str) -> list[str]:
    """``["compute_90", "sm_70", "sm_80"]`` of a library; none where it holds no device code."""
    found: set[str] = set()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(MAGIC)
        while start >= 0:
            end = start + len(MAGIC)
            if start + _HEADER.size <= len(data):
                _magic, version, header_bytes, entries_bytes = _HEADER.unpack_from(data, start)
                # The magic may turn up in other data; a header of its known form does not.
                if (version, header_bytes) == (1, 16) and start + header_bytes + entries_bytes <= len(data):
                    end = start + header_bytes + entries_bytes
                    found |= _entries(data, start + header_bytes, end)
            start = data.find(MAGIC, end)
    return sorted(found)


def _entries(data: mmap.mmap, position: int, end: int) -> set[str]:
    found = set()
    while position + _ENTRY.size <= end:
        kind, _attributes, header_bytes, code_bytes, architecture = _ENTRY.unpack_from(data, position)
        if kind not in _KINDS or header_bytes < _ENTRY.size:
            break
        found.add(f"{_KINDS[kind]}_{architecture}")
        position += header_bytes + code_bytes
    return found
