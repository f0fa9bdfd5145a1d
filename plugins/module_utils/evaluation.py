# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What GPUStack itself says to a model before it is deployed: its dry run, held against the plan.

`POST /v2/model-evaluations` runs the checks and the scheduler for models that need not exist, and changes nothing. Read
in the source of 2.1.1 (gpustack/scheduler/evaluator.py), where it has these traps:

* An answer is kept for an hour, whatever is started or stopped meanwhile, by all that is asked. So every question is
  made another one, by its description.
* Before 2.3.0 it looks a `…-custom` version up among the stock images, and finds none; the scheduler itself takes it.
* The instances of the same model hold their cards, so that on a full fleet there is no room for what runs already.
* A worker is called ready before it can be asked for a model's files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .client import Client
from .engine_configuration import VARIABLE
from .releases import Version

PATH = "/v2/model-evaluations"
# The server looks at 50 models at once, and then at 5 in a second.
BATCH = 40
# A worker that is ready answers questions about files some seconds later.
ATTEMPTS, PAUSE_SECONDS = 8, 3.0
CUSTOM_VERSIONS_FROM: Version = (2, 3, 0)

_CUSTOM = re.compile(r"(?P<plain>\d+(?:\.\d+)*).*-custom")


@dataclass(frozen=True)
class Question:
    """A model that shall come: `fields` as they are to be written, what the plan says, and whether cards are held.

    `occupied`: instances that will go hold cards at present, so a lack of room tells nothing.
    """

    name: str
    fields: Mapping[str, Any]
    cluster_id: int | None
    planned: str
    occupied: bool


@dataclass(frozen=True)
class Disagreement:
    """A model that the plan calls feasible, and GPUStack does not."""

    name: str
    planned: str
    gpustack: str

    def __str__(self) -> str:
        return f"{self.name}: planned is {self.planned}; GPUStack says: {self.gpustack}"


def evaluate(
    client: Client, questions: Sequence[Question], nonce: str, sleep: Callable[[float], None]
) -> list[Disagreement]:
    """Ask about all of them, and again for a while about those that GPUStack finds unfit."""
    found: list[Disagreement] = []
    for attempt in range(ATTEMPTS):
        found = [each for each in _ask(client, questions, f"{nonce} {attempt}") if each is not None]
        names = {each.name for each in found}
        questions = [question for question in questions if question.name in names]
        if not questions:
            break
        if attempt + 1 < ATTEMPTS:
            sleep(PAUSE_SECONDS)
    return found


def spec(question: Question, version: Version, nonce: str) -> dict[str, Any]:
    """What is sent for a model."""
    fields = {name: value for name, value in question.fields.items() if name != "access_policy"}
    fields["env"] = {name: value for name, value in (fields.get("env") or {}).items() if name != VARIABLE}
    fields["description"] = nonce
    custom = _CUSTOM.fullmatch(fields.get("backend_version") or "")
    if custom and version < CUSTOM_VERSIONS_FROM:
        fields["backend_version"] = custom["plain"]
    return fields


def disagreement(question: Question, result: Mapping[str, Any]) -> Disagreement | None:
    """What an answer means; None where GPUStack agrees, or cannot know."""
    scheduling = list(result.get("scheduling_messages") or [])
    if result.get("compatible") or (scheduling and question.occupied):
        return None
    messages = [result.get("error_message"), *(result.get("compatibility_messages") or []), *scheduling]
    text = " ".join(" ".join(str(message).split()) for message in messages if message)
    return Disagreement(question.name, question.planned, text.rstrip(".") or "no, without a reason")


def refusal(found: Iterable[Disagreement]) -> str:
    """Both views, for a person."""
    views = ". ".join(map(str, found))
    return (
        f"GPUStack's dry run disagrees with the plan. {views}. Nothing was changed. Either GPUStack's rules or the "
        "fleet as it knows it (worker_info) are others than those of the plan; `evaluation: warn` goes on nevertheless."
    )


def _ask(client: Client, questions: Sequence[Question], nonce: str) -> list[Disagreement | None]:
    answers: list[Disagreement | None] = []
    for cluster_id in dict.fromkeys(question.cluster_id for question in questions):
        of_cluster = [question for question in questions if question.cluster_id == cluster_id]
        for start in range(0, len(of_cluster), BATCH):
            batch = of_cluster[start : start + BATCH]
            specs = [spec(question, client.server_version, nonce) for question in batch]
            body = {"cluster_id": cluster_id, "model_specs": specs}
            results = client.post(PATH, body)["results"]
            answers += [disagreement(question, result) for question, result in zip(batch, results)]
    return answers
