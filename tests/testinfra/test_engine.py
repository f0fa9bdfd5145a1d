# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line with which the one engine of the reference model runs, over the whole fleet."""

from __future__ import annotations

from demo_fleet import engine_command_lines

MODEL = "qwen2.5-14b-instruct"

# The "after" column of the field report, and what the rules add for a stated reason.
PLANNED = [
    "--distributed-executor-backend=ray",
    "--tensor-parallel-size=4",
    "--pipeline-parallel-size=1",
    "--max-model-len=65536",
    "--generation-config=vllm",
    "--enable-auto-tool-choice",
    "--tool-call-parser=hermes",
    "--dtype=float16",
]
# What GPUStack itself puts around them.
OF_GPUSTACK = {"--distributed-executor-backend", "--host", "--port", "--served-model-name"}


def test_one_engine_serves_with_exactly_the_planned_parameters() -> None:
    lines = engine_command_lines(MODEL)
    assert len(lines) == 1
    command = lines[0]
    assert [argument for argument in command if argument in PLANNED] == sorted(PLANNED, key=command.index), (
        "every planned parameter once"
    )
    others = [argument for argument in command if argument.startswith("--") and argument not in PLANNED]
    assert {argument.partition("=")[0] for argument in others} <= OF_GPUSTACK
