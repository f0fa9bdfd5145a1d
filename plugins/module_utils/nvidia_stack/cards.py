# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which kernel modules and which driver branches drive all cards of a host.

NVIDIA's open kernel modules need a processor (GSP) that cards have since Turing; the proprietary ones were never
released for Blackwell and Grace Hopper, and end before branch 615.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..pci_ids import LAST_DRIVER_BRANCH

PROPRIETARY = "proprietary"
OPEN = "open"
AUTO = "auto"

BOTH = frozenset({PROPRIETARY, OPEN})
FLAVOURS: dict[str, frozenset[str]] = {
    "kepler": frozenset({PROPRIETARY}),
    "maxwell": frozenset({PROPRIETARY}),
    "pascal": frozenset({PROPRIETARY}),
    "volta": frozenset({PROPRIETARY}),
    "turing": BOTH,
    "ampere": BOTH,
    "ada": BOTH,
    "hopper": BOTH,
    "blackwell": frozenset({OPEN}),
}
# Grace Hopper: a Hopper card that only the open modules drive.
OPEN_ONLY_DEVICES = frozenset({0x2342, 0x2348})
FIRST_DRIVER_BRANCH = {"hopper": 525, "blackwell": 570}
LAST_PROPRIETARY_BRANCH = 610


@dataclass(frozen=True)
class Refusal:
    """Why the cards of a host cannot be driven as wanted."""

    code: str
    found: str
    wanted: str
    remedy: str


@dataclass(frozen=True)
class Choice:
    """``kernel_modules`` is None where there are refusals; ``reason`` names the card that decided."""

    kernel_modules: str | None
    reason: str
    refusals: tuple[Refusal, ...] = ()


def choose(cards: Sequence[Mapping[str, Any]], branch: int, preference: str = AUTO) -> Choice:
    """The kernel modules for a host. ``cards`` are ``{"name", "device_id", "architecture"}`` of all its cards.

    ``branch`` is the driver's first number; ``preference`` is auto, proprietary or open. Where the cards leave the
    choice, auto takes the open modules, as NVIDIA does.
    """
    refusals = [*_unknown(cards), *_branches(cards, branch)]
    left = _flavours(cards)
    if branch > LAST_PROPRIETARY_BRANCH:
        left -= {PROPRIETARY}
    if not left and not refusals:
        refusals.append(_no_common_flavour(cards))
    if preference != AUTO and left and preference not in left:
        refusals.append(_unwanted_preference(cards, preference, left))
    if refusals:
        return Choice(None, "", tuple(refusals))
    kernel_modules = preference if preference != AUTO else OPEN if OPEN in left else PROPRIETARY
    return Choice(kernel_modules, _reason(cards, kernel_modules, left))


def label(card: Mapping[str, Any]) -> str:
    """``Tesla V100-PCIE-32GB``, or the device id where the card has no name here."""
    return str(card.get("name") or f"card {card['device_id']:04x} at {card.get('pci_bus_id', 'an unknown address')}")


def labels(cards: Sequence[Mapping[str, Any]]) -> str:
    """``2x Tesla V100-PCIE-32GB, NVIDIA B200``."""
    names = [label(card) for card in cards]
    counts = {name: names.count(name) for name in names}
    return ", ".join(f"{count}x {name}" if count > 1 else name for name, count in counts.items())


def _drives(card: Mapping[str, Any]) -> frozenset[str]:
    if card["device_id"] in OPEN_ONLY_DEVICES:
        return frozenset({OPEN})
    return FLAVOURS.get(card.get("architecture") or "", BOTH)


def _flavours(cards: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    left = BOTH
    for card in cards:
        left &= _drives(card)
    return left


def _unknown(cards: Sequence[Mapping[str, Any]]) -> Iterator[Refusal]:
    unknown = [card for card in cards if (card.get("architecture") or "") not in FLAVOURS]
    if unknown:
        yield Refusal(
            "card_unknown",
            f"{labels(unknown)}, whose architecture is unknown",
            "cards of which is known what drives them",
            "Update this collection; a card older than Maxwell has no driver that CUDA 12.9 runs on.",
        )


def _branches(cards: Sequence[Mapping[str, Any]], branch: int) -> Iterator[Refusal]:
    for card in {label(card): card for card in cards}.values():
        architecture = card.get("architecture") or ""
        last, first = LAST_DRIVER_BRANCH.get(architecture), FIRST_DRIVER_BRANCH.get(architecture)
        if last is not None and branch > last:
            yield Refusal(
                "driver_branch_too_new",
                f"driver branch {branch} for {label(card)}, which it does not drive any more",
                f"branch {last} or older, the last with {architecture.capitalize()}",
                f"Set gpustack_nvidia_stack_driver_version to a version of branch {last}.",
            )
        elif first is not None and branch < first:
            yield Refusal(
                "driver_branch_too_old",
                f"driver branch {branch} for {label(card)}, which it does not drive yet",
                f"branch {first} or newer, the first with {architecture.capitalize()}",
                f"Set gpustack_nvidia_stack_driver_version to a version of branch {first} or newer.",
            )


def _no_common_flavour(cards: Sequence[Mapping[str, Any]]) -> Refusal:
    old = [card for card in cards if OPEN not in _drives(card)]
    new = [card for card in cards if PROPRIETARY not in _drives(card)]
    return Refusal(
        "kernel_modules_conflict",
        f"{labels(old) or labels(cards)}, which only the proprietary kernel modules drive, "
        + (f"beside {labels(new)}, which only the open ones drive" if new else "and a branch that lacks them"),
        "cards of one host that the same kernel modules drive",
        "Move the cards to hosts of their own: one host has one driver.",
    )


def _unwanted_preference(cards: Sequence[Mapping[str, Any]], preference: str, left: frozenset[str]) -> Refusal:
    deciding = [card for card in cards if preference not in _drives(card)] or list(cards)
    return Refusal(
        "kernel_modules_unsupported",
        f"gpustack_nvidia_stack_kernel_modules is {preference}, and the host has {labels(deciding)}",
        f"{' or '.join(sorted(left))} kernel modules, which drive it",
        "Set gpustack_nvidia_stack_kernel_modules to auto.",
    )


def _reason(cards: Sequence[Mapping[str, Any]], kernel_modules: str, left: frozenset[str]) -> str:
    if len(left) > 1:
        return f"{labels(cards)}: both kinds of kernel modules drive every card"
    deciding = [card for card in cards if len(_drives(card)) == 1] or list(cards)
    return f"{labels(deciding)}: only the {kernel_modules} kernel modules drive it"
