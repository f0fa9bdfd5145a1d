# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the images that engines run from, from the facts of ``engine_image_facts``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..planning.hardware import binary_runs_on, capability_text, parse_capability
from .fleet import Finding, Fleet, comes_to


def engine_image_lacks_architecture(fleet: Fleet) -> Iterator[Finding]:
    """Such an engine loads for minutes and then ends with: no kernel image is available for execution on the device."""
    for host, version, image in _images(fleet):
        for library, architectures in sorted((image.get("architectures") or {}).items()):
            for capability, cards in sorted(_cards(fleet, host).items()):
                if not binary_runs_on(architectures, capability):
                    sm = f"sm_{capability[0]}{capability[1]}"
                    yield Finding(
                        [host],
                        f"{library} in {image['image']} is built for {', '.join(architectures) or 'no GPU'}",
                        f"{sm}, for {', '.join(cards)} (compute capability {capability_text(capability)})",
                        "Give the models that run there another image: declare a backend version such as"
                        f" {version}-custom in gpustack_resources_backend_versions with an image built for {sm}, and"
                        " use it as the models' backend_version. GPUStack's own runner images begin at 7.5; those of"
                        " the vLLM project for CUDA 12 hold 7.0.",
                    )


def engine_image_unknown(fleet: Fleet) -> Iterator[Finding]:
    """What could not be looked into may still run."""
    for host, version, image in _images(fleet):
        if image.get("problem"):
            yield Finding(
                [host],
                f"the image of vLLM {version} could not be looked into: {image['problem']}",
                "the GPU architectures that it is built for",
                "Declare a version of your own in gpustack_resources_backend_versions, or, where somebody else has"
                " registered it, name its image in gpustack_preflight_engine_images; otherwise see whether the host"
                " can pull it.",
            )


def _images(fleet: Fleet) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Host, version and image of every engine that a plan places on a host."""
    for host, images in sorted(fleet.engine_images.items()):
        for version, image in sorted(images.items()):
            if any(comes_to(plan, host) for plan in _plans_of(fleet, version)):
                yield host, version, image


def _plans_of(fleet: Fleet, version: str) -> list[Mapping[str, Any]]:
    return [plan for plan in fleet.plans.values() if str(plan.get("backend_version")) == version]


def _cards(fleet: Fleet, host: str) -> dict[tuple[int, int], list[str]]:
    """The host's usable cards by compute capability."""
    cards: dict[tuple[int, int], list[str]] = {}
    for device in ((fleet.gpus or {}).get(host) or {}).get("devices") or []:
        capability = parse_capability(str(device.get("compute_capability") or ""))
        if capability and device.get("usable", True):
            name = str(device.get("name"))
            if name not in cards.setdefault(capability, []):
                cards[capability].append(name)
    return cards
