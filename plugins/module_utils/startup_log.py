# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine says about its memory when it starts."""

from __future__ import annotations

import re
from typing import Any

# What follows the last of these belongs to the start that counts: a log may hold several.
_START = re.compile(r"Initializing an? (?:V\d )?LLM engine")

# The figure, how the values of several ranks combine, and vLLM's words for it, newest first. What old versions call GB
# are GiB too. Weights count where they are the most and the cache where it is the least, because that rank decides.
_PATTERNS = (
    ("weights_gib", max, r"Model loading took ([\d.]+) Gi?B"),  # 0.8 and later, " memory" follows in some
    ("weights_gib", max, r"Loading model weights took ([\d.]+) Gi?B"),  # 0.7 and before
    ("kv_cache_gib", min, r"Available KV cache memory: (-?[\d.]+) GiB"),
    ("kv_cache_gib", min, r"reserved for KV Cache is (-?[\d.]+) ?GiB"),  # the V0 engine
    ("kv_cache_tokens", min, r"GPU KV cache size: ([\d,]+) tokens"),
    ("max_concurrency", min, r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x"),
    ("max_model_len", max, r"Maximum concurrency for ([\d,]+) tokens per request"),
    ("max_model_len", max, r"Using max model len (\d+)"),
    ("max_model_len", max, r"max_seq_len=(\d+)"),
)
_WHOLE_NUMBERS = frozenset({"kv_cache_tokens", "max_model_len"})
# The V0 engine counts blocks, of 16 tokens unless --block-size says otherwise.
_BLOCKS = re.compile(r"# (?:GPU|cuda) blocks: (\d+)")
_BLOCK_TOKENS = 16


def startup_figures(log_text: str) -> dict[str, Any]:
    """``{"weights_gib", "kv_cache_gib", "kv_cache_tokens", "max_concurrency", "max_model_len"}`` as vLLM printed them.

    A figure that the log does not hold is None. Of several ranks the one that decides counts, of several starts the
    last.
    """
    starts = [match.start() for match in _START.finditer(log_text)]
    text = log_text[starts[-1] if starts else 0 :]
    figures: dict[str, Any] = dict.fromkeys(name for name, _combine, _pattern in _PATTERNS)
    for name, combine, pattern in _PATTERNS:
        numbers = [float(number.replace(",", "")) for number in re.findall(pattern, text)]
        if numbers and figures[name] is None:
            figures[name] = int(combine(numbers)) if name in _WHOLE_NUMBERS else combine(numbers)
    blocks = [int(number) for number in _BLOCKS.findall(text)]
    if figures["kv_cache_tokens"] is None and blocks:
        figures["kv_cache_tokens"] = min(blocks) * _BLOCK_TOKENS
    return figures
