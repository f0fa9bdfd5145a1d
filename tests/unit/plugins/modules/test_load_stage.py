# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import load_stage

KEY = "gpustack_0011223344556677_00112233445566778899aabbccddeeff"
STAGE = {"name": "smoke-1", "prompt_tokens": 512, "answer_tokens": 64, "concurrency": 1, "requests": 1, "seconds": None}
RECORD = {
    "metadata": {"request_start_ns": 100_000_000_000, "request_end_ns": 102_000_000_000},
    "metrics": {"output_sequence_length": {"value": 64}},
}


@pytest.fixture(name="generate")
def fixture_generate(tmp_path: Path) -> Any:
    """Runs the module with a generator that is a script; what it was called with is kept in ``seen``."""

    def generate(script: str, **options: Any) -> dict[str, Any]:
        seen = f'echo "$*" >{tmp_path}/arguments; env >{tmp_path}/environment; cp "$3" {tmp_path}/configuration'
        mode = f'stat -c %a "$3" >{tmp_path}/mode'
        generator = fake_command(tmp_path / "bin", "aiperf", f"{seen}; {mode}; mkdir -p {tmp_path}/out; {script}")
        (tmp_path / "key").write_text(f"{KEY}\n")
        arguments = {
            "generator": str(generator),
            "server_url": "https://gpustack.example.com",
            "api_key_path": str(tmp_path / "key"),
            "model": "qwen",
            "tokenizer": "/models/qwen",
            "stage": STAGE,
            "directory": str(tmp_path / "out"),
        }
        return run_module(load_stage.main, {**arguments, **options})

    return generate


def test_a_stage_returns_its_figures(generate: Any, tmp_path: Path) -> None:
    answer = generate(f"echo '{json.dumps(RECORD)}' >{tmp_path}/out/profile_export.jsonl")
    assert answer["changed"] is False
    assert (answer["figures"]["requests"], answer["figures"]["errors"]) == (1, 0)
    assert (answer["generator"]["rc"], answer["generator"]["timed_out"]) == (0, False)
    assert (tmp_path / "arguments").read_text().startswith("profile --config ")


def test_the_key_is_in_a_private_file_that_goes_and_nowhere_else(generate: Any, tmp_path: Path) -> None:
    answer = generate(f"echo '{json.dumps(RECORD)}' >{tmp_path}/out/profile_export.jsonl")
    assert KEY in (tmp_path / "configuration").read_text()
    assert (tmp_path / "mode").read_text() == "600\n"
    assert KEY not in (tmp_path / "arguments").read_text() + (tmp_path / "environment").read_text() + str(answer)
    assert not Path((tmp_path / "arguments").read_text().split()[-1]).exists()


def test_a_generator_that_sends_nothing_is_an_error_with_its_last_words(generate: Any) -> None:
    answer = generate("echo 'Failed to load tokenizer'; exit 2")
    assert answer["failed"] is True
    assert answer["msg"] == "AIPerf sent nothing in stage smoke-1 (exit code 2): Failed to load tokenizer"


def test_what_an_earlier_run_left_is_not_taken_for_this_one(generate: Any, tmp_path: Path) -> None:
    generate(f"echo '{json.dumps(RECORD)}' >{tmp_path}/out/profile_export.jsonl")
    assert generate("exit 2")["failed"] is True


def test_a_generator_that_hangs_is_broken_off_with_all_its_processes(generate: Any, tmp_path: Path) -> None:
    script = f"echo '{json.dumps(RECORD)}' >{tmp_path}/out/profile_export.jsonl; sleep 60 & sleep 60"
    answer = generate(script, timeout=1)
    assert answer["generator"]["timed_out"] is True
    assert answer["figures"]["requests"] == 1
    assert answer["generator"]["seconds"] < 30


def test_the_generator_gets_the_environment_it_is_given(generate: Any, tmp_path: Path) -> None:
    generate("exit 2", environment={"AIPERF_HTTP_CONNECTION_LIMIT": 4})
    assert "AIPERF_HTTP_CONNECTION_LIMIT=4" in (tmp_path / "environment").read_text()
