# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nvidia-smi writes single values: numbers with units, addresses, and the many ways to say "no value"."""

from __future__ import annotations

import re

ANSI_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
BUS_ID = re.compile(
    r"(?<![0-9A-Fa-f])(?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])(?![0-9A-Fa-f])"
)
UUID = re.compile(r"\bGPU-[0-9A-Za-z][0-9A-Za-z-]{7,63}")
UNPRINTABLE = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufffe\\uffff]")

_MIB = re.compile(r"([0-9]{1,9})\s{0,8}(?:MiB)?")
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")
_CAPABILITY = re.compile(r"[0-9]{1,2}\.[0-9]")
_DEVICE_ID = re.compile(r"(?:0x)?([0-9A-Fa-f]{4})10DE", re.IGNORECASE)
_ABSENT = frozenset({"", "n/a", "not supported", "not found", "unknown", "none"})

# What a value says about its card when the driver could not read it, worst first.
_FAULTS = (
    ("lost", re.compile(r"gpu is lost|fallen off the bus", re.IGNORECASE)),
    ("reset", re.compile(r"requires reset|reset required", re.IGNORECASE)),
    ("denied", re.compile(r"insufficient permission", re.IGNORECASE)),
    ("error", re.compile(r"\berr!|unknown error", re.IGNORECASE)),
)


def clean(output: str) -> str:
    """The text without colours, carriage returns and characters that no nvidia-smi prints."""
    text = ANSI_ESCAPE.sub("", output).replace("\r\n", "\n").replace("\r", "\n")
    return UNPRINTABLE.sub("", text)


def fault(value: str) -> str | None:
    """``lost``, ``reset``, ``denied`` or ``error`` when the value is a complaint instead of a value."""
    return next((name for name, pattern in _FAULTS if pattern.search(value)), None)


def known(value: str | None) -> str | None:
    """The value, or ``None`` for the absent, refused and failed ones."""
    text = (value or "").strip()
    if text.lower() in _ABSENT or (text.startswith("[") and text.endswith("]")) or fault(text):
        return None
    return text


def mib(value: str | None) -> int | None:
    """``32768 MiB``, ``32768MiB`` or, without units, ``32768``."""
    match = _MIB.fullmatch((value or "").strip())
    return int(match[1]) if match else None


def version(value: str | None) -> str | None:
    match = _VERSION.fullmatch((value or "").strip())
    return match[0] if match else None


def capability(value: str | None) -> str | None:
    match = _CAPABILITY.fullmatch((value or "").strip())
    return match[0] if match else None


def bus_id(value: str | None) -> str | None:
    """The PCI address in nvidia-smi's own form, ``00000000:3B:00.0``, from the short form and sysfs's as well."""
    match = BUS_ID.search(value or "")
    if not match:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):08X}:{bus.upper()}:{device.upper()}.{function}"


def uuid(value: str | None) -> str | None:
    match = UUID.search(value or "")
    return match[0] if match else None


def device_id(value: str | None) -> int | None:
    """The PCI device of ``0x1DB610DE`` or ``1DB610DE`` (device, then vendor)."""
    match = _DEVICE_ID.fullmatch((value or "").strip())
    return int(match[1], 16) if match else None


def mig_mode(value: str | None) -> str | None:
    """``enabled``, ``disabled`` or ``unsupported``; ``None`` when the value is none of nvidia-smi's."""
    text = (value or "").strip().strip("[]").lower()
    return {"enabled": "enabled", "disabled": "disabled", "n/a": "unsupported", "not supported": "unsupported"}.get(
        text
    )
