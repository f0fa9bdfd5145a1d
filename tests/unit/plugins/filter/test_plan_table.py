# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a reader of the terminal is told about plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.plan_table import FilterModule

FIXTURES = Path(__file__).parents[2] / "fixtures" / "plans"
CASES = ("reference", "mixed", "infeasible")
plan_table = FilterModule().filters()["plan_table"]


def case(name: str) -> dict[str, Any]:
    return yaml.safe_load((FIXTURES / f"{name}.yml").read_text(encoding="utf-8"))


def table(name: str, **options: Any) -> str:
    given = case(name)
    return plan_table(given["plans"], given["fleet"], **options)


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("reference", "1 model planned, it fits; 1 warning"),
        ("mixed", "3 models planned, all fit; 1 warning"),
        ("infeasible", "1 of 2 models fit; llama-3.3-70b-instruct does not"),
    ],
)
def test_first_line_says_the_outcome(name: str, outcome: str) -> None:
    assert table(name).splitlines()[0] == outcome


def test_no_models_are_an_outcome_too() -> None:
    assert plan_table({}) == "No model is declared: nothing to plan"


def test_summary_has_the_figures_of_each_model() -> None:
    assert table("reference").splitlines()[2:4] == [
        "MODEL                 TP×PP  GPUS  CONTEXT  WEIGHTS  KV GiB  KV TOKENS  AT ONCE",
        "qwen2.5-14b-instruct    4×1     4   65,536     6.95   20.95    457,584     6.98",
    ]


def test_model_is_told_with_layout_cards_memory_and_capacity() -> None:
    text = one_line(table("reference"))
    assert "Layout TP 4 × PP 1: 4 GPUs on 2 hosts, vLLM 0.17.1" in text
    assert "gpu-worker-a: GPU 0–1 (2 × Tesla V100-PCIE-32GB)" in text
    assert "▓ weights 6.95, █ KV cache 20.95, ▒ overhead 0.67, ░ free 3.43 GiB" in text
    assert "KV cache 457,584 tokens, enough for 6.98 requests of 65,536 tokens at once" in text
    assert "Variables VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB=64" in text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [72, 80, 100, 160])
def test_every_parameter_is_there_with_reason_rule_and_source(name: str, width: int) -> None:
    text = one_line(table(name, width=width))
    for plan in case(name)["plans"].values():
        for decision in plan["decisions"]:
            value = decision["value"]
            setting = decision["parameter"] if value is True else f"{decision['parameter']}={value}"
            assert f"{setting} {decision['reason']} [{decision['rule']}] {decision['source']}" in text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [72, 80, 100, 160])
def test_lines_keep_to_the_width_and_end_without_blanks(name: str, width: int) -> None:
    lines = table(name, width=width).splitlines()
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


def test_address_too_long_for_its_column_stays_whole() -> None:
    lines = [line.strip() for line in table("reference", width=72).splitlines()]
    assert "https://github.com/vllm-project/vllm/issues/28976" in lines


def test_refusal_comes_with_what_would_make_it_fit() -> None:
    text = one_line(table("infeasible"))
    assert "does not fit ── Problem The weights need 65.7 GiB per GPU at tensor parallel 2" in text
    assert (
        "[memory-weights] → A 4-bit variant (GPTQ, AWQ) on four GPUs: 9.9 GiB per GPU. → Twelve more Tesla T4" in text
    )


def test_warning_names_its_rule() -> None:
    assert "degraded output. [context-beyond-native-range]" in one_line(table("reference"))


def test_alternatives_stand_under_the_planned_layout() -> None:
    lines = table("mixed").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  LAYOUT"))
    assert lines[start + 1 : start + 6] == [
        "  planned     2×1      2   40,960    28.50   41.70      910,992     22.24",
        "  option 2    1×1  2 × 1   40,960    56.90   13.10  2 × 143,088  2 × 3.49",
        "  option 3    4×1      4   40,960    14.30   13.60      594,240     14.50",
        "  option 2    One card each and no traffic between cards.",
        "  option 3    Leaves the A100 free.",
    ]


def test_what_is_wrong_with_hosts_is_told_once() -> None:
    text = one_line(table("mixed"))
    assert text.count("rack2-t4: GPU 3 fell off the bus (Xid 79). [device_lost] → Drain the host") == 1
    assert text.count("rack2-new: No NVIDIA driver is loaded") == 1


def test_overhead_is_the_rest_of_the_share_where_it_is_not_predicted() -> None:
    assert "▓ weights 2.89, █ KV cache 9.40, ▒ overhead 1.21, ░ free 1.50 GiB" in one_line(table("infeasible"))


def test_replicas_are_told_apart_on_the_cards_of_a_host() -> None:
    given = case("mixed")
    plan = given["plans"]["qwen2.5-1.5b-instruct"]
    plan["placements"] = [{"rack2-t4": [0]}, {"rack2-t4": [1]}]
    text = one_line(plan_table(given["plans"], given["fleet"]))
    assert "TP 1 × PP 1: 2 replicas, each 1 GPU on 1 host, vLLM 0.17.1 Cards rack2-t4: GPU 0 | 1 (2 × Tesla T4)" in text


def test_data_parallel_size_is_told_where_there_is_one() -> None:
    given = case("mixed")
    given["plans"]["qwen3-30b-a3b"]["data_parallel_size"] = 2
    text = plan_table(given["plans"], given["fleet"])
    assert "TP 2 × PP 1 × DP 2: 4 GPUs on 1 host" in text


def test_switch_turned_off_is_written_as_it_is_given() -> None:
    given = case("reference")
    decision = {
        "parameter": "--enable-prefix-caching",
        "value": False,
        "rule": "declared",
        "reason": "Declared.",
        "source": "-",
    }
    given["plans"]["qwen2.5-14b-instruct"]["decisions"] = [decision]
    assert "--no-enable-prefix-caching  Declared." in plan_table(given["plans"])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("the cards, all four", "The cards, all four"),
        ("vLLM refuses it", "vLLM refuses it"),
        ("--dtype is set", "--dtype is set"),
    ],
)
def test_sentences_begin_with_a_capital_unless_with_a_name(given: str, shown: str) -> None:
    plans = {"m": {"feasible": False, "problems": [{"rule": "r", "message": given, "remedies": [given]}]}}
    assert f"Problem {shown} [r] → {shown}" in one_line(plan_table(plans))


def test_fleet_is_optional() -> None:
    text = one_line(plan_table(case("reference")["plans"]))
    assert "Cards gpu-worker-a: GPU 0–1 gpu-worker-b: GPU 0–1" in text
    assert "Per GPU weights 6.95 GiB, KV cache 20.95 GiB" in text


def test_ascii_only_writes_ascii() -> None:
    given = case("reference")
    given["plans"]["modèle"] = given["plans"].pop("qwen2.5-14b-instruct")
    text = plan_table(given["plans"], given["fleet"], ascii_only=True)
    assert text.isascii()
    assert "TP 4 x PP 1" in text
    assert "mod?le" in text


def test_what_is_not_predicted_is_said_so() -> None:
    given = case("reference")
    given["plans"]["qwen2.5-14b-instruct"]["predicted"].update(
        kv_cache_gib=None, kv_cache_tokens=None, concurrency=None
    )
    text = one_line(plan_table(given["plans"], given["fleet"]))
    assert "KV cache not predicted Variables" in text
    assert "▓ weights 6.95, ▒ overhead 0.67, ? not predicted 20.95, ░ free 3.43 GiB" in text


def test_cards_planned_twice_are_a_conflict() -> None:
    given = case("reference")
    given["plans"]["second"] = given["plans"]["qwen2.5-14b-instruct"]
    text = plan_table(given["plans"], given["fleet"])
    assert text.startswith("2 models planned; each fits alone, but not all together")
    assert "gpu-worker-b GPU 1 is planned for qwen2.5-14b-instruct and second" in one_line(text)


def test_cards_shared_within_their_memory_are_no_conflict() -> None:
    given = case("reference")
    first = given["plans"]["qwen2.5-14b-instruct"]
    first["predicted"]["budget_gib"] = 15.87
    given["plans"]["second"] = first
    assert "Conflict" not in plan_table(given["plans"], given["fleet"])


def test_texts_cannot_steer_the_terminal() -> None:
    given = case("reference")
    given["plans"]["evil\x1b[2J\r\nname"] = given["plans"].pop("qwen2.5-14b-instruct")
    text = plan_table(given["plans"], given["fleet"])
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert "evil\N{REPLACEMENT CHARACTER}[2J name" in text


@pytest.mark.parametrize(
    ("plans", "said"),
    [
        ([], "plans: found a list, wanted a dictionary {model name: plan}"),
        ({"feasible": True, "problems": []}, "plans: found a single plan"),
        ({"m": "text"}, "plan of model 'm': found a text, wanted a result of vllm_plan"),
        (
            {"m": {"feasible": True, "tensor_parallel_size": "two"}},
            "plan of model 'm': found a dictionary that cannot be read",
        ),
    ],
)
def test_what_is_no_set_of_plans_is_refused_in_one_sentence(plans: Any, said: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        plan_table(plans)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_fleet_is_refused() -> None:
    with pytest.raises(
        AnsibleFilterError, match="facts of host 'a': found nothing, wanted its gpustack_gpu; run gpu_facts on it"
    ):
        plan_table({}, {"a": None})


@pytest.mark.parametrize("width", [40, "100", True, None])
def test_width_that_is_no_width_is_refused(width: Any) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"plan_table: width: found .*, wanted a whole number of columns, 72 or more"
    ):
        plan_table({}, width=width)
