# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ``vllm serve``: every flag of the imitated version, unknown ones refused in argparse's words."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import VLLM_VERSION
from .vllm_flags import known_flags

CHOICES = {
    "--dtype": ("auto", "bfloat16", "float", "float16", "float32", "half"),
    "--kv-cache-dtype": ("auto", "bfloat16", "fp8", "fp8_ds_mla", "fp8_e4m3", "fp8_e5m2", "fp8_inc"),
    "--distributed-executor-backend": ("external_launcher", "mp", "ray", "uni"),
    "--load-format": ("auto", "safetensors", "pt", "dummy", "sharded_state", "gguf", "bitsandbytes", "mistral"),
}
DEFAULTS = {
    "host": None,
    "port": 8000,
    "dtype": "auto",
    "kv_cache_dtype": "auto",
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
    "gpu_memory_utilization": 0.9,
    "block_size": 16,
}
UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def size(text: str) -> int:
    """vLLM's human readable integers: 65536, 64k (thousands), 64K (1024); -1 and auto let vLLM choose."""
    if text in ("auto", "-1"):
        return -1
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", text)
    if match is None or (match[2] in "KMGT" and match[2] and "." in match[1]):
        raise argparse.ArgumentTypeError(f"Invalid integer: {text}")
    return int(float(match[1]) * UNITS.get(match[2], 1))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to {json.loads}.") from error


TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "size": size, "json": _json, "str": str}


def _add(parser: argparse.ArgumentParser, flag: Any) -> None:
    names = [*flag.shorts, flag.name]
    if flag.kind == "boolean":
        parser.add_argument(*names, action=argparse.BooleanOptionalAction, default=None)
    elif flag.kind == "switch":
        parser.add_argument(*names, action="store_true", default=None)
    else:
        many = {"list": "+", "optional": "?"}.get(flag.kind)
        parser.add_argument(*names, type=TYPES[flag.type], nargs=many, choices=CHOICES.get(flag.name), default=None)


def build_parser() -> argparse.ArgumentParser:
    """``vllm`` with its one command that matters here."""
    parser = argparse.ArgumentParser(
        prog="vllm", usage="vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ..."
    )
    parser.add_argument("-v", "--version", action="version", version=VLLM_VERSION)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", prog="vllm serve", usage="vllm serve [model_tag] [options]")
    serve.add_argument("model_tag", nargs="?")
    for flag in {flag.name: flag for flag in known_flags(VLLM_VERSION).values()}.values():
        _add(serve, flag)
    return parser


def normalise(arguments: Sequence[str]) -> list[str]:
    """Spellings that vLLM's parser takes beyond argparse: underscores, -O3, and dotted keys of JSON flags."""
    plain: list[str] = []
    dotted: dict[str, dict[str, Any]] = {}
    queue = list(arguments)
    while queue:
        argument = queue.pop(0)
        if re.fullmatch(r"-O\d", argument):
            plain.append(f"--optimization-level={argument[2:]}")
            continue
        if not argument.startswith("--"):
            plain.append(argument)
            continue
        name, equals, value = argument.partition("=")
        head, dot, path = name.partition(".")
        name = head.replace("_", "-")
        if not dot:
            plain.append(name + equals + value)
            continue
        leaf = dotted.setdefault(name, {})
        *parents, last = path.split(".")
        for key in parents:
            leaf = leaf.setdefault(key, {})
        text = value if equals else queue.pop(0)
        try:
            leaf[last] = json.loads(text)
        except json.JSONDecodeError:
            leaf[last] = text
    return plain + [f"{name}={json.dumps(value)}" for name, value in dotted.items()]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of one ``vllm serve``, defaults filled in; ``given`` holds what the user wrote. Exits with code 2
    like argparse."""
    options = build_parser().parse_args(normalise(arguments))
    if options.model_tag is None and options.model is None:
        options.model_tag = "Qwen/Qwen3-0.6B"
    options.model = options.model_tag or options.model
    known = {name: value for name, value in vars(options).items() if name not in ("command", "model_tag")}
    options.given = {name: value for name, value in known.items() if value is not None}
    for name, value in DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.config is not None:
        sys.exit("This stand-in for vLLM does not read --config files; give the flags themselves.")
    return options
