# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.startup_log import startup_figures

NOTHING = {
    "weights_gib": None,
    "kv_cache_gib": None,
    "kv_cache_tokens": None,
    "max_concurrency": None,
    "max_model_len": None,
}
V0_17 = """\
(APIServer pid=1) INFO 01-31 12:00:00 [utils.py:1]   version 0.17.1
(EngineCore_DP0 pid=9) INFO 12:00:05 [core.py:1] Initializing a V1 LLM engine (v0.17.1) with config: max_seq_len=65536
(RayWorkerWrapper pid=11) INFO 01-31 12:01:00 [gpu_model_runner.py:1] Model loading took 6.95 GiB memory and 3.2 seconds
(RayWorkerWrapper pid=12) INFO 01-31 12:01:00 [gpu_model_runner.py:1] Model loading took 6.94 GiB memory and 3.1 seconds
(RayWorkerWrapper pid=11) INFO 01-31 12:01:30 [gpu_worker.py:1] Available KV cache memory: 20.97 GiB
(RayWorkerWrapper pid=12) INFO 01-31 12:01:30 [gpu_worker.py:1] Available KV cache memory: 21.02 GiB
(EngineCore_DP0 pid=9) INFO 01-31 12:01:31 [kv_cache.py:1] GPU KV cache size: 458,160 tokens
(EngineCore_DP0 pid=9) INFO 01-31 12:01:31 [kv_cache.py:1] Maximum concurrency for 65,536 tokens per request: 6.99x
"""
V0_17_FIGURES = {
    "weights_gib": 6.95,
    "kv_cache_gib": 20.97,
    "kv_cache_tokens": 458160,
    "max_concurrency": 6.99,
    "max_model_len": 65536,
}
V0_8 = """\
INFO [gpu_model_runner.py:1] Model loading took 14.9889 GiB and 4.123456 seconds
INFO [kv_cache_utils.py:1] GPU KV cache size: 158,656 tokens
INFO [kv_cache.py:1] Maximum concurrency for 32,768 tokens per request: 4.84x
"""
V0_6 = """\
INFO [llm_engine.py:1] Initializing an LLM engine (v0.6.4) with config: x
INFO [model_runner.py:1] Loading model weights took 14.9888 GB
INFO [worker.py:1] the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.90)
INFO [worker.py:1] model weights take 14.99GiB; PyTorch activation peak memory takes 2.29GiB; the rest of the memory \
reserved for KV Cache is 3.81GiB.
INFO [executor_base.py:1] # cuda blocks: 1952, # CPU blocks: 2048
INFO [executor_base.py:1] Maximum concurrency for 20000 tokens per request: 1.56x
"""


@pytest.mark.parametrize(
    ("log", "figures"),
    [
        pytest.param(V0_17, V0_17_FIGURES, id="0.17, the rank that decides counts"),
        pytest.param(
            V0_8,
            NOTHING
            | {"weights_gib": 14.9889, "kv_cache_tokens": 158656, "max_concurrency": 4.84, "max_model_len": 32768},
            id="0.8",
        ),
        pytest.param(
            V0_6,
            {
                "weights_gib": 14.9888,
                "kv_cache_gib": 3.81,
                "kv_cache_tokens": 31232,
                "max_concurrency": 1.56,
                "max_model_len": 20000,
            },
            id="0.6, tokens from blocks",
        ),
        pytest.param("# GPU blocks: 10, # CPU blocks: 1", NOTHING | {"kv_cache_tokens": 160}, id="blocks of 0.4"),
        pytest.param("Available KV cache memory: -1.05 GiB", NOTHING | {"kv_cache_gib": -1.05}, id="no room at all"),
        pytest.param("Using max model len 32768", NOTHING | {"max_model_len": 32768}, id="the length alone"),
        pytest.param("", NOTHING, id="an empty log"),
        pytest.param("nothing of interest\n" * 3, NOTHING, id="another log"),
    ],
)
def test_figures(log, figures):
    assert startup_figures(log) == figures


def test_of_several_starts_the_last_counts():
    assert startup_figures(V0_17.replace("6.95", "15.2").replace("458,160", "1,776") + V0_17) == V0_17_FIGURES


def test_a_start_that_has_not_come_far_hides_the_one_before():
    assert startup_figures(V0_17 + "INFO Initializing a V1 LLM engine (v0.17.1) with config: x\n") == NOTHING
