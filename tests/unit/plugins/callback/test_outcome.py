# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.gpustack.plugins.callback.outcome import ONLY_LOOK, sentence


def figures(changed: int = 0, failures: int = 0, unreachable: int = 0) -> dict[str, int]:
    return {"changed": changed, "failures": failures, "unreachable": unreachable}


@pytest.mark.parametrize(
    ("totals", "check_mode", "expected"),
    [
        ({"a": figures(), "b": figures()}, False, "Nothing changed: everything is as declared."),
        ({"a": figures()}, True, "Nothing would change: everything is as declared."),
        ({"a": figures(changed=1), "b": figures()}, False, "Done: 1 thing on 1 host changed."),
        ({"a": figures(changed=3), "b": figures(changed=4)}, True, "Done: 7 things on 2 hosts would change."),
        ({"b": figures(failures=1), "a": figures()}, False, "Failed on b; nothing changed before that."),
        (
            {"b": figures(changed=2, unreachable=1), "a": figures(failures=1)},
            False,
            "Failed on a, b; before that, 2 things on 1 host changed.",
        ),
    ],
)
def test_outcome_is_one_sentence(totals: dict[str, dict[str, int]], check_mode: bool, expected: str) -> None:
    assert sentence(totals, check_mode, "/site/site.yml") == expected


@pytest.mark.parametrize("check_mode", [False, True])
def test_nothing_follows_from_a_playbook_that_only_looks(check_mode: bool) -> None:
    said = sentence({"a": figures()}, check_mode, "/collections/gpuops/gpustack/playbooks/plan.yml")
    assert said == "Nothing changed: this playbook only looks."


def test_playbooks_that_only_look_are_there() -> None:
    playbooks = {path.stem for path in (Path(__file__).resolve().parents[4] / "playbooks").glob("*.yml")}
    assert sorted(ONLY_LOOK - playbooks) == []
