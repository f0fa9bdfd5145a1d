# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module `models` answers: of one step, of several, and after a wait. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .waiting import Outcome, Result, failure_message

Answer = dict[str, Any]


def together(answers: Sequence[Answer]) -> Answer:
    """Several steps as one: the present is the last step's, what happened is everybody's.

    A model that failed is in the step in which it failed, and in none after it.
    """
    if not answers:
        return {}
    models: dict[str, Answer] = {}
    for answer in answers:
        for model in answer["models"]:
            before = models.get(model["name"], {"changed": False, "recreated_instances": []})
            models[model["name"]] = {
                **model,
                "changed": before["changed"] or model["changed"],
                "recreated_instances": [*before["recreated_instances"], *model["recreated_instances"]],
            }
    whole: Answer = {
        **answers[-1],
        "changed": any(answer["changed"] for answer in answers),
        "models": [models[model["name"]] for model in answers[0]["models"]],
        "disagreements": answers[0]["disagreements"],
        "pruned": answers[0]["pruned"],
        "warnings": [warning for answer in answers for warning in answer.get("warnings", [])],
    }
    if "diff" in answers[0]:
        whole["diff"] = [part for answer in answers for part in answer["diff"]]
    return whole


def ended(answer: Answer, ends: Mapping[str, Result]) -> Answer:
    """An answer with what the wait came to, and one message where models failed."""
    if not answer:
        return {}
    models = [_ended(model, ends.get(model["name"])) for model in answer["models"]]
    failed = [model for model in models if model["failed"]]
    answer = {**answer, "models": models}
    if failed:
        reasons = " ".join(f"{model['name']}: {model['msg']}" for model in failed)
        answer.update(failed=True, msg=f"{len(failed)} of {len(models)} models failed. {reasons}")
    return answer


def _ended(model: Answer, end: Result | None) -> Answer:
    if end is None or model["failed"]:
        return model
    model = {**model, "progress": end.verdict.text}
    if end.verdict.outcome is Outcome.FAILED:
        model.update(failed=True, msg=failure_message(end), log=list(end.log))
    return model
