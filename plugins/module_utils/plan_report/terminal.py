# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans as a block of text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from ..wording import shortened
from . import words
from .columns import beside, table
from .fleet import Claims, claims, placed_cards
from .memory import FREE, KV_CACHE, OVERHEAD, UNPREDICTED, WEIGHTS, card_parts, limits
from .model import Finding, Host, Layout, Plan, card_kinds

MINIMUM_WIDTH = 72
INDENT = "  "
LABEL_COLUMN = 14

NOTHING = "–"
FIGURES = ("TP×PP", "GPUS", "CONTEXT", "WEIGHTS", "KV GiB", "KV TOKENS", "AT ONCE")
BAR_SIGNS = {WEIGHTS: "▓", KV_CACHE: "█", OVERHEAD: "▒", UNPREDICTED: "?", FREE: "░"}
ASCII_SIGNS = str.maketrans("×–…─→▓█▒░", "x-~->=#+.")


def render(plans: Sequence[Plan], hosts: Sequence[Host], width: int, ascii_only: bool = False) -> str:
    """The whole text: no line longer than ``width``, none with blanks at its end. ``hosts`` may be empty."""
    claimed = claims(plans)
    blocks = [
        [words.outcome(plans, claimed)],
        _summary(plans, width),
        _fleet(claimed, hosts, width),
        *(_plan(plan, hosts, width) for plan in plans),
    ]
    text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
    return text.translate(ASCII_SIGNS).encode("ascii", "replace").decode("ascii") if ascii_only else text


def _summary(plans: Sequence[Plan], width: int) -> list[str]:
    rows = [(plan.name, *(_figures(plan.layout) if plan.layout else [NOTHING] * len(FIGURES))) for plan in plans]
    return table([("MODEL", *FIGURES), *rows], width) if rows else []


def _figures(layout: Layout) -> Iterable[str]:
    predicted = layout.predicted
    data = f"×{layout.data_parallel_size}" if layout.data_parallel_size > 1 else ""
    yield f"{layout.tensor_parallel_size}×{layout.pipeline_parallel_size}{data}"
    yield words.each(layout, str(layout.gpus))
    yield _figure(layout.max_model_len, ",")
    yield _figure(predicted.weights_gib, ".2f")
    yield _figure(predicted.kv_cache_gib, ".2f")
    for value, form in ((predicted.kv_cache_tokens, ","), (predicted.concurrency, ".2f")):
        yield NOTHING if value is None else words.each(layout, _figure(value, form))


def _figure(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)


def _fleet(claimed: Claims, hosts: Sequence[Host], width: int) -> list[str]:
    lines: list[str] = []
    for seat in claimed.contested:
        lines += _labelled("Conflict", [words.conflict(seat, claimed)], width)
    for host in hosts:
        for finding in (*host.problems, *(finding for card in host.cards for finding in card.problems)):
            lines += _finding("Host", finding, width, f"{host.name}: ")
    return lines


def _plan(plan: Plan, hosts: Sequence[Host], width: int) -> list[str]:
    lines = [_heading(plan, width)]
    for finding in plan.problems:
        lines += _finding("Problem", finding, width)
    if plan.layout:
        lines += _layout(plan, plan.layout, hosts, width)
    for finding in plan.warnings:
        lines += _finding("Warning", finding, width)
    return lines + _choices(plan, width) + _decisions(plan, width)


def _heading(plan: Plan, width: int) -> str:
    state = "fits" if plan.feasible else "does not fit"
    name = shortened(plan.name, width - len(state) - len("── ─ ──") - 2)
    return f"── {name} {'─' * (width - len(name) - len(state) - 8)} {state} ──"


def _layout(plan: Plan, layout: Layout, hosts: Sequence[Host], width: int) -> list[str]:
    predicted = layout.predicted
    engine = f", {plan.backend} {plan.backend_version}".rstrip() if plan.backend else ""
    return [
        *_labelled("Layout", [f"{words.sizes(layout)}: {words.where(layout)}{engine}"], width),
        *_labelled("Cards", _cards(plan, layout, hosts), width),
        *_labelled("Context", [words.tokens(layout.max_model_len)], width),
        *_labelled("Per GPU", _bar(plan, hosts, width - LABEL_COLUMN) or [words.per_gpu(predicted)], width),
        *_labelled("KV cache", [words.kv_cache(layout)], width),
        *_labelled("Variables", [f"{name}={value}" for name, value in plan.env.items()], width),
    ]


def _cards(plan: Plan, layout: Layout, hosts: Sequence[Host]) -> list[str]:
    lines = []
    for name, indexes in words.places(layout).items():
        cards = [card for host, card in placed_cards(plan, hosts) if host.name == name]
        kinds = ", ".join(f"{len(same)} × {kind}" for kind, same in card_kinds(cards).items())
        lines.append(f"{name}: GPU {indexes}{f' ({kinds})' if kinds else ''}")
    return lines


def _bar(plan: Plan, hosts: Sequence[Host], width: int) -> list[str]:
    """The smallest card of the plan: it is the one that sets the size of the KV cache."""
    cards = [card for _host, card in placed_cards(plan, hosts) if card.memory_gib]
    if not cards:
        return []
    card = min(cards, key=lambda card: card.memory_gib or 0.0)
    parts = card_parts([(plan, limits(plan, hosts))], card)
    total = sum(part.gib for part in parts)
    ends = [0, *(round(width * end / total) for end in accumulate(part.gib for part in parts))]
    drawn = "".join(BAR_SIGNS[part.kind] * (end - start) for part, start, end in zip(parts, ends, ends[1:]))
    legend = ", ".join(f"{BAR_SIGNS[part.kind]} {part.kind} {part.gib:.2f}" for part in parts)
    return [drawn, f"{legend} GiB"]


def _choices(plan: Plan, width: int) -> list[str]:
    if not plan.choices:
        return []
    rows = [("LAYOUT", *FIGURES), *((name, *_figures(layout)) for name, layout in plan.choices)]
    lines = ["", *(INDENT + line for line in table(rows, width - len(INDENT)))]
    for name, layout in plan.choices:
        if layout.summary:
            lines += beside(f"{INDENT}{name}", [layout.summary], LABEL_COLUMN, width)
    return lines


def _decisions(plan: Plan, width: int) -> list[str]:
    if not plan.decisions:
        return []
    longest = max(len(INDENT) + len(decision.setting) for decision in plan.decisions)
    column = min(longest, width * 2 // 5) + len(INDENT)
    lines = ["", f"{INDENT}PARAMETER".ljust(column) + "WHY"]
    for decision in plan.decisions:
        origin = f"{_in_brackets(decision.rule)} {decision.source}".strip()
        origins = [origin] if len(origin) <= width - column else [_in_brackets(decision.rule), decision.source]
        lines += beside(f"{INDENT}{decision.setting}", [decision.reason, *origins], column, width)
    return lines


def _finding(label: str, finding: Finding, width: int, prefix: str = "") -> list[str]:
    message = f"{prefix}{finding.message} {_in_brackets(finding.rule)}".rstrip()
    return _labelled(label, [message, *(f"→ {remedy}" for remedy in finding.remedies)], width)


def _labelled(label: str, paragraphs: Sequence[str], width: int) -> list[str]:
    return beside(f"{INDENT}{label}".rstrip(), paragraphs, LABEL_COLUMN, width) if paragraphs else []


def _in_brackets(rule: str) -> str:
    return f"[{rule}]" if rule else ""
