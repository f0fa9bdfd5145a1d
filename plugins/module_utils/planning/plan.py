# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Candidates → the best one, with its reasons and alternatives.

``plan(model, fleet)`` is the whole planner: a pure function of one declared model and the gathered facts of a fleet,
both plain mappings, to a plain mapping. ``plan_models`` plans several, each on what the earlier ones leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

from .alternatives import alternatives
from .answer import Plan, feasible, infeasible, problem
from .assessment import Assessment, assess, parameters_key, places, preference, situation_of
from .errors import PlanError, nearest
from .excluded import OLD_CARDS, in_use_warnings, left_out_warnings, named, without_old_cards
from .fitting import closest, remedies, shortage
from .fleet import Card, Fleet, parse_fleet
from .intent import Intent, parse_intent
from .mask import masked
from .memory import Split
from .parallelism import tensor_sizes
from .placement import Layout, Site, on_one_host, over_hosts, without
from .rule import Refusal
from .rules import REFUSALS, all_rules
from .settings import Settings, settle
from .situation import Situation

Facts = Union[Fleet, Mapping[str, Any]]

# Of a card that several engines share: each has a CUDA context and graphs beside its share.
MOST_SHARED = 0.92


def plan(model: Mapping[str, Any], fleet: Facts) -> Plan:
    """The plan of one declared model on a fleet.

    Raises PlanError for input that is wrong in itself. A model that does not fit has ``feasible: false`` and problems
    that say what would make it fit.
    """
    return _plan(settle(_checked(parse_intent(model))), fleet if isinstance(fleet, Fleet) else parse_fleet(fleet))


def plan_models(models: Sequence[Mapping[str, Any]], fleet: Facts) -> list[Plan]:
    """Plans of several models, in their order, each on what the earlier ones leave.

    A card is shared only by models whose declared ``gpu_memory_utilization`` adds up to ``MOST_SHARED`` or less.
    """
    rest = fleet if isinstance(fleet, Fleet) else parse_fleet(fleet)
    shared: dict[tuple[str, int], float] = {}
    plans = []
    for model in models:
        settings = settle(_checked(parse_intent(model)))
        share = settings.intent.gpu_memory_utilization or 1.0
        result = _plan(settings, without(rest, {card for card, used in shared.items() if used + share > MOST_SHARED}))
        for placed in result["placements"][: result["replicas"]]:  # a model that is stopped has a place, and takes none
            for card in ((host, index) for host, indexes in placed.items() for index in indexes):
                shared[card] = shared.get(card, 0.0) + share
        full = {card for card, used in shared.items() if used >= MOST_SHARED}
        rest = without(rest, full)
        shared = {card: used for card, used in shared.items() if card not in full}
        plans.append(result)
    return plans


def _checked(intent: Intent) -> Intent:
    """Overrides name rules that exist and may be lifted."""
    rules = all_rules()
    known = {*rules, OLD_CARDS}
    for rule_id in intent.override:
        if rule_id not in known:
            raise PlanError(
                f"model {intent.name}: override names no rule {rule_id}{nearest(rule_id, known)}: correct it"
            )
        rule = rules.get(rule_id)
        if rule is not None and not rule.liftable:
            raise PlanError(
                f"model {intent.name}: rule {rule_id} cannot be lifted, because pipeline parallelism over Volta cards "
                f"crashes the engine in every known setting: drop it from override"
            )
    return intent


def _plan(settings: Settings, fleet: Fleet) -> Plan:
    usable, old = without_old_cards(fleet, settings.intent)
    warnings = left_out_warnings(fleet, old)
    assessments = _assessments(settings, usable)
    _refuse_parameters(settings, usable, assessments)
    ranked = sorted(assessments, key=lambda assessment: preference(assessment, settings.wanted.gpus))
    if not ranked or not ranked[0].serves:
        return infeasible(settings, _problems(settings, usable, ranked), warnings)
    best, wanted = ranked[0], settings.intent.replicas
    replicas = _replicas(ranked, max(1, wanted), settings, usable)
    if len(replicas) < wanted:
        world = best.layout.split.world
        message = f"{wanted} replicas of {world} GPU(s) are declared, the fleet has room for {len(replicas)}"
        advice = [f"declare replicas: {len(replicas)}"]
        return infeasible(settings, [problem("replicas-fit", message, advice)], warnings)
    warnings += in_use_warnings(best, replicas, usable)
    others = alternatives(settings, usable, best, ranked)
    return feasible(settings, best, replicas, _automatic(best, fleet), warnings, others)


def _assessments(settings: Settings, fleet: Fleet) -> list[Assessment]:
    """Layouts on one host; those over several only when no single host serves."""
    found = [assess(settings, layout, fleet) for layout in on_one_host(fleet, settings.shape, settings.wanted)]
    if any(entry.serves and entry.full_context and not entry.layout.mixed for entry in found):
        return found
    return found + [assess(settings, layout, fleet) for layout in over_hosts(fleet, settings.shape, settings.wanted)]


def _refuse_parameters(settings: Settings, fleet: Fleet, assessments: list[Assessment]) -> None:
    """A user's parameter that every layout refuses is an error; with no layout at all, each kind of card is asked."""
    situations = [assessment.situation for assessment in assessments]
    if not situations:
        cards = {card for slots, _hosts in fleet.alike for card in slots.cards} or {_ANY_CARD}
        wanted = settings.wanted
        split = Split(wanted.tensor or 1, wanted.pipeline or 1, wanted.data or 1)
        situations = [
            situation_of(settings, Layout(split, 1, (), (card,), 0, False), fleet)
            for card in sorted(cards, key=lambda c: (c.capability, c.memory_total_mib, c.name))
        ]
    first: tuple[Refusal, Situation] | None = None
    for situation in situations:
        refusal = next((rule for rule in REFUSALS if rule.applies(situation) and rule.about(situation)), None)
        if refusal is None:
            return
        if first is None or REFUSALS.index(refusal) < REFUSALS.index(first[0]):
            first = (refusal, situation)
    if first is not None:
        raise PlanError(_refusal_text(*first))


# Stands in for a card where the fleet has none, so that a parameter that no card takes is refused all the same.
_ANY_CARD = Card("any card", (9, 0), 81559)


def _refusal_text(rule: Refusal, situation: Situation) -> str:
    subject = rule.about(situation)
    parameter = situation.parameters.get(subject)
    what = f"{masked(' '.join(parameter.items))} in backend_parameters" if parameter else f"{subject} in env"
    lift = f" (or lift the rule with override: [{rule.id}])" if rule.liftable else ""
    return (
        f"model {situation.intent.name}: {what} is refused by rule {rule.id}: {rule.reason(situation)}; "
        f"{rule.advice(situation)}{lift}"
    )


def _replicas(ranked: list[Assessment], wanted: int, settings: Settings, fleet: Fleet) -> list[tuple[Site, ...]]:
    """The sites of every replica: those of the best layout, then others that take the same parameters."""
    best = ranked[0]
    found: list[tuple[Site, ...]] = []
    used: set[tuple[str, int]] = set()
    for other in ranked:
        if not other.serves or parameters_key(other) != parameters_key(best):
            continue
        for sites in places(other, settings, fleet):
            if len(found) == wanted:
                return found
            cards = {(host, index) for host, indexes in sites for index in indexes}
            if not cards & used:
                found.append(sites)
                used |= cards
    return found


def _automatic(best: Assessment, fleet: Fleet) -> bool:
    """Whether GPUStack's own scheduler finds such a placement; without it the cards must be named (gpu_ids).

    It takes any cards with enough memory of one worker, or all cards of workers with equally many
    (vllm_resource_fit_selector.py): right where all cards are alike and good, and no closer ones are to be preferred.
    """
    alike = len({card for slots, _hosts in fleet.alike for card in slots.cards}) == 1 and not fleet.left_out
    if best.layout.hosts > 1:
        return alike and best.layout.whole_hosts
    links = {kind for pool in best.layout.pools for kind in pool.link_kinds}
    return alike and (best.layout.split.world == 1 or best.layout.whole_hosts or len(links) <= 1)


def _problems(settings: Settings, fleet: Fleet, assessments: list[Assessment]) -> list[dict[str, Any]]:
    if not fleet.alike:
        reasons = list(fleet.problems) + [f"{card.host} card {card.index}: {card.reason}" for card in fleet.left_out]
        message = "the fleet has no usable GPU" + (f" ({named(reasons)})" if reasons else "")
        return [problem("usable-gpu", message, ["repair what gpu_facts reports"])]
    near = closest([assessment for assessment in assessments if not _passed_over(assessment)])
    if near is None:
        return [_no_layout(settings, fleet)]
    if near.refusals:
        situation = near.situation
        return [problem(rule.id, rule.reason(situation), [rule.advice(situation)]) for rule in near.refusals]
    return [problem("memory", shortage(near), remedies(settings, near, fleet))]


def _passed_over(assessment: Assessment) -> bool:
    """Refused only for sizes that the planner tried by itself."""
    return any(rule.of_choice and not rule.about(assessment.situation) for rule in assessment.refusals)


def _no_layout(settings: Settings, fleet: Fleet) -> dict[str, Any]:
    """No group of cards has the wanted size, or the model cannot be split that way."""
    gpus = settings.wanted.gpus
    most = max(len(slots.cards) for slots, _hosts in fleet.alike)
    sizes = tensor_sizes(settings.shape, max(most, gpus or 1), settings.wanted.expert_parallel)
    if gpus is not None and gpus not in sizes:
        fitting = [size for size in sizes if size < gpus]
        message = f"{gpus} GPUs cannot share this model: sizes that divide it are {', '.join(map(str, sizes))}"
        return problem("sizes-divide", message, [f"declare gpus: {fitting[-1]}"] if fitting else [])
    hosts = sum(len(hosts) for _slots, hosts in fleet.alike)
    message = (
        f"no host has {gpus} usable GPUs, and no hosts with equally many make {gpus} together "
        f"({hosts} host(s), at most {most} GPUs each)"
    )
    fitting = [size for size in sizes if size <= most]
    return problem("hosts-have-gpus", message, [f"declare gpus: {fitting[-1]}"] if fitting else [])
