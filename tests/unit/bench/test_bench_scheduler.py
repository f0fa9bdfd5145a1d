# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous batching in the engine: who runs, who waits, how long a step takes."""

from __future__ import annotations

import pytest
from bench_engine.scheduler import Pace, Scheduler, Sequence


def scheduler(blocks=1000, max_num_seqs=256, max_num_batched_tokens=2048, **pace):
    return Scheduler(blocks, 16, max_num_seqs, max_num_batched_tokens, Pace(**pace))


def run(engine, steps=10_000):
    """Seconds until everything is answered."""
    seconds = 0.0
    for _ in range(steps):
        if not engine.busy:
            return seconds
        seconds += engine.step().seconds
    raise AssertionError("the engine never finishes")


def test_one_request_gets_its_tokens_at_the_pace_of_the_engine():
    engine = scheduler(tokens_per_second=10, prefill_tokens_per_second=1000)
    sequence = Sequence(prompt_tokens=500, max_tokens=20)
    engine.add(sequence)

    assert run(engine) == pytest.approx(20 / 10 + 500 / 1000)
    assert sequence.generated == 20


def test_sixteen_more_requests_halve_the_pace_of_each_and_raise_the_total():
    alone, crowd = scheduler(tokens_per_second=10), scheduler(tokens_per_second=10)
    alone.add(Sequence(1, 100))
    for _ in range(17):
        crowd.add(Sequence(1, 100))

    assert run(crowd) == pytest.approx(2 * run(alone), rel=0.01)


def test_more_requests_than_max_num_seqs_wait():
    engine = scheduler(max_num_seqs=2)
    for _ in range(5):
        engine.add(Sequence(10, 50))
    engine.step()

    assert (len(engine.running), len(engine.waiting)) == (2, 3)


def test_a_request_that_finds_no_room_in_the_cache_waits():
    engine = scheduler(blocks=100)
    engine.add(Sequence(1200, 4))
    engine.add(Sequence(1200, 4))
    engine.step()

    assert (len(engine.running), len(engine.waiting)) == (1, 1)
    assert engine.usage == 0.75
    run(engine)
    assert engine.usage == 0


def test_a_long_prompt_is_worked_through_in_chunks():
    engine = scheduler(max_num_batched_tokens=1000)
    engine.add(Sequence(2500, 1))

    assert [engine.step().prefilled for _ in range(3)] == [1000, 1000, 500]
    assert not engine.busy


def test_the_youngest_is_sent_back_when_the_cache_runs_full_and_all_finish():
    engine = scheduler(blocks=20)
    first, second = Sequence(150, 100), Sequence(150, 100)
    engine.add(first)
    engine.add(second)

    run(engine)

    assert engine.preemptions == 1
    assert (first.generated, second.generated) == (100, 100)


def test_an_aborted_request_gives_its_blocks_back():
    engine = scheduler()
    sequence = Sequence(100, 1000)
    engine.add(sequence)
    engine.step()
    engine.abort(sequence)

    assert engine.used_blocks == 0
    assert not engine.busy
