# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.evaluation import (
    BATCH,
    Question,
    disagreement,
    evaluate,
    spec,
)

FIELDS = {
    "name": "qwen",
    "backend_version": "0.17.1-v100-custom",
    "description": "for the chat",
    "env": {"A": "1", "GPUOPS_CONFIGURATION": "3f0c9a1b2d4e 2026-03-01T09:30:00Z"},
}


def question(name: str = "qwen", cluster_id: int = 1, occupied: bool = False) -> Question:
    return Question(name, {**FIELDS, "name": name}, cluster_id, "two cards of one host", occupied)


@pytest.mark.parametrize(
    ("version", "asked"),
    [((2, 1, 1), "0.17.1"), ((2, 2, 3), "0.17.1"), ((2, 3, 0), "0.17.1-v100-custom")],
)
def test_custom_version_is_asked_for_as_the_stock_one_where_the_dry_run_knows_no_other(
    version: Any, asked: str
) -> None:
    assert spec(question(), version, "")["backend_version"] == asked


def test_question_is_another_one_each_time_and_knows_no_marker() -> None:
    asked = spec(question(), (2, 1, 1), "at noon")
    assert (asked["description"], asked["env"]) == ("at noon", {"A": "1"})
    assert FIELDS["description"] == "for the chat"


@pytest.mark.parametrize(
    ("answer", "occupied", "view"),
    [
        ({"compatible": True}, False, None),
        ({"compatible": False, "compatibility_messages": ["No\nsuch file."]}, True, "No such file"),
        ({"compatible": False, "compatibility_messages": ["Unable."], "scheduling_messages": ["Full."]}, True, None),
        (
            {"compatible": False, "compatibility_messages": ["Unable."], "scheduling_messages": ["Full."]},
            False,
            "Unable. Full",
        ),
        ({"compatible": False, "error": True, "error_message": "boom"}, False, "boom"),
        ({"compatible": False, "compatibility_messages": None}, False, "no, without a reason"),
    ],
)
def test_only_a_lack_of_room_is_forgiven_while_cards_are_held(
    answer: dict[str, Any], occupied: bool, view: str | None
) -> None:
    found = disagreement(question(occupied=occupied), answer)
    assert (None if found is None else found.gpustack) == view


class Server:
    """Answers no to the models of these names, as often as told."""

    server_version = (2, 1, 1)

    def __init__(self, **refusals: int) -> None:
        self.refusals = refusals
        self.asked: list[tuple[int, list[str]]] = []

    def post(self, path: str, body: Any) -> Any:
        names = [asked["name"] for asked in body["model_specs"]]
        self.asked.append((body["cluster_id"], names))
        results = []
        for name in names:
            left = self.refusals.get(name, 0)
            self.refusals[name] = left - 1
            results.append({"compatible": left <= 0, "compatibility_messages": ["not yet"]})
        return {"results": results}


def test_many_are_asked_for_in_batches_by_cluster() -> None:
    server = Server()
    questions = [question(f"m{number}") for number in range(BATCH + 1)] + [question("other", cluster_id=2)]
    assert evaluate(server, questions, "", lambda seconds: None) == []  # type: ignore[arg-type]
    assert [(cluster, len(names)) for cluster, names in server.asked] == [(1, BATCH), (1, 1), (2, 1)]


def test_only_what_is_refused_is_asked_again_for_a_while() -> None:
    server = Server(late=2, never=99)
    pauses: list[float] = []
    questions = [question("fine"), question("late"), question("never")]
    (found,) = evaluate(server, questions, "", pauses.append)  # type: ignore[arg-type]
    assert str(found) == "never: planned is two cards of one host; GPUStack says: not yet"
    assert [names for _cluster, names in server.asked[:4]] == [
        ["fine", "late", "never"],
        ["late", "never"],
        ["late", "never"],
        ["never"],
    ]
    assert 15 < sum(pauses) < 30
