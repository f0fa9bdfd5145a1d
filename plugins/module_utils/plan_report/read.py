# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Dictionaries of ``gpu_facts`` and ``vllm_plan`` into the typed values of ``model``.

Names and texts come from machines and users: what could move a terminal's cursor, and secrets of variables and
parameters, are replaced here, for every output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..masking import mask_mapping, mask_parameters
from .model import (
    Card,
    Decision,
    Finding,
    Host,
    Layout,
    Link,
    Placement,
    Plan,
    Prediction,
)

Read = TypeVar("Read")


class ReportInputError(Exception):
    """The input is no set of plans, or no fleet; the message says what was found, wanted, and what to do."""


def plans(raw: Any) -> tuple[Plan, ...]:
    """``{model name: plan}`` in the order given; raises ReportInputError for anything else."""
    if not isinstance(raw, Mapping):
        raise ReportInputError(
            f"plans: found {_kind(raw)}, wanted a dictionary {{model name: plan}}; "
            "give each result of vllm_plan under its model's name"
        )
    if isinstance(raw.get("feasible"), bool):
        raise ReportInputError(
            "plans: found a single plan, wanted a dictionary {model name: plan}; give it under its model's name"
        )
    return tuple(
        _read(_plan, name, plan, "plans: the plan of model", "wanted a result of vllm_plan")
        for name, plan in raw.items()
    )


def fleet(raw: Any) -> tuple[Host, ...]:
    """``{host name: gpustack_gpu}`` in the order given; raises ReportInputError for anything else."""
    if not isinstance(raw, Mapping):
        raise ReportInputError(
            f"fleet: found {_kind(raw)}, wanted a dictionary {{host name: gpustack_gpu}}; "
            "give the facts of gpu_facts under each host's name"
        )
    return tuple(
        _read(_host, name, facts, "fleet: the facts of host", "wanted its gpustack_gpu; run gpu_facts on it")
        for name, facts in raw.items()
    )


def _read(reader: Callable[[str, Mapping[str, Any]], Read], name: Any, raw: Any, subject: str, wanted: str) -> Read:
    subject = f"{subject} '{_text(name)}'"
    if not isinstance(raw, Mapping):
        raise ReportInputError(f"{subject}: found {_kind(raw)}, {wanted}")
    try:
        return reader(_text(name), raw)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        found = f"a dictionary that cannot be read ({type(error).__name__}: {_text(error)})"
        raise ReportInputError(f"{subject}: found {found}, {wanted}") from error


def _plan(name: str, raw: Mapping[str, Any]) -> Plan:
    if not isinstance(raw["feasible"], bool):
        raise TypeError("feasible is neither true nor false")
    return Plan(
        name=name,
        feasible=raw["feasible"],
        backend=_text(raw.get("backend")),
        backend_version=_text(raw.get("backend_version")),
        layout=_layout(raw) if raw.get("tensor_parallel_size") else None,
        alternatives=tuple(_layout(item) for item in raw.get("alternatives") or ()),
        backend_parameters=tuple(_text(item) for item in mask_parameters(raw.get("backend_parameters")) or ()),
        env={_text(key): _text(value) for key, value in (mask_mapping(raw.get("env")) or {}).items()},
        decisions=tuple(_decision(item) for item in raw.get("decisions") or ()),
        warnings=_findings(raw.get("warnings")),
        problems=_findings(raw.get("problems")),
    )


def _layout(raw: Mapping[str, Any]) -> Layout:
    predicted = raw.get("predicted") or {}
    return Layout(
        tensor_parallel_size=int(raw["tensor_parallel_size"]),
        pipeline_parallel_size=int(raw.get("pipeline_parallel_size") or 1),
        data_parallel_size=int(raw.get("data_parallel_size") or 1),
        max_model_len=_whole(raw.get("max_model_len")),
        placements=tuple(_placement(placement) for placement in raw.get("placements") or [raw.get("placement") or {}]),
        predicted=Prediction(
            weights_gib=_number(predicted.get("weights_gib")),
            kv_cache_gib=_number(predicted.get("kv_cache_gib")),
            overhead_gib=_number(predicted.get("overhead_gib")),
            budget_gib=_number(predicted.get("budget_gib")),
            memory_gib=_number(predicted.get("memory_gib")),
            kv_cache_tokens=_whole(predicted.get("kv_cache_tokens")),
            concurrency=_number(predicted.get("concurrency")),
        ),
        summary=_sentence(raw.get("summary")),
    )


def _placement(raw: Mapping[str, Any]) -> Placement:
    return {_text(host): tuple(sorted(map(int, indexes))) for host, indexes in raw.items()}


def _decision(raw: Mapping[str, Any]) -> Decision:
    return Decision(
        setting=_setting(_text(raw.get("parameter")), raw.get("value")),
        reason=_sentence(raw.get("reason")),
        rule=_text(raw.get("rule")),
        source=_text(raw.get("source")),
    )


def _setting(parameter: str, value: Any) -> str:
    if value is True and parameter.startswith("--"):
        return parameter
    if value is False and parameter.startswith("--"):
        return f"--no-{parameter[2:]}"
    return f"{parameter}={_text(value)}"


def _host(name: str, raw: Mapping[str, Any]) -> Host:
    cards = tuple(_card(device) for device in raw["devices"])
    links = (_link(pair, link) for pair, link in (raw.get("links") or {}).items())
    known = {card.index for card in cards}
    return Host(
        name=name,
        driver_version=_text(raw.get("driver_version")),
        cuda_version=_text(raw.get("cuda_version")),
        cards=cards,
        links=tuple(link for link in links if {link.first, link.second} <= known),
        problems=_findings(raw.get("problems")),
    )


def _card(raw: Mapping[str, Any]) -> Card:
    memory_mib = _number(raw.get("memory_total_mib"))
    return Card(
        index=int(raw["index"]),
        name=_text(raw.get("name")) or "unknown GPU",
        compute_capability=_text(raw.get("compute_capability")),
        memory_gib=None if memory_mib is None else memory_mib / 1024,
        usable=bool(raw.get("usable", True)),
        problems=_findings(raw.get("problems")),
    )


def _link(pair: str, raw: Mapping[str, Any]) -> Link:
    first, _dash, second = str(pair).partition("-")
    return Link(
        first=int(first),
        second=int(second),
        topology=_text(raw.get("topology")),
        nvlinks=_whole(raw.get("nvlinks")) or 0,
        p2p_read=raw.get("p2p_read"),
    )


def _findings(raw: Any) -> tuple[Finding, ...]:
    return tuple(_finding(item) for item in raw or ())


def _finding(raw: Any) -> Finding:
    if not isinstance(raw, Mapping):
        return Finding(message=_sentence(raw), rule="", remedies=())
    remedies = raw.get("remedies") or raw.get("remedy") or ()
    return Finding(
        message=_sentence(raw.get("message")),
        rule=_text(raw.get("rule") or raw.get("code")),
        remedies=tuple(map(_sentence, [remedies] if isinstance(remedies, str) else remedies)),
    )


def _text(raw: Any) -> str:
    """Plain text of one line: no control characters, no runs of blanks; structures as JSON."""
    if raw is None:
        return ""
    if isinstance(raw, (Mapping, list, tuple)):
        raw = json.dumps(raw, sort_keys=True, default=str)
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in " ".join(str(raw).split()))


def _sentence(raw: Any) -> str:
    """A text that begins with a capital, unless it begins with a name: ``vLLM``, ``--dtype``, ``config.json``."""
    text = _text(raw)
    first = text.partition(" ")[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def _number(raw: Any) -> float | None:
    try:
        return None if raw is None else float(raw)
    except (TypeError, ValueError):
        return None


def _whole(raw: Any) -> int | None:
    number = _number(raw)
    return None if number is None else int(number)


def _kind(raw: Any) -> str:
    if raw is None:
        return "nothing"
    kinds = ((Mapping, "a dictionary"), (str, "a text"), ((list, tuple), "a list"))
    return next((words for kind, words in kinds if isinstance(raw, kind)), f"a {type(raw).__name__}")
