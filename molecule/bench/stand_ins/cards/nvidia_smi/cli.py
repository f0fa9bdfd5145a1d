# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: which question is asked, and the return codes of the real tool."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import details, query, table, topology
from .state import PERSISTENCE, STATE, Gpu, Host, loaded_driver, read

INVALID_ARGUMENT = 2
NO_DEVICES = 6
NO_DRIVER = 9
LIBRARY_MISMATCH = 18
WITHOUT_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
INVALID = "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"


def main(arguments: Sequence[str], library: str) -> int:
    """Prints the answer; returns the exit code. ``library`` is the version of the driver that the tool belongs to."""
    if loaded_driver() not in (None, library):
        print("Failed to initialize NVML: Driver/library version mismatch")
        print(f"NVML library version: {library.rpartition('.')[0]}")
        return LIBRARY_MISMATCH
    host = read()
    if host is None:
        print(WITHOUT_DRIVER)
        return NO_DRIVER
    if not host.gpus:
        print("No devices were found")
        return NO_DEVICES
    text, code = answer(host, list(arguments))
    sys.stdout.write(text)
    return code


def answer(host: Host, arguments: list[str]) -> tuple[str, int]:
    """(text, exit code) for one command line."""
    if arguments[:1] == ["topo"]:
        return _topology(host, arguments[1:])
    if arguments[:1] == ["nvlink"]:
        return (topology.nvlink_status(host.gpus), 0) if set(arguments[1:]) <= {"-s", "--status"} else (INVALID, 1)
    options = _options(arguments)
    if options is None:
        return INVALID, 1
    chosen = _select(host, options.pop("id", None))
    if not chosen:
        return "No devices were found\n", NO_DEVICES
    return _asked(host, chosen, options)


def _asked(host: Host, chosen: tuple[Gpu, ...], options: dict[str, str]) -> tuple[str, int]:
    formats = options.get("format", "").split(",")
    try:
        if "query-gpu" in options and "csv" in formats:
            return query.gpus(host, chosen, _fields(options["query-gpu"]), formats), 0
        if "query-compute-apps" in options and "csv" in formats:
            return query.apps(chosen, _fields(options["query-compute-apps"]), formats), 0
    except query.UnknownField as unknown:
        return f'Field "{unknown}" is not a valid field to query.\n\n', INVALID_ARGUMENT
    if "persistence-mode" in options:
        return _persistence(chosen, options["persistence-mode"])
    if set(options) == {"list-gpus"}:
        return "".join(f"GPU {gpu.index}: {gpu.name} (UUID: {gpu.uuid})\n" for gpu in chosen), 0
    if set(options) == {"query"}:
        return details.as_text(host, chosen), 0
    if set(options) == {"query", "xml-format"}:
        return details.as_xml(host, chosen), 0
    return (table.render(host), 0) if not options else (INVALID, 1)


def _topology(host: Host, arguments: list[str]) -> tuple[str, int]:
    if arguments in (["-m"], ["--matrix"]):
        return topology.matrix(host), 0
    if arguments[:1] == ["-p2p"] and arguments[1:] in (["r"], ["w"], ["rw"], ["n"]):
        return topology.peer_to_peer(host), 0
    return INVALID, 1


def _options(arguments: list[str]) -> dict[str, str] | None:
    """The options by their long names; None for what this tool does not know."""
    switches = {"-L": "list-gpus", "-q": "query", "-x": "xml-format"}
    valued = {"-i": "id", "-pm": "persistence-mode"}
    options: dict[str, str] = {}
    queue = list(arguments)
    while queue:
        name, equals, value = queue.pop(0).partition("=")
        long = switches.get(name) or valued.get(name) or name.removeprefix("--")
        if long in switches.values() and not equals:
            options[long] = ""
        elif long in valued.values() or long in ("query-gpu", "query-compute-apps", "format"):
            if not equals and not queue:
                return None
            options[long] = value if equals else queue.pop(0)
        else:
            return None
    return options


def _select(host: Host, chosen: str | None) -> tuple[Gpu, ...]:
    if chosen is None:
        return host.gpus
    wanted = chosen.split(",")
    return tuple(gpu for gpu in host.gpus if {str(gpu.index), gpu.uuid, gpu.pci_bus_id} & set(wanted))


def _fields(text: str) -> list[str]:
    return [field.strip() for field in text.split(",")]


def _persistence(chosen: tuple[Gpu, ...], mode: str) -> tuple[str, int]:
    if mode not in ("0", "1", "DISABLED", "ENABLED"):
        return INVALID, 1
    on = mode in ("1", "ENABLED")
    marker = STATE / PERSISTENCE
    marker.touch() if on else marker.unlink(missing_ok=True)
    word = "Enabled" if on else "Disabled"
    return "".join(f"{word} persistence mode for GPU {gpu.pci_bus_id}.\n" for gpu in chosen) + "All done.\n", 0
