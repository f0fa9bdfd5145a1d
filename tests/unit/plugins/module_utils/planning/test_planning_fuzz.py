# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is handed in, the planner answers with a plan or with one sentence."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.architecture import architecture
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.errors import PlanError
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.intent import KEYS
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.parameters import parse_parameters
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.vllm_flags import known_flags

scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**6), st.floats(allow_nan=True), st.text(max_size=12))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
every = settings(max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

MODEL = {"name": "m", "source": {"huggingface_repo_id": "Qwen/Qwen2.5-7B-Instruct"}}
DEVICE = {"index": 0, "name": "Tesla T4", "compute_capability": "7.5", "memory_total_mib": 15360, "usable": True}
FLEET = {"a": {"driver_version": "570.1", "cuda_version": "12.8", "devices": [DEVICE], "links": {}, "problems": []}}
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 32000,
    "max_position_embeddings": 4096,
}  # fmt: skip
CONFIG_KEYS = [
    *CONFIG, "head_dim", "num_key_value_heads", "intermediate_size", "rope_scaling", "sliding_window", "layer_types",
    "num_experts", "num_experts_per_tok", "kv_lora_rank", "quantization_config", "vision_config", "text_config",
    "architectures", "torch_dtype", "tie_word_embeddings",
]  # fmt: skip


def answered(model: Any, fleet: Any) -> bool:
    try:
        return isinstance(plan(model, fleet), dict)
    except PlanError as error:
        return "\n" not in str(error)


@every
@given(st.dictionaries(st.sampled_from(KEYS), anything, max_size=4))
def test_any_model(keys: dict[str, Any]) -> None:
    assert answered({**MODEL, **keys}, FLEET)


@every
@given(st.one_of(anything, st.dictionaries(st.sampled_from(CONFIG_KEYS), anything, max_size=3)))
def test_any_config(changes: Any) -> None:
    config = {**CONFIG, **changes} if isinstance(changes, dict) else changes
    assert answered({"name": "m", "config": config}, FLEET)


@every
@given(st.one_of(anything, st.dictionaries(st.sampled_from([*FLEET["a"]]), anything, max_size=3)))
def test_any_host(changes: Any) -> None:
    assert answered(MODEL, {"a": {**FLEET["a"], **changes} if isinstance(changes, dict) else changes})


@every
@given(st.dictionaries(st.sampled_from([*DEVICE, "problems", "mig", "memory_used_mib"]), anything, max_size=3))
def test_any_device(changes: dict[str, Any]) -> None:
    assert answered(MODEL, {"a": {**FLEET["a"], "devices": [{**DEVICE, **changes}]}})


@every
@given(st.dictionaries(st.text("0123-", max_size=4), anything, max_size=3))
def test_any_links(links: dict[str, Any]) -> None:
    assert answered(MODEL, {"a": {**FLEET["a"], "links": links}})


words = st.one_of(st.sampled_from(sorted(known_flags("0.17.1"))), st.text("-=.,{}[]'\"_ ab01kK", max_size=8))


@every
@given(st.lists(st.lists(words, max_size=3).map("=".join) | st.lists(words, max_size=3).map(" ".join), max_size=3))
def test_any_parameters(items: list[str]) -> None:
    try:
        parsed = parse_parameters(items, "0.17.1")
    except PlanError as error:
        assert str(error)  # noqa: PT017
        return
    values = [value for parameter in parsed.values() for value in parameter.values]
    if any(" -" in value or value != value.strip() for value in values):
        return  # looks like two flags in one item, which is refused, or loses its blanks to GPUStack
    again = parse_parameters([item for parameter in parsed.values() for item in parameter.items], "0.17.1")
    assert {name: parameter.value for name, parameter in again.items()} == {
        name: parameter.value for name, parameter in parsed.items()
    }
    assert answered({**MODEL, "backend_parameters": items}, FLEET)


def test_the_unchanged_input_plans() -> None:
    assert plan({"name": "m", "config": CONFIG}, FLEET)["feasible"] is True
    assert architecture(CONFIG).layers == 4
