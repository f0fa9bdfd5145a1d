# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The targets of a model route, as people declare them and as GPUStack has them. Pure.

A declared target is `{model: NAME}` or `{provider: NAME, overridden_model_name: NAME}` with `weight`,
`fallback_status_codes` and `max_running_requests`. GPUStack knows numbers instead of names, and replaces the whole list
whenever it gets one; what is sent along with its number stays the same target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import Invalid, NotFound
from .releases import Version, refuse_newer_fields, target_name_field

Declared = Mapping[str, Any]
Key = tuple[str, str, str]

NEW_WEIGHT = 100
LABEL = "model route target"


@dataclass(frozen=True)
class Names:
    """The names of what targets lead to, by number; `ready` are the models of which a replica runs."""

    models: Mapping[int, str] = field(default_factory=dict)
    providers: Mapping[int, str] = field(default_factory=dict)
    ready: frozenset[int] = frozenset()


@dataclass(frozen=True)
class TargetPlan:
    """How to get from the present targets to the wanted ones, `before` and `after` as declarations.

    `items` is the whole list to send, empty when nothing is added or changed. `removed` are the targets to delete
    afterwards, one by one; the list still holds them, so that a request finds a target at any time.
    """

    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    items: list[dict[str, Any]]
    removed: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        return self.before != self.after


def key_of(target: Declared) -> Key:
    """What makes a declared target the same one: where it leads to."""
    kind = "provider" if target.get("provider") else "model"
    return (kind, str(target.get(kind)), target.get("overridden_model_name") or "")


def declared(target: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """One of the server's targets as a declaration, without what is not set."""
    if target.get("model_id") is not None:
        shown = {"model": names.models.get(target["model_id"], f"number {target['model_id']}")}
    else:
        shown = {"provider": names.providers.get(target["provider_id"], f"number {target['provider_id']}")}
    fields = {
        "overridden_model_name": target.get("overridden_model_name") or target.get("provider_model_name"),
        "weight": target.get("weight"),
        "fallback_status_codes": sorted(target.get("fallback_status_codes") or []),
        "max_running_requests": target.get("max_running_requests"),
    }
    return {**shown, **{name: value for name, value in fields.items() if value not in (None, [])}}


def check(wanted: Sequence[Declared], version: Version) -> None:
    """Raise Invalid when the declared targets make no sense, alone or together."""
    for target in wanted:
        if bool(target.get("model")) == bool(target.get("provider")):
            raise Invalid(
                f"A target of a route leads to a model or to a provider; this one is {dict(target)}. Name one."
            )
        if target.get("provider") and not target.get("overridden_model_name"):
            raise Invalid(
                f"The target of provider {target['provider']!r} lacks overridden_model_name, "
                "which says which of the provider's models to call."
            )
        if (target.get("weight") or 0) < 0:
            raise Invalid(f"The weight of {_label(target)} is {target['weight']}; wanted is 0 or more.")
        refuse_newer_fields(LABEL, target, version)
    twice = sorted({_label(target) for target in wanted if [key_of(t) for t in wanted].count(key_of(target)) > 1})
    if twice:
        raise Invalid(f"Declared twice as a target of one route: {', '.join(twice)}. Add their weights in one entry.")
    fallbacks = [_label(target) for target in wanted if target.get("fallback_status_codes")]
    if len(fallbacks) > 1:
        raise Invalid(f"A route has one fallback at most; fallback_status_codes are set for {' and '.join(fallbacks)}.")


def plan(
    wanted: Sequence[Declared],
    current: Iterable[Mapping[str, Any]],
    names: Names,
    version: Version,
    *,
    lenient: bool = False,
) -> TargetPlan:
    """Compare the wanted targets with the server's.

    Of a target only what is set counts; a new one gets the weight 100. Raises NotFound when a model or provider does
    not exist, unless `lenient`: in check mode it may be one that an earlier task would have made.
    """
    check(wanted, version)
    present: dict[Key, Mapping[str, Any]] = {}
    removed: list[Mapping[str, Any]] = []
    for target in sorted(current, key=lambda target: int(target["id"])):
        if present.setdefault(key_of(declared(target, names)), target) is not target:
            removed.append(target)  # GPUStack lets a route lead to one model twice
    before = [declared(target, names) for target in present.values()] + [declared(t, names) for t in removed]
    after: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    different = False
    for entry in wanted:
        same = present.pop(key_of(entry), None)
        old = {} if same is None else declared(same, names)
        new = {"weight": NEW_WEIGHT, **old, **{name: value for name, value in entry.items() if value is not None}}
        new = {name: sorted(value) if isinstance(value, list) else value for name, value in new.items()}
        new = {name: value for name, value in new.items() if value not in ("", [])}
        different = different or new != old
        after.append(new)
        items.append(_item(new, same, names, version, lenient))
    removed += present.values()
    if different:
        kept = [_item(declared(target, names), target, names, version, lenient) for target in removed]
        # A list that GPUStack would refuse has to do without them: there they are removed by not being in it.
        items, removed = (items + kept, removed) if _consistent(items + kept) else (items, [])
    return TargetPlan(
        before=sorted(before, key=key_of),
        after=sorted(after, key=key_of),
        items=items if different else [],
        removed=[dict(target) for target in removed],
    )


def _item(
    target: Declared, same: Mapping[str, Any] | None, names: Names, version: Version, lenient: bool
) -> dict[str, Any]:
    """The entry of the list that is sent. What is null there is taken away, where the release can do that."""
    item: dict[str, Any] = {} if same is None else {"id": same["id"]}
    if target.get("model"):
        item["model_id"] = _number(names.models, "model", target["model"], same, lenient)
    else:
        item["provider_id"] = _number(names.providers, "model provider", target["provider"], same, lenient)
    if target.get("overridden_model_name"):
        item[target_name_field(version)] = target["overridden_model_name"]
    item["weight"] = target.get("weight", NEW_WEIGHT)
    item["fallback_status_codes"] = target.get("fallback_status_codes")
    if target.get("max_running_requests") is not None:
        item["max_running_requests"] = target["max_running_requests"]
    return item


def _number(
    names: Mapping[int, str], label: str, name: str, same: Mapping[str, Any] | None, lenient: bool
) -> int | None:
    if same is not None:
        found: int | None = same["model_id"] if label == "model" else same["provider_id"]
        return found
    for number, known in names.items():
        if known == name:
            return number
    if lenient:
        return None
    raise NotFound(
        f"There is no {label} {name!r} for the route to lead to; there are: "
        f"{', '.join(sorted(names.values())) or 'none'}. Name one, or create it first."
    )


def _consistent(items: Iterable[Mapping[str, Any]]) -> bool:
    """Whether GPUStack takes the list: from 2.3.0 on it refuses a mixture of targets with and without a weight."""
    return len({item["weight"] > 0 for item in items if not item["fallback_status_codes"]}) < 2


def _label(target: Declared) -> str:
    kind, name, served = key_of(target)
    return f"{kind} {name}" + (f" ({served})" if served else "")
