# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load tests of the demo fleet, as an operator runs them.

The engines answer slowly and read fast, so that the generator needs little of the processors that all of this shares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from demo_fleet import MODELS, site

MODEL = "qwen2.5-14b-instruct"
PACE = {"BENCH_TOKENS_PER_SECOND": "8", "BENCH_PREFILL_TOKENS_PER_SECOND": "40000"}
PLANNED = {
    "name": MODEL,
    "gpus": 4,
    "context": 32768,
    "concurrency": 4,
    "source": {"local_path": f"{MODELS}/Qwen2.5-14B-Instruct"},
    "env": PACE,
}
SOAK_SECONDS = 120
PROFILES = {
    "short": [{"prompt_tokens": 256, "answer_tokens": 64, "concurrency": 1, "requests": 2}],
    "long": [
        {"context_share": 0.25, "answer_tokens": 32, "concurrency": 1, "requests": 1},
        {"context_share": 1, "answer_tokens": 32, "concurrency": 1, "requests": 2},
    ],
    "concurrent": [{"prompt_tokens": 1000, "answer_tokens": 64, "concurrency": 6, "requests": 12}],
    # As the one of the role, for minutes instead of an hour.
    "soak": [{"context_share": 0.25, "answer_tokens": 64, "concurrency": 2, "seconds": SOAK_SECONDS}],
}
# What makes the generator a bottleneck: it may have two connections, and shall keep six requests under way.
FEW_CONNECTIONS = {"AIPERF_HTTP_CONNECTION_LIMIT": "2"}


def variables(results: Path, profiles: str, declared: list[dict[str, Any]], **others: Any) -> list[str]:
    """Arguments of ansible-playbook."""
    given = {
        "gpustack_models_declared": declared,
        "gpustack_load_test_models": [MODEL],
        "gpustack_load_test_run": profiles,
        "gpustack_load_test_profiles": PROFILES,
        "gpustack_load_test_directory": str(results),
        **others,
    }
    return ["--extra-vars", json.dumps(given)]


def newest_record(results: Path) -> tuple[dict[str, Any], Path]:
    """The record of the last load test, and the directory it is in."""
    newest = max(results.glob(f"{MODEL}/*/*/result.json"), key=lambda path: path.parent.name)
    return json.loads(newest.read_text()), newest.parent


def load_test(
    results: Path, profiles: str, declared: list[dict[str, Any]], **others: Any
) -> tuple[int, dict[str, Any], Path]:
    """Exit code of the playbook, the record, and the directory it is in."""
    run = site(*variables(results, profiles, declared, **others), playbook="playbooks/load_test.yml")
    assert list(results.glob(f"{MODEL}/*/*/result.json")), run.stdout[-5000:] + run.stderr[-2000:]
    return run.returncode, *newest_record(results)
