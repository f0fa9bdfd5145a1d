# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fingerprint of an OpenPGP public key (RFC 4880, sections 4.2, 6 and 12.2), so that no host needs gpg for it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

_ARMOUR = re.compile(
    r"-----BEGIN PGP PUBLIC KEY BLOCK-----\s*\n(?:[^\n:]+:[^\n]*\n)*\s*\n"
    r"(.*?)\n-----END PGP PUBLIC KEY BLOCK-----",
    re.DOTALL,
)
_PUBLIC_KEY = 6


def fingerprint(text: str) -> str:
    """The fingerprint of the first key in an ASCII-armoured block, 40 hex digits in upper case.

    Raises ValueError where there is no such block or no version 4 key in it.
    """
    match = _ARMOUR.search(text.replace("\r\n", "\n"))
    if match is None:
        raise ValueError("no ASCII-armoured OpenPGP public key in it")
    body = "".join(line for line in match[1].split("\n") if not line.startswith("="))
    try:
        packet = _first_packet(base64.b64decode(body, validate=True))
    except (binascii.Error, IndexError) as error:
        raise ValueError(f"the OpenPGP public key in it is damaged: {error}") from None
    if packet[:1] != b"\x04":
        raise ValueError("the OpenPGP public key in it is not of version 4")
    return hashlib.sha1(b"\x99" + len(packet).to_bytes(2, "big") + packet).hexdigest().upper()


def normalised(text: str) -> str:
    """A fingerprint as people write it (blanks, lower case) as 40 hex digits in upper case."""
    return re.sub(r"[\s:]", "", text).upper()


def _first_packet(data: bytes) -> bytes:
    """The content of the first packet, which has to be a public key."""
    header = data[0]
    if header & 0x40:  # new format
        tag, first = header & 0x3F, data[1]
        if first < 192:
            start, length = 2, first
        elif first < 224:
            start, length = 3, ((first - 192) << 8) + data[2] + 192
        else:
            start, length = 6, int.from_bytes(data[2:6], "big")
    else:
        tag, size = (header >> 2) & 0x0F, 1 << (header & 3)
        start, length = 1 + size, int.from_bytes(data[1 : 1 + size], "big")
    if not header & 0x80 or tag != _PUBLIC_KEY:
        raise ValueError("it does not begin with an OpenPGP public key")
    return data[start : start + length]
