# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_image

LISTING = """\
gpustack/runner:cuda12.9-vllm0.17.1
gpustack/runner:cuda12.8-vllm0.17.1
gpustack/runner:cuda12.10-vllm0.17.1
gpustack/runner:cuda12.9-vllm0.17.10
gpustack/runtime:pause
"""


@pytest.mark.parametrize(
    ("version", "cuda_version", "image"),
    [
        ("0.17.1", "12.9", "gpustack/runner:cuda12.9-vllm0.17.1"),
        ("0.17.1", "13.0", "gpustack/runner:cuda12.10-vllm0.17.1"),
        ("0.17.1", "12.8", "gpustack/runner:cuda12.8-vllm0.17.1"),
        ("0.17.1", "12.4", "gpustack/runner:cuda12.8-vllm0.17.1"),
        ("0.17.1", None, "gpustack/runner:cuda12.10-vllm0.17.1"),
        ("0.17.10", "12.9", "gpustack/runner:cuda12.9-vllm0.17.10"),
        ("0.17", "12.9", None),
    ],
)
def test_gpustacks_choice(version, cuda_version, image):
    assert engine_image.choose(LISTING, version, cuda_version) == image


@pytest.mark.parametrize(
    ("image", "registry", "expected"),
    [
        ("gpustack/runner:x", "", "gpustack/runner:x"),
        ("gpustack/runner:x", "10.0.0.1:5000", "10.0.0.1:5000/gpustack/runner:x"),
        ("docker.io/vllm/vllm-openai:x", "10.0.0.1:5000", "docker.io/vllm/vllm-openai:x"),
        ("localhost/mine:x", "10.0.0.1:5000", "localhost/mine:x"),
        ("mine:x", "10.0.0.1:5000", "10.0.0.1:5000/mine:x"),
    ],
)
def test_default_registry(image, registry, expected):
    assert engine_image.with_registry(image, registry) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('warning\n{"architectures": {"torch": ["sm_70"]}}\n', {"architectures": {"torch": ["sm_70"]}}),
        ('{"architectures": {}}\nlater noise\n[]\n', {"architectures": {}}),
        ("Traceback\nModuleNotFoundError: torch\n", None),
    ],
)
def test_the_answer_among_what_was_printed(output, expected):
    assert engine_image.parse_probe(output) == expected
