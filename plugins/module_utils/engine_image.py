# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which image GPUStack runs an engine from, and what is asked in it. Text in, data out.

GPUStack takes the newest CUDA that the driver supports among the runner images of a vLLM version, and the oldest where
the driver supports none (gpustack 2.1.1, ``worker/backends/base.py``). It looks at no compute capability.
"""

from __future__ import annotations

import json
import re
from typing import Any

# The catalogue of the worker's own release, by the Python that runs it. The command `gpustack list-images` prints the
# same and imports all of GPUStack for it.
LIST_IMAGES = (
    "sh",
    "-c",
    """exec "$(sed -n '1s/^#!//p' "$(command -v gpustack)")" -m gpustack_runner list-images "$@" """,
    "list-images",
    *("--backend", "cuda", "--service", "vllm", "--deprecated", "--service-version"),
)

# Told without a card: torch says nothing about itself where it sees none, so its flags are read as it does. vLLM's own
# kernels may be built for fewer cards than torch; where its library holds no
# device code in a known form, nothing is said of it.
PROBE = """
import importlib.util, json, os
import torch

libraries = {}
vllm = importlib.util.find_spec("vllm")
for place in (vllm.submodule_search_locations or []) if vllm else []:
    for name in sorted(os.listdir(place)):
        if name.startswith("_C.") and name.endswith(".so"):
            found = architectures_in(os.path.join(place, name))
            libraries.update({"vllm": found} if found else {})
libraries["torch"] = torch.cuda.get_arch_list() or torch._C._cuda_getArchFlags().split()
print(json.dumps({"architectures": libraries, "torch": torch.__version__, "cuda": torch.version.cuda}))
"""


def choose(listing: str, version: str, cuda_version: str | None) -> str | None:
    """The image for a vLLM version among those that LIST_IMAGES prints; None where there is none."""
    pattern = re.compile(rf"^\S+:cuda(\d+\.\d+)-vllm{re.escape(version)}$")
    images = {}
    for line in listing.splitlines():
        match = pattern.match(line.strip())
        if match:
            images[_version(match.group(1))] = line.strip()
    if not images:
        return None
    supported = [cuda for cuda in images if cuda_version is None or cuda <= _version(cuda_version)]
    return images[max(supported) if supported else min(images)]


def with_registry(image: str, registry: str) -> str:
    """The image as GPUStack names it for a default registry: one that names its own keeps it."""
    first, slash, _rest = image.partition("/")
    names_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return image if names_registry or not registry else f"{registry}/{image}"


def parse_probe(output: str) -> dict[str, Any] | None:
    """What PROBE printed, behind the warnings of whatever it imported; None where it printed nothing of the kind."""
    for line in reversed(output.splitlines()):
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(answer, dict) and "architectures" in answer:
            return answer
    return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
