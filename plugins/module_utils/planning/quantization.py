# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quantisation formats of weights: which card can run one, and how many bytes it leaves.

vLLM checks a method's minimum capability at start, but for compressed-tensors and Quark the scheme inside the
checkpoint decides, and its kernel fails later. The rows therefore name schemes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import PlanError
from .hardware import Capability


@dataclass(frozen=True)
class Scheme:
    """A quantisation scheme: its lowest capability and the source of that number."""

    name: str
    since: Capability
    source: str


_QUANTIZATION = "vllm/model_executor/layers/quantization"

# Minimum capabilities of vLLM 0.17.1, from get_min_capability() of each method or scheme.
SCHEMES: tuple[Scheme, ...] = (
    Scheme("gptq", (6, 0), f"{_QUANTIZATION}/gptq.py"),
    Scheme("gguf", (6, 0), f"{_QUANTIZATION}/gguf.py"),
    Scheme("inc", (6, 0), f"{_QUANTIZATION}/inc.py"),
    Scheme("auto-round", (6, 0), f"{_QUANTIZATION}/inc.py"),
    Scheme("bitsandbytes", (7, 0), f"{_QUANTIZATION}/bitsandbytes.py"),
    Scheme("moe_wna16", (7, 0), f"{_QUANTIZATION}/moe_wna16.py"),
    Scheme("awq", (7, 5), "vllm-project/vllm#1488"),
    Scheme("awq_marlin", (7, 5), f"{_QUANTIZATION}/awq_marlin.py"),
    Scheme("gptq_marlin", (7, 5), f"{_QUANTIZATION}/utils/marlin_utils.py"),
    Scheme("fp8", (7, 5), f"{_QUANTIZATION}/fp8.py"),
    Scheme("torchao", (7, 5), f"{_QUANTIZATION}/torchao.py"),
    Scheme("modelopt_fp4", (7, 5), f"{_QUANTIZATION}/modelopt.py"),
    Scheme("mxfp4", (8, 0), f"{_QUANTIZATION}/mxfp4.py"),
    Scheme("fbgemm_fp8", (8, 0), f"{_QUANTIZATION}/fbgemm_fp8.py"),
    Scheme("experts_int8", (8, 0), f"{_QUANTIZATION}/experts_int8.py"),
    Scheme("modelopt", (8, 9), f"{_QUANTIZATION}/modelopt.py"),
    Scheme("ptpc_fp8", (8, 9), f"{_QUANTIZATION}/ptpc_fp8.py"),
    Scheme("modelopt_mxfp8", (10, 0), f"{_QUANTIZATION}/modelopt.py"),
    Scheme("compressed-tensors wNa16", (7, 5), f"{_QUANTIZATION}/compressed_tensors/schemes, llm-compressor#1258"),
    Scheme("compressed-tensors w8a8-int8", (7, 5), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors w8a8-fp8", (8, 9), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors w8a16-fp8", (7, 5), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors nvfp4", (7, 5), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors mxfp4", (8, 0), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors w4a8-fp8", (9, 0), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("compressed-tensors sparse-24", (9, 0), f"{_QUANTIZATION}/compressed_tensors/schemes"),
    Scheme("quark w8a8-int8", (7, 5), f"{_QUANTIZATION}/quark/schemes"),
    Scheme("quark w8a8-fp8", (8, 9), f"{_QUANTIZATION}/quark/schemes"),
    Scheme("quark ocp-mx", (7, 0), f"{_QUANTIZATION}/quark/schemes"),
)
_BY_NAME = {scheme.name: scheme for scheme in SCHEMES}


@dataclass(frozen=True)
class Quantization:
    """How a checkpoint's linear layers are stored; embeddings and head stay in the model's dtype.

    ``bits`` per weight; ``group_size`` weights share a scale (0: one scale per output channel); ``zero_points``
    tells whether a group also stores one; ``block`` is the block shape of block-wise FP8, ``(0, 0)`` for none.
    """

    method: str
    scheme: str
    bits: int
    group_size: int = 0
    zero_points: bool = False
    block: tuple[int, int] = (0, 0)

    @property
    def minimum(self) -> Scheme | None:
        """The row that says which cards run it; None for a scheme that no row knows."""
        return _BY_NAME.get(self.scheme)


def _compressed_tensors(config: Mapping[str, Any]) -> Quantization:
    groups = config.get("config_groups") or {}
    group: Mapping[str, Any] = next(iter(groups.values()), {}) if isinstance(groups, Mapping) else {}
    weights = group.get("weights") or {}
    activations = group.get("input_activations")
    bits = int(weights.get("num_bits") or 8)
    kind = str(weights.get("type") or "int")
    layout = str(config.get("format") or group.get("format") or "")
    if "nvfp4" in layout:
        scheme = "nvfp4"
    elif "mxfp4" in layout:
        scheme = "mxfp4"
    elif "24" in layout:
        scheme = "sparse-24"
    elif layout == "pack-quantized" or (kind == "int" and not activations):
        scheme = "wNa16"
    elif kind == "float":
        scheme = "w4a8-fp8" if bits == 4 else "w8a8-fp8" if activations else "w8a16-fp8"
    else:
        scheme = "w8a8-int8"
    if scheme == "wNa16" and not weights:
        bits = 4
    return Quantization(
        method="compressed-tensors",
        scheme=f"compressed-tensors {scheme}",
        bits=bits,
        group_size=max(0, int(weights.get("group_size") or 0)),
        zero_points=scheme == "wNa16" and not weights.get("symmetric", True),
    )


def _bits(config: Mapping[str, Any], method: str) -> int:
    if method == "bitsandbytes":
        return 8 if config.get("load_in_8bit") else 4
    if "fp8" in method or method in ("experts_int8", "modelopt", "torchao"):
        return 8
    return int(config.get("bits") or config.get("w_bit") or 4)


def quantization(config: Mapping[str, Any]) -> Quantization:
    """The ``quantization_config`` of a ``config.json`` (or only ``{"quant_method": …}``) as the planner reads it."""
    method = str(config.get("quant_method") or "").lower().replace("-", "_")
    if method in ("compressed_tensors", "compressed"):
        return _compressed_tensors(config)
    if method == "auto_round":
        method = "auto-round"
    if method == "quark":
        return Quantization("quark", "quark w8a8-fp8", 8)
    if method.startswith("modelopt"):
        algorithm = str(config.get("quant_algo") or (config.get("quantization") or {}).get("quant_algo") or "").upper()
        if "FP4" in algorithm or method == "modelopt_fp4":
            return Quantization("modelopt_fp4", "modelopt_fp4", 4, group_size=16)
    block = _block(config.get("weight_block_size"))
    return Quantization(
        method=method,
        scheme=method,
        bits=_bits(config, method),
        group_size=max(0, int(config.get("group_size") or config.get("q_group_size") or 0)),
        zero_points=method in ("awq", "awq_marlin", "gptq"),
        block=block,
    )


def _block(size: Any) -> tuple[int, int]:
    """Rows and columns that share a scale; zeros where nothing is said. Raises PlanError."""
    if not size:
        return 0, 0
    if not (isinstance(size, (list, tuple)) and len(size) == 2 and all(isinstance(n, int) and n > 0 for n in size)):
        raise PlanError(
            f"weight_block_size of the quantization is {size!r}, wanted two numbers of 1 or more: correct it"
        )
    return size[0], size[1]
