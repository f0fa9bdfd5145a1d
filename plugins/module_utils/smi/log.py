# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi -q`` as indented text and, with ``-x``, as XML. One table says where a value stands in either."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from ..pci_ids import ARCHITECTURES
from . import values
from .faults import faults
from .health import health, readiness
from .problems import cuda_problem, problem, sift
from .reading import MAX_DEVICES, Device, Problem, Reading

# our name → (path below XML's <gpu>, path of the indented text)
_PLACES = {
    "name": ("product_name", "product name"),
    "architecture": ("product_architecture", "product architecture"),
    "uuid": ("uuid", "gpu uuid"),
    "pci_bus_id": ("pci/pci_bus_id", "pci/bus id"),
    "pci_device_id": ("pci/pci_device_id", "pci/device id"),
    "memory_total": ("fb_memory_usage/total", "fb memory usage/total"),
    "memory_used": ("fb_memory_usage/used", "fb memory usage/used"),
    "mig": ("mig_mode/current_mig", "mig mode/current"),
    "mig_pending": ("mig_mode/pending_mig", "mig mode/pending"),
    "mig_devices": ("mig_devices", "mig devices"),
    "fabric_state": ("fabric/state", "fabric/state"),
    "fabric_status": ("fabric/status", "fabric/status"),
    "reset_required": ("gpu_reset_status/reset_required", "gpu reset status/reset required"),
    "recovery_action": ("gpu_recovery_action", "gpu recovery action"),
}
_SENSORS = {
    "fan speed": ("fan_speed", "fan speed"),
    "temperature": ("temperature/gpu_temp", "temperature/gpu current temp"),
    "power draw": ("gpu_power_readings/power_draw", "gpu power readings/power draw"),
}
_XML, _TEXT = 0, 1
_FAMILIES = frozenset(ARCHITECTURES.values())

_COUNT = re.compile(r"[0-9]{1,3}")
_TEXT_CARD = re.compile(r"GPU ([0-9A-Fa-f:.]{7,16})\s*$")
_TEXT_LINE = re.compile(r"( *)(\S[^:]{0,120}?)(?:\s*:(?:\s(.*))?)?$")
_LINE_LENGTH = 400


def _architecture(value: str | None) -> str | None:
    word = (value or "").strip().lower().replace("ada lovelace", "ada")
    return word if word in _FAMILIES else None


def _device(
    index: int | None, heading: str | None, lookup: Callable[[str], str | None], form: int, instances: int
) -> Device:
    told = {name: value for name, paths in _PLACES.items() if (value := lookup(paths[form])) is not None}
    sensors = {name: value for name, paths in _SENSORS.items() if (value := lookup(paths[form])) is not None}
    address = values.bus_id(told.get("pci_bus_id")) or values.bus_id(heading)
    without_instances = told.get("mig_devices", "").strip().lower() == "none"
    return Device(
        index=index,
        uuid=values.uuid(told.get("uuid")),
        pci_bus_id=address,
        name=values.known(told.get("name")),
        architecture=_architecture(told.get("architecture")),
        memory_total_mib=values.mib(told.get("memory_total")),
        memory_used_mib=values.mib(told.get("memory_used")),
        mig=values.mig_mode(told.get("mig")),
        mig_instances=instances if instances or without_instances else None,
        pci_device_id=values.device_id(told.get("pci_device_id")),
        problems=[
            *faults(told, sensors, address, index),
            *readiness(told, address, index),
            *health(lookup, form, address, index),
        ],
    )


def _finish(reading: Reading, host: dict[str, str], single: bool, cut: bool, lines: list[str]) -> Reading:
    """The reading with the values of the host, and what is missing at its end."""
    reading.driver_version = values.version(host.get("driver_version"))
    reading.cuda_version = values.version(host.get("cuda_version"))
    attached = _COUNT.fullmatch(host.get("attached_gpus", ""))
    reading.gpus_attached = int(attached[0]) if attached and not single else None
    listed = len(reading.devices)
    if (reading.gpus_attached or 0) > listed:
        told = f"{reading.gpus_attached} GPUs attached, {listed} listed, last line: {_last(lines)}"
        reading.problems.append(problem("output_incomplete", told))
    elif cut:
        reading.problems.append(problem("output_incomplete", f"last line: {_last(lines)}"))
    elif not listed and not reading.problems:
        reading.problems.append(problem("no_devices", "no GPU attached"))
    reading.add_to_all(cuda_problem(host.get("cuda_version")))
    return reading


def _last(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line.strip()), "no output")


def _unread(problems: list[Problem], lines: list[str]) -> Reading:
    return Reading(problems=problems or [problem("output_unrecognised", _last(lines))])


def read_xml(output: str, single: bool = False) -> Reading:
    """``-q -x``; of an output that is cut off the complete cards. ``single``: one card was asked for (``-i``)."""
    lines, problems = sift(output)
    _before, root, text = "\n".join(lines).partition("<nvidia_smi_log")
    if not root:
        return _unread(problems, lines)
    body, end, _after = text.partition("</nvidia_smi_log>")
    reading = Reading(problems=problems)
    host: dict[str, str] = {}
    depth, cut = 0, not end
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    parser.feed(root + body + end)
    try:
        for event, element in parser.read_events():
            depth += 1 if event == "start" else -1
            if event == "start" or depth != 1:
                continue
            if element.tag != "gpu":
                host[element.tag] = (element.text or "").strip()
            elif len(reading.devices) < MAX_DEVICES:
                index = None if single else len(reading.devices)
                instances = len(element.findall("mig_devices/mig_device"))
                reading.devices.append(_device(index, element.get("id"), element.findtext, _XML, instances))
    except ElementTree.ParseError:
        cut = True
    return _finish(reading, host, single, cut, lines)


def read_text(output: str, single: bool = False) -> Reading:
    """``-q``; of an output that is cut off what was printed. ``single``: one card was asked for (``-i``)."""
    lines, problems = sift(output)
    host: dict[str, str] = {}
    cards: list[tuple[str, dict[str, str]]] = []
    instances: list[int] = []
    path: list[tuple[int, str]] = []
    for line in lines:
        heading = _TEXT_CARD.match(line)
        if heading and len(cards) < MAX_DEVICES:
            cards.append((heading[1], {}))
            instances.append(0)
            path = []
            continue
        match = _TEXT_LINE.match(line[:_LINE_LENGTH])
        if not match:
            continue
        indent, key, value = len(match[1]), match[2].lower(), match[3]
        path = [step for step in path if step[0] < indent]
        if value is None:
            path.append((indent, key))
            if cards and key == "mig device":
                instances[-1] += 1
        elif cards:
            cards[-1][1].setdefault("/".join([*(step for _indent, step in path), key]), value.strip())
        else:
            host.setdefault(key.replace(" ", "_"), value.strip())
    if not cards and "attached_gpus" not in host:
        return _unread(problems, lines)
    reading = Reading(problems=problems)
    for index, (address, told) in enumerate(cards):
        reading.devices.append(_device(None if single else index, address, told.get, _TEXT, instances[index]))
    # Memory comes in the first half of a card's block: without it the block was cut off.
    cut = any(_PLACES["memory_total"][_TEXT] not in told for _address, told in cards)
    return _finish(reading, host, single, cut, lines)
