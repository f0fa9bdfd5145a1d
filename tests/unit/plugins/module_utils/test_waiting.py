# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.waiting import (
    POLL_SECONDS,
    NoAnswer,
    Outcome,
    Progress,
    Result,
    Snapshot,
    Verdict,
    failure_message,
    follow,
    judge,
)


def instance(state: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"id": number, "name": f"m-{number}", "state": state, "restart_count": 0, **fields}


def watched(
    *looks: list[dict[str, Any]], replicas: int = 1, seconds_between: float = 3.0, moved: bool = False
) -> Verdict:
    """The judge's last verdict over a series of looks."""
    memory = Progress()
    for number, instances in enumerate(looks):
        memory, verdict = judge(Snapshot("m", replicas, instances, moved=moved), memory, number * seconds_between)
    return verdict


def test_one_good_look_is_enough_where_nothing_moved() -> None:
    assert watched([instance("running")]).outcome is Outcome.DONE


def test_three_good_looks_are_needed_after_a_change() -> None:
    running = [instance("running")]
    assert watched(running, running, moved=True).outcome is Outcome.WAITING
    assert watched(running, running, running, moved=True).outcome is Outcome.DONE


def test_flapping_starts_the_count_again() -> None:
    running, starting = [instance("running")], [instance("starting")]
    assert watched(running, running, starting, running, running, moved=True).outcome is Outcome.WAITING
    assert watched(starting, running).outcome is Outcome.WAITING


def test_all_replicas_must_be_there_and_none_too_many() -> None:
    one, two = [instance("running")], [instance("running"), instance("running", 2)]
    assert watched(one, replicas=2).outcome is Outcome.WAITING
    assert watched(two, replicas=1).outcome is Outcome.WAITING
    assert watched(two, replicas=2).outcome is Outcome.DONE
    assert watched([], replicas=0).outcome is Outcome.DONE


def test_instance_of_an_older_configuration_counts_as_not_there() -> None:
    snapshot = Snapshot("m", 1, [instance("running")], stale=["m-1"])
    _memory, verdict = judge(snapshot, Progress(), 0)
    assert verdict == Verdict(Outcome.WAITING, "m: 0 of 1 running; still with an older configuration: m-1")


def test_failing_instance_of_an_older_configuration_is_no_failure() -> None:
    snapshot = Snapshot("m", 1, [instance("error", restart_count=9)], stale=["m-1"])
    memory, verdict = judge(snapshot, Progress(), 0)
    memory, verdict = judge(snapshot, memory, 3)
    assert verdict.outcome is Outcome.WAITING


def test_growing_restart_count_is_a_failure_with_the_message_of_the_error_before() -> None:
    verdict = watched(
        [instance("starting")],
        [instance("error", state_message="exited\nwith 1")],
        [instance("scheduled", restart_count=1)],
    )
    assert verdict.outcome is Outcome.FAILED
    assert verdict.reason == "The engine of m-1 stopped and was restarted (exited with 1)"


def test_restarts_before_the_first_look_do_not_count() -> None:
    assert watched([instance("starting", restart_count=4)]).outcome is Outcome.WAITING
    grown = watched([instance("starting", restart_count=4)], [instance("starting", restart_count=5)])
    assert grown.outcome is Outcome.FAILED


def test_restart_after_a_good_start_counts_from_zero() -> None:
    """GPUStack sets the count back once the engine runs."""
    looks = [[instance("starting", restart_count=4)], [instance("running")], [instance("starting", restart_count=1)]]
    assert watched(*looks).outcome is Outcome.FAILED


def test_restart_of_an_instance_that_appeared_later_counts() -> None:
    assert watched([], [instance("scheduled", restart_count=1)]).outcome is Outcome.FAILED


def test_error_is_given_one_look_to_clear() -> None:
    error = [instance("error", state_message="no such file")]
    assert watched(error).outcome is Outcome.WAITING
    assert watched(error, [instance("starting")], error).outcome is Outcome.WAITING
    verdict = watched(error, error)
    assert (verdict.outcome, verdict.reason) == (Outcome.FAILED, "Instance m-1 is in error: no such file")


def test_no_place_is_final_after_another_look_of_the_scheduler() -> None:
    no_place = [instance("pending", state_message="No suitable workers.")]
    analyzing = [instance("analyzing", state_message="Evaluating resource requirements")]
    assert watched(no_place, analyzing, no_place, seconds_between=119).outcome is Outcome.WAITING
    verdict = watched(no_place, analyzing, no_place, seconds_between=121)
    assert (verdict.outcome, verdict.reason) == (
        Outcome.FAILED,
        "GPUStack finds no place for m-1: No suitable workers",
    )


def test_place_that_was_found_meanwhile_starts_the_patience_again() -> None:
    no_place = [instance("pending", state_message="No suitable workers.")]
    assert watched(no_place, [instance("scheduled")], no_place, seconds_between=300).outcome is Outcome.WAITING


def test_model_that_the_scheduler_itself_refuses_fails_at_once() -> None:
    refused = [instance("pending", state_message="Failed to find candidate: 4 GPUs are selected, 8 are needed")]
    assert watched(refused, moved=True).outcome is Outcome.WAITING
    assert watched(refused, refused, moved=True).outcome is Outcome.FAILED


def test_refusal_from_before_this_run_counts_when_the_scheduler_has_said_it_again() -> None:
    message = "Failed to find candidate: 4 GPUs are selected, 8 are needed"
    earlier = [instance("pending", state_message=message, updated_at="2026-03-01T09:00:00Z")]
    again = [instance("pending", state_message=message, updated_at="2026-03-01T09:03:00Z")]
    assert watched(earlier, earlier, earlier).outcome is Outcome.WAITING
    assert watched(earlier, earlier, again).outcome is Outcome.FAILED


def test_config_that_could_not_be_read_from_a_worker_is_tried_again() -> None:
    message = "Failed to find candidate: Failed to get model m pretrained config"
    unread = [instance("pending", state_message=message)]
    assert watched(unread, unread, moved=True).outcome is Outcome.WAITING
    assert watched(unread, unread, moved=True, seconds_between=300).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"state": "pending"}, "m-1 pending"),
        ({"state": "downloading", "download_progress": 41.6, "worker_name": "a"}, "m-1 downloading 42 % on a"),
        ({"state": "starting", "worker_name": "a", "restart_count": 2}, "m-1 starting on a after 2 restarts"),
        ({"state": "pending", "state_message": "No suitable\nworkers"}, "m-1 pending (No suitable workers)"),
        ({"state": "running", "state_message": "old words", "worker_name": "a"}, "m-1 running on a"),
        (
            {
                "state": "downloading",
                "worker_name": "a",
                "download_progress": 90.0,
                "distributed_servers": {
                    "subordinate_workers": [{"worker_name": "b", "download_progress": 12.0, "state_message": None}]
                },
            },
            "m-1 downloading 12 % on a, b",
        ),
    ],
)
def test_line_says_state_place_download_and_restarts(fields: dict[str, Any], text: str) -> None:
    verdict = watched([instance(**fields)])
    assert verdict.text.split("; ")[1] == text


class Follower:
    """Follows a series of looks; the last one stays."""

    def __init__(self, *looks: Sequence[dict[str, Any]] | None) -> None:
        self.looks = list(looks)
        self.now = 0.0
        self.lines: list[str] = []
        self.logs_read: list[str] = []

    def look(self) -> Snapshot:
        instances = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if instances is None:
            raise NoAnswer
        return Snapshot("m", 1, instances)

    def read_log(self, row: Any) -> list[str]:
        self.logs_read.append(row["state"])
        return [f"log while {row['state']}"]

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, timeout_seconds: float = 100) -> Result:
        return follow(
            self.look,
            self.read_log,
            timeout_seconds=timeout_seconds,
            clock=lambda: self.now,
            sleep=self.sleep,
            report=self.lines.append,
        )


def test_follow_without_a_move_looks_once_and_does_not_sleep() -> None:
    follower = Follower([instance("running")])
    assert follower.run().verdict.outcome is Outcome.DONE
    assert follower.now == 0


def test_follow_reports_a_line_only_when_it_differs() -> None:
    starting = [instance("starting")]
    follower = Follower(starting, starting, starting, [instance("running")])
    assert follower.run().verdict.outcome is Outcome.DONE
    assert follower.lines == ["m: 0 of 1 running; m-1 starting", "m: 1 of 1 running; m-1 running"]
    assert follower.now == 5 * POLL_SECONDS


def test_follow_keeps_the_log_from_before_the_restart() -> None:
    follower = Follower([instance("starting")], [instance("error")], [instance("scheduled", restart_count=1)])
    result = follower.run()
    assert result.log == ["log while error"]
    assert follower.logs_read == ["error"]


def test_engine_that_was_restarted_between_two_looks_is_seen_to_end_again_for_its_log() -> None:
    again = [instance("starting", restart_count=1)]
    follower = Follower([instance("starting")], again, again, [instance("error", restart_count=1)])
    result = follower.run()
    assert (result.verdict.outcome, result.log) == (Outcome.FAILED, ["log while error"])
    assert "stopped and was restarted" in result.verdict.reason
    assert follower.now == 3 * POLL_SECONDS


def test_log_of_an_engine_that_runs_after_its_restart_is_not_waited_for_long() -> None:
    follower = Follower([instance("starting")], [instance("running", restart_count=1)])
    result = follower.run(timeout_seconds=1000)
    assert (result.verdict.outcome, result.log) == (Outcome.FAILED, ["log while running"])
    assert 120 <= follower.now < 130


def test_follow_ends_when_the_time_is_over() -> None:
    follower = Follower([instance("starting")])
    result = follower.run(timeout_seconds=10)
    assert result.verdict.outcome is Outcome.FAILED
    assert failure_message(result) == (
        "After 10 seconds not all replicas run: m: 0 of 1 running; m-1 starting. "
        "Its log (see `log`) ends with: log while starting"
    )
    assert result.log == ["log while starting"]
    assert follower.now == 12


def test_failure_without_any_instance_is_told() -> None:
    result = Follower([]).run(timeout_seconds=1)
    assert failure_message(result) == (
        "After 1 seconds not all replicas run: m: 0 of 1 running. See GPUStack's server log and the model's page."
    )


def test_remedy_for_a_model_without_a_place_is_another() -> None:
    refused = [instance("pending", state_message="Failed to find candidate: x")]
    assert "free or add cards" in failure_message(Result(watched(refused, refused)))


def test_server_that_restarts_is_waited_for() -> None:
    follower = Follower([instance("starting")], None, None, [instance("running")])
    assert follower.run().verdict.outcome is Outcome.DONE
    assert follower.lines == [
        "m: 0 of 1 running; m-1 starting",
        "GPUStack does not answer; waiting for it to come back",
        "m: 1 of 1 running; m-1 running",
    ]


def test_server_that_stays_away_ends_the_wait() -> None:
    follower = Follower([instance("starting")], None)
    with pytest.raises(NoAnswer):
        follower.run(timeout_seconds=3600)
    assert 180 < follower.now < 190
