# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Roll-outs that go wrong: each ends with the service as before, says why, and the next run completes."""

from __future__ import annotations

from pathlib import Path

import pytest
from demo_fleet import WORKERS, Fleet, engine_command_lines, on_host, wait_for
from rollouts import NAME, Declared, assert_all_serve, instances, kill, report, show, worker_containers
from traffic import Traffic

REGISTRY = "172.30.0.2:5000"


@pytest.fixture(name="declared")
def fixture_declared() -> Declared:
    return Declared()


def parameters(*expected: str) -> None:
    """Both engines run with these, and with nothing that was tried meanwhile."""
    watched = ("--max-num-seqs", "--load-format")
    lines = engine_command_lines(NAME)
    assert [{argument for argument in line if argument.startswith(watched)} for line in lines] == [set(expected)] * 2


def test_parameter_that_kills_the_engine_goes_back_and_says_why(declared: Declared) -> None:
    declared.model["backend_parameters"] = ["--load-format=nonsense"]
    with Traffic(NAME) as traffic:
        done = declared.roll()
    show("engine dies when it starts", traffic)
    assert done.returncode != 0
    assert "It runs as before." in done.stdout
    assert "Likely cause: " in done.stdout
    assert "argument --load-format: invalid choice: 'nonsense'" in done.stdout
    assert traffic.failures == []
    parameters()
    assert_all_serve()
    outcomes = sorted(entry["outcome"] for entry in report()["models"].values())
    assert outcomes == ["went back"]
    declared.model["backend_parameters"] = ["--max-num-seqs=64"]
    declared.roll_well()
    parameters("--max-num-seqs=64")
    declared.model["backend_parameters"] = []
    declared.roll_well()


def test_engine_that_dies_only_under_load_goes_back(declared: Declared) -> None:
    declared.variables["gpustack_rollout"] = {"canary_prompt": "Hi", "canary_requests": 1, "settle": 20}
    # What callers ask is longer than the canary's question, and the engine dies of it.
    declared.model["env"] = {"BENCH_LONGEST_PROMPT_TOKENS": "32"}
    with Traffic(NAME, prompt="Tell me a story about a machine room. " * 20) as traffic:
        done = declared.roll()
    show("engine dies under load", traffic)
    assert done.returncode != 0
    assert "It runs as before." in done.stdout
    assert "Likely cause: " in done.stdout
    wait_for(lambda: len(engine_command_lines(NAME)) == 2, "both engines", 120)
    assert_all_serve()
    # Only what the dying engine had was lost; the other replica answered all the time.
    assert traffic.longest_silence_seconds < 10
    assert all(model.get("env", {}).get("BENCH_LONGEST_PROMPT_TOKENS") is None for model in Fleet().items("/v2/models"))
    declared.model["env"] = {}
    declared.roll_well()


def test_image_that_is_not_there_takes_nobody_out(declared: Declared) -> None:
    before = (worker_containers(), instances())
    with Traffic(NAME) as traffic:
        done = declared.roll(gpustack_worker_image=f"{REGISTRY}/gpustack/gpustack:v2.1.1-missing")
    assert done.returncode != 0
    assert "v2.1.1-missing" in done.stdout
    assert traffic.failures == []
    assert (worker_containers(), instances()) == before
    assert_all_serve()


def test_disk_that_is_full_takes_nobody_out(declared: Declared) -> None:
    before = (worker_containers(), instances())
    # Layers of an image are laid down here first.
    on_host("gpu-worker-b", "mount -t tmpfs -o size=1m tmpfs /var/lib/docker/tmp")
    try:
        with Traffic(NAME) as traffic:
            done = declared.roll(gpustack_worker_image=f"{REGISTRY}/gpustack/gpustack:v2.3.0")
    finally:
        on_host("gpu-worker-b", "umount /var/lib/docker/tmp")
    assert done.returncode != 0
    assert "no space left on device" in done.stdout
    assert traffic.failures == []
    assert (worker_containers(), instances()) == before
    assert_all_serve()


def test_worker_that_does_not_come_back_runs_as_before(declared: Declared) -> None:
    before = (worker_containers(), instances())
    with Traffic(NAME) as traffic:
        done = declared.roll(gpustack_worker_arguments=["--no-such-argument"], gpustack_worker_ready_timeout_seconds=30)
    show("worker does not come back", traffic)
    assert done.returncode != 0
    assert "It serves as before, with the container it had." in done.stdout
    assert "unrecognized arguments: --no-such-argument" in done.stdout
    assert traffic.failures == []
    assert (worker_containers(), instances()) == before
    assert_all_serve()
    assert "0 of 2 workers need a turn" in declared.roll_well().stdout


@pytest.mark.parametrize(("moment", "parameter"), [("drained", 50), ("written", 51), ("runs", 52)])
def test_roll_out_that_is_killed_is_completed_by_the_next(
    declared: Declared, moment: str, parameter: int, tmp_path: Path
) -> None:
    declared.model["backend_parameters"] = [f"--max-num-seqs={parameter}"]
    log = tmp_path / "killed.log"
    with Traffic(NAME) as traffic:
        declared.roll_until(f"[{NAME}] {moment}", kill, log)
        declared.roll_well()
    show(f"killed when it was {moment}", traffic)
    assert f"[{NAME}] {moment}" in log.read_text()
    assert traffic.failures == []
    parameters(f"--max-num-seqs={parameter}")
    assert_all_serve()


def test_worker_s_turn_that_is_killed_is_completed_by_the_next(declared: Declared, tmp_path: Path) -> None:
    declared.model["backend_parameters"] = ["--max-num-seqs=52"]
    declared.variables["gpustack_worker_arguments"] = ["--worker-metrics-port=10151"]
    before = worker_containers()
    log = tmp_path / "killed.log"
    with Traffic(NAME) as traffic:
        declared.roll_until("[gpu-worker-b] changed", kill, log)
        declared.roll_well()
    show("killed in a worker's turn", traffic)
    assert "[gpu-worker-b] changed" in log.read_text()
    assert traffic.failures == []
    assert set(before).isdisjoint(worker_containers())
    assert_all_serve()
    assert [on_host(worker, "docker ps -aq --filter name=previous").strip() for worker in WORKERS] == ["", ""]


def test_server_that_is_restarted_meanwhile_is_waited_for(declared: Declared, tmp_path: Path) -> None:
    declared.variables["gpustack_worker_arguments"] = ["--worker-metrics-port=10151"]
    declared.model["backend_parameters"] = ["--max-num-seqs=53"]
    log = tmp_path / "log"
    restart = "docker restart --time 5 gpustack-server"
    ended = declared.roll_until(f"[{NAME}] written", lambda _process: on_host("gpustack-server", restart), log)
    assert ended == 0, log.read_text()[-4000:]
    assert f"[{NAME}] written" in log.read_text()
    parameters("--max-num-seqs=53")
    wait_for(lambda: Fleet().chat(NAME, "Hello?", max_tokens=4).status_code == 200, "an answer", 120)
    assert_all_serve()
