# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Predicted against printed: the memory model on what vLLM printed at start-up in public logs.

    python benchmarks/planner_accuracy.py                      # the table, and GPUStack's formula beside it
    python benchmarks/planner_accuracy.py --vramscout PATH     # with the peer of that name, installed somewhere else

Exits with 1 when a target is missed: weights within 0.6 %, KV cache tokens within 1 % in the median and 3 % at most,
the first row, which is the reference, within 0.2 %. A row whose tokens were not printed is measured by its printed GiB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "plugins" / "module_utils"))

from planning.architecture import Architecture, architecture
from planning.hardware import parse_capability
from planning.memory import GIB, Engine, Split, kv_bytes_per_token_and_layer, predict, weights_bytes
from planning.shapes import known_config

FIGURES = PROJECT / "benchmarks" / "data" / "vllm_startup_figures.yml"
WEIGHTS_LIMIT, MEDIAN_LIMIT, MOST_LIMIT, REFERENCE_LIMIT = 0.6, 1.0, 3.0, 0.2


@dataclass(frozen=True)
class Measured:
    """One row: errors in percent, None where an input or a figure is unknown."""

    id: str
    weights_printed: float
    weights_error: float
    tokens_printed: int | None
    tokens_predicted: int | None
    tokens_error: float | None
    gpustack_error: float | None
    peer_weights_error: float | None
    peer_error: float | None


def percent(predicted: float, printed: float) -> float:
    return 100 * (predicted / printed - 1)


def bytes_per_token(shape: Architecture, row: dict[str, Any]) -> int:
    return kv_bytes_per_token_and_layer(shape, row["tensor"], 2) * shape.layers


def predicted_tokens(shape: Architecture, row: dict[str, Any]) -> int | None:
    if "cuda_memory_gib" not in row:
        return None
    capability = parse_capability(row["capability"])
    assert capability is not None
    engine = Engine(
        sampler=row["sampler"],
        max_num_seqs=row["seqs"],
        max_num_batched_tokens=row["batched"],
        custom_all_reduce=bool(row.get("nvlink")),
    )
    return predict(
        shape,
        Split(tensor=row["tensor"]),
        engine,
        cuda_memory_gib=row["cuda_memory_gib"],
        gpu_memory_utilization=row["utilization"],
        multiprocessors=row["multiprocessors"],
        capability=capability,
    ).kv_tokens


def gpustack_tokens(shape: Architecture, row: dict[str, Any]) -> float:
    """What is left per GPU when weights need 1.2 times their size plus 2 GiB, GPUStack's estimate for a model.

    gpustack/utils/hub.py and policies/candidate_selectors/vllm_resource_fit_selector.py, version 2.1.1.
    """
    size = weights_bytes(shape, Split(), 0, 2) / GIB
    needed = (size * 1.2 + 2) / row["tensor"]
    return (row["cuda_memory_gib"] * row["utilization"] - needed) * GIB / bytes_per_token(shape, row)


def vramscout(command: str, config: dict[str, Any], row: dict[str, Any], shape: Architecture) -> tuple[float, float]:
    """Its weights per GPU in GiB, and the tokens that fit into what its parts leave of the budget."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config.json"
        path.write_text(json.dumps(config))
        arguments = ["--engine", "vllm", "--json", "--dtype", "fp16", "--tp", str(row["tensor"])]
        arguments += ["--gpu-memory-utilization", str(row["utilization"]), "--vram-gib", str(row["cuda_memory_gib"])]
        arguments += ["--context", str(row["max_model_len"])]
        output = subprocess.run(
            [command, str(path), *arguments], capture_output=True, text=True, check=False, timeout=60
        )
    answer = json.loads(output.stdout)
    parts = answer["parts_gib"]
    weights = next(gib for name, gib in parts.items() if name.startswith("Model weights"))
    rest = sum(gib for name, gib in parts.items() if name != "KV cache")
    return weights, (answer["memory_budget_gib"] - rest) * GIB / bytes_per_token(shape, row)


def measure(row: dict[str, Any], peer: str | None) -> Measured:
    config = dict(known_config(row["model"]) or {})
    shape = architecture(config, row["model"])
    weights = weights_bytes(shape, Split(tensor=row["tensor"]), 0, 2) / GIB
    printed = row.get("kv_tokens")
    if printed is None and "kv_gib" in row:
        printed = int(row["kv_gib"] * GIB / bytes_per_token(shape, row)) // 16 * 16
    tokens = predicted_tokens(shape, row)
    known = tokens is not None and printed is not None
    peer_weights = peer_tokens = None
    if peer and known:
        peer_weights, peer_tokens = vramscout(peer, config, row, shape)
    return Measured(
        id=row["id"],
        weights_printed=row["weights_gib"],
        weights_error=percent(weights, row["weights_gib"]),
        tokens_printed=printed,
        tokens_predicted=tokens,
        tokens_error=percent(tokens, printed) if known else None,
        gpustack_error=percent(gpustack_tokens(shape, row), printed) if known else None,
        peer_weights_error=percent(peer_weights, row["weights_gib"]) if peer_weights is not None else None,
        peer_error=percent(peer_tokens, printed) if peer_tokens is not None else None,
    )


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f} %"


def table(rows: list[Measured], with_peer: bool) -> str:
    head = ["row", "weights printed (GiB)", "error", "KV tokens printed", "predicted", "error", "GPUStack's formula"]
    head += ["vramscout weights", "vramscout tokens"] if with_peer else []
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row.id, f"{row.weights_printed:g}", shown(row.weights_error)]
        cells += [f"{value:,}" if value is not None else "" for value in (row.tokens_printed, row.tokens_predicted)]
        cells += [shown(row.tokens_error), shown(row.gpustack_error)]
        cells += [shown(row.peer_weights_error), shown(row.peer_error)] if with_peer else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(name: str, errors: list[float]) -> str:
    sizes = sorted(abs(error) for error in errors)
    return f"{name}: {len(sizes)} rows, median {statistics.median(sizes):.2f} %, most {sizes[-1]:.2f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--vramscout", metavar="PATH", help="the vramscout command to measure beside")
    arguments = parser.parse_args()
    rows = [measure(row, arguments.vramscout) for row in yaml.safe_load(FIGURES.read_text())]
    print(table(rows, bool(arguments.vramscout)))
    weights = [row.weights_error for row in rows]
    tokens = [row.tokens_error for row in rows if row.tokens_error is not None]
    print()
    print(summary("weights", weights))
    print(summary("KV cache tokens", tokens))
    print(
        summary(
            "KV cache tokens by GPUStack's formula", [r.gpustack_error for r in rows if r.gpustack_error is not None]
        )
    )
    if arguments.vramscout:
        print(summary("weights by vramscout", [r.peer_weights_error for r in rows if r.peer_weights_error is not None]))
        print(summary("KV cache tokens by vramscout", [r.peer_error for r in rows if r.peer_error is not None]))
    sizes = [abs(error) for error in tokens]
    met = (
        max(map(abs, weights)) <= WEIGHTS_LIMIT
        and statistics.median(sizes) <= MEDIAN_LIMIT
        and max(sizes) <= MOST_LIMIT
        and sizes[0] <= REFERENCE_LIMIT
    )
    print("targets met" if met else "TARGETS MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
