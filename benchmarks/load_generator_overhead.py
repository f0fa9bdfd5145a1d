# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the load generator adds to what it measures: its times beside the engine's own, in one run.

    make demo
    .venv/bin/python benchmarks/load_generator_overhead.py AIPERF [requests]

AIPERF is the generator's executable (the role puts it under gpustack_load_test_environments). It asks the engine of the
demo model itself, without GPUStack in between, and the engine's own histogram of request times says how long the same
requests took inside. The difference of the two means is the overhead: the generator's, and that of the network. Exits
with 1 when it is above 2 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import requests
import yaml

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / ".ansible/collections"))

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.invocation import Target, configuration
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.prometheus import engine_figures
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.results import figures

SERVER = "http://172.30.0.10:30080"
LIMIT_PERCENT = 2.0
ANSWER_TOKENS = 128


def engine() -> tuple[str, str]:
    """Address and model name of the demo's engine."""
    password = (PROJECT / ".bench/secrets/admin_password").read_text().strip()
    listing = requests.get(f"{SERVER}/v2/model-instances", auth=("admin", password), timeout=30).json()["items"]
    running = [instance for instance in listing if instance["state"] == "running"]
    if not running:
        sys.exit("No model runs on the demo fleet. Run make demo.")
    return f"http://{running[0]['worker_ip']}:{running[0]['port']}", running[0]["model_name"]


def inside(url: str) -> dict[str, float]:
    return engine_figures(requests.get(f"{url}/metrics", timeout=30).text)


def tokenizer(directory: Path) -> str:
    """The bench's own, as it lies with every model of the demo."""
    models = PROJECT / "molecule/bench/models"
    for path in (models / "tokenizer.json", models / "Qwen2.5-14B-Instruct/tokenizer_config.json"):
        (directory / path.name).write_text(path.read_text())
    return str(directory)


def measure(aiperf: str, number: int) -> tuple[float, float]:
    """Mean seconds of a request: as the generator measured it, and inside of the engine."""
    url, model = engine()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        stage = {
            "prompt_tokens": 512,
            "answer_tokens": ANSWER_TOKENS,
            "concurrency": 1,
            "requests": number,
            "seconds": None,
        }
        target = Target(url, model, tokenizer(place), "none", 600.0)
        (place / "stage.yaml").write_text(yaml.safe_dump(configuration(stage, target, str(place / "out"))))
        before = inside(url)
        subprocess.run(
            [aiperf, "profile", "--config", str(place / "stage.yaml")], check=True, capture_output=True, env=os.environ
        )
        after = inside(url)
        summary = json.loads((place / "out/profile_export_aiperf.json").read_text())
        with (place / "out/profile_export.jsonl").open() as records:
            found = figures(summary, records, ANSWER_TOKENS)
    if found["errors"] or after["answered"] - before["answered"] != number:
        sys.exit(f"{found['errors']} requests failed, or others asked as well: the figures would mean nothing.")
    return found["latency_seconds"]["mean"], (after["latency_seconds"] - before["latency_seconds"]) / number


def main() -> None:
    outside_s, inside_s = measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    percent = 100 * (outside_s / inside_s - 1)
    print(f"a request took {outside_s:.3f} s by the generator and {inside_s:.3f} s by the engine: {percent:.2f} % more")
    sys.exit(percent > LIMIT_PERCENT)


if __name__ == "__main__":
    main()
