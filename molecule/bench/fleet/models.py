# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The models on the hosts' disks: real shapes, empty weights.

``models/NAME/`` holds a model's small files. All have the same tokenizer, which sees nothing of a word but its length,
and so counts as the engine's stand-in does; `auto_map` keeps transformers from taking the tokenizer of the model's kind
instead. The weights are made on the host as sparse files: every shard has the true safetensors header (tensor names,
shapes, offsets) and the true size, and takes next to nothing of the disk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .docker import docker
from .profile import Profile
from .progress import Progress

MODELS = Path(__file__).resolve().parent.parent / "models"
DIRECTORY = "/var/lib/models"
SHARD_BYTES = 4_000_000_000
BYTES_PER_WEIGHT = 2

#: Runs on the host; reads {directory, files: {name: text}, shards: {name: [header, data bytes]}}.
WRITER = """
import json, os, shutil, struct, sys
plan = json.load(sys.stdin)
unfinished = plan["directory"] + ".new"
shutil.rmtree(unfinished, ignore_errors=True)
os.makedirs(unfinished)
for name, text in plan["files"].items():
    with open(os.path.join(unfinished, name), "w") as target:
        target.write(text)
for name, (header, size) in plan["shards"].items():
    encoded = header.encode()
    with open(os.path.join(unfinished, name), "wb") as target:
        target.write(struct.pack("<Q", len(encoded)) + encoded)
        target.truncate(8 + len(encoded) + size)
os.rename(unfinished, plan["directory"])
"""


def ensure_models(profile: Profile, progress: Progress) -> None:
    """Puts every model of the profile on its hosts, where it is not there already."""
    for host in profile.hosts:
        present = docker("exec", host.name, "sh", "-c", f"ls {DIRECTORY} 2>/dev/null || true").split()
        for name in (name for name in host.models if name not in present):
            progress.say(f"putting {name} on {host.name} (sparse weights)")
            docker("exec", "--interactive", host.name, "python3", "-c", WRITER, text=json.dumps(plan(name)))


def plan(name: str) -> dict[str, Any]:
    """Everything the host needs to make one model."""
    paths = [*MODELS.glob("*.json"), *sorted((MODELS / name).glob("*.json"))]
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    shards = shard(list(qwen2_tensors(json.loads(files["config.json"]))))
    named = {f"model-{number:05}-of-{len(shards):05}.safetensors": tensors for number, tensors in enumerate(shards, 1)}
    total = sum(size(shape) for tensors in shards for _, shape in tensors)
    weight_map = {tensor: file for file, tensors in named.items() for tensor, _ in tensors}
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    files["model.safetensors.index.json"] = json.dumps(index, indent=2) + "\n"
    headers = {file: [header(tensors), sum(size(shape) for _, shape in tensors)] for file, tensors in named.items()}
    return {"directory": f"{DIRECTORY}/{name}", "files": files, "shards": headers}


def size(shape: list[int]) -> int:
    """Bytes of a tensor."""
    return math.prod(shape) * BYTES_PER_WEIGHT


def header(tensors: list[tuple[str, list[int]]]) -> str:
    """The JSON header of one safetensors file."""
    document: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in tensors:
        end = offset + size(shape)
        document[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(document, separators=(",", ":"))
    return text + " " * (-len(text) % 8)


def shard(tensors: list[tuple[str, list[int]]]) -> list[list[tuple[str, list[int]]]]:
    """Tensors in files of at most SHARD_BYTES."""
    shards: list[list[tuple[str, list[int]]]] = [[]]
    used = 0
    for name, shape in tensors:
        if used + size(shape) > SHARD_BYTES:
            shards.append([])
            used = 0
        shards[-1].append((name, shape))
        used += size(shape)
    return shards


def qwen2_tensors(config: dict[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """Name and shape of every tensor of a Qwen2 checkpoint, in its order."""
    hidden, intermediate, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    keys = config["num_key_value_heads"] * hidden // config["num_attention_heads"]
    yield "model.embed_tokens.weight", [vocabulary, hidden]
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        yield f"{layer}.input_layernorm.weight", [hidden]
        yield f"{layer}.mlp.down_proj.weight", [hidden, intermediate]
        yield f"{layer}.mlp.gate_proj.weight", [intermediate, hidden]
        yield f"{layer}.mlp.up_proj.weight", [intermediate, hidden]
        yield f"{layer}.post_attention_layernorm.weight", [hidden]
        for projection, width in (("q", hidden), ("k", keys), ("v", keys)):
            yield f"{layer}.self_attn.{projection}_proj.bias", [width]
            yield f"{layer}.self_attn.{projection}_proj.weight", [width, hidden]
        yield f"{layer}.self_attn.o_proj.weight", [hidden, hidden]
    yield "model.norm.weight", [hidden]
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", [vocabulary, hidden]
