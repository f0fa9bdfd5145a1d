# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the page of plans shows, and that nothing on it comes from elsewhere or runs."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.plan_html import FilterModule
from ansible_collections.gpuops.gpustack.plugins.filter.plan_table import plan_table
from ansible_collections.gpuops.gpustack.plugins.module_utils.plan_report import links, read
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.plan import plan as vllm_plan

FIXTURES = Path(__file__).parents[2] / "fixtures" / "plans"
CASES = ("reference", "mixed", "infeasible")
VOID = {"meta", "br", "line", "rect", "path", "circle"}
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}&lt;"
plan_html = FilterModule().filters()["plan_html"]


class Page(HTMLParser):
    """The elements and the text of a page; refuses elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def count(self, tag: str, name: str = "") -> int:
        return sum(1 for element, attributes in self.elements if element == tag and name in _classes(attributes))

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] or "" for _tag, attributes in self.elements if attribute in attributes]


def _classes(attributes: dict[str, str | None]) -> list[str]:
    return ["", *(attributes.get("class") or "").split()]


def case(name: str) -> dict[str, Any]:
    return yaml.safe_load((FIXTURES / f"{name}.yml").read_text(encoding="utf-8"))


def render(given: dict[str, Any], **options: Any) -> str:
    return plan_html(given["plans"], given["fleet"], **options)


def page(name: str, **options: Any) -> Page:
    return Page(render(case(name), **options))


@pytest.mark.parametrize("name", CASES)
def test_same_input_gives_the_same_page(name: str) -> None:
    assert render(case(name), generated_at="today") == render(case(name), generated_at="today")


@pytest.mark.parametrize("name", CASES)
def test_page_needs_nothing_else_and_runs_nothing(name: str) -> None:
    shown = page(name)
    assert {"script", "link", "img", "iframe", "object", "base"}.isdisjoint(tag for tag, _attributes in shown.elements)
    names = {attribute for _tag, attributes in shown.elements for attribute in attributes}
    assert [attribute for attribute in names if attribute.startswith("on") or attribute in {"src", "srcset"}] == []
    assert re.findall(r"url\(|@import", render(case(name))) == []
    assert "default-src 'none'; style-src 'unsafe-inline'" in shown.values("content")


@pytest.mark.parametrize("name", CASES)
def test_ids_are_unique_and_every_reference_inside_the_page_has_its_target(name: str) -> None:
    shown = page(name)
    assert max(Counter(shown.values("id")).values()) == 1
    assert {href[1:] for href in shown.values("href") if href.startswith("#")} <= set(shown.values("id"))


@pytest.mark.parametrize("name", CASES)
def test_every_decision_is_there_with_reason_rule_and_source(name: str) -> None:
    text = page(name).text
    for plan in case(name)["plans"].values():
        for decision in plan["decisions"]:
            value = decision["value"]
            setting = decision["parameter"] if value is True else f"{decision['parameter']}={value}"
            assert f"{setting} {decision['reason']} {decision['rule']} {decision['source']}" in text


def test_title_and_time_are_as_given() -> None:
    shown = page("reference", title="Rack <3>", generated_at="Monday & later")
    assert shown.text.startswith("Rack <3> Rack <3> Monday & later ✓ 1 model planned, it fits; 1 warning.")
    assert page("reference").count("p", "when") == 0


def test_model_over_two_hosts_is_drawn_on_its_cards_and_over_the_network() -> None:
    shown = page("reference")
    assert shown.count("article", "host") == 2
    assert shown.count("rect", "tank") == 4
    assert shown.count("circle", "tone-0") == 4
    assert "Network A runs on several hosts: traffic between their GPUs crosses the network" in shown.text


def test_memory_bar_holds_the_whole_card() -> None:
    shown = page("reference")
    bars = [
        element for element in shown.elements if element[0] == "span" and "flex-grow" in (element[1].get("style") or "")
    ]
    grown = [(attributes["class"], attributes["style"]) for _tag, attributes in bars]
    assert grown == 2 * [
        ("fill weights", "flex-grow:6.95"),
        ("fill kv-cache", "flex-grow:20.95"),
        ("fill overhead", "flex-grow:0.67"),
        ("fill free", "flex-grow:3.43"),
    ]
    assert shown.text.count("28.57 of 32.00 GiB") == 2
    assert [style for style in shown.values("style") if style.startswith("left")] == 2 * ["left:89.28%"]


def test_layouts_stand_side_by_side_with_the_planned_one_first() -> None:
    shown = page("mixed")
    assert (shown.count("article", "choice"), shown.count("article", "chosen")) == (3, 1)
    assert shown.text.index("Planned TP 2 × PP 1") < shown.text.index(
        "Option 2 TP 1 × PP 1 2 replicas, each 1 GPU on 1 host"
    )


def test_nvlink_is_drawn_where_the_facts_have_it_and_pcie_everywhere() -> None:
    shown = page("mixed")
    assert shown.count("path", "nvlink") == 7
    assert "NVLink between all pairs, peer-to-peer reads work" in shown.text
    assert page("reference").count("path", "nvlink") == 0
    assert page("reference").text.count("SYS: between CPU sockets") == 2


def test_switched_nvlink_is_one_rail() -> None:
    given = case("mixed")
    host = given["fleet"]["rack1-v100"]
    for link in host["links"].values():
        link.update(topology="NV18", nvlinks=18)
    shown = Page(plan_html({}, {"switched": host}))
    assert shown.count("path", "nvlink") == 0
    assert "NVLink between all, 18 per pair" in shown.text


def test_pcie_tree_joins_the_nearest_cards_first() -> None:
    (host,) = read.fleet({"t4": case("mixed")["fleet"]["rack2-t4"]})
    tree = links.pcie_tree(host)
    assert tree is not None
    assert (tree.level, tree.cards, tree.height) == ("SYS", (0, 1, 2, 3), 2)
    assert [(branch.level, branch.cards) for branch in tree.children] == [("PIX", (0, 1)), ("PHB", (2, 3))]


def test_sick_cards_and_hosts_say_what_to_do() -> None:
    shown = page("mixed")
    assert shown.count("rect", "lost") == 1
    assert "GPU 3 fell off the bus (Xid 79). device_lost What to do Drain the host and power-cycle it." in shown.text
    assert "No NVIDIA driver is loaded" in shown.text


def test_model_that_does_not_fit_comes_before_the_fleet_with_what_would_make_it_fit() -> None:
    text = page("infeasible").text
    assert "✕ 1 of 2 models fit; llama-3.3-70b-instruct does not." in text
    assert text.index("What would make it fit A 4-bit variant") < text.index("Fleet weights")


def test_conflict_is_shown_before_the_fleet() -> None:
    given = case("reference")
    given["plans"]["second"] = given["plans"]["qwen2.5-14b-instruct"]
    text = Page(render(given)).text
    assert "each fits alone, but not all together" in text
    assert text.index("gpu-worker-a GPU 0 is planned for qwen2.5-14b-instruct and second") < text.index("Fleet weights")


def test_unused_hosts_of_a_large_fleet_are_counted_not_drawn() -> None:
    given = case("reference")
    idle = given["fleet"]["gpu-worker-a"]
    given["fleet"].update({f"idle-{number}": idle for number in range(200)})
    shown = Page(render(given))
    assert shown.count("article", "host") == 2
    assert "200 more hosts without a model" in shown.text


def test_hostile_texts_stay_texts() -> None:
    def spoilt(value: Any) -> Any:
        if isinstance(value, dict):
            return {f"{key}{HOSTILE}" if key in names else key: spoilt(item) for key, item in value.items()}
        if isinstance(value, list):
            return [spoilt(item) for item in value]
        return f"{value}{HOSTILE}" if isinstance(value, str) else value

    given = case("mixed")
    names = {*given["plans"], *given["fleet"]}
    benign = page("mixed")
    hostile = Page(render(spoilt(given), title=HOSTILE))
    allowed = {tag for tag, _attributes in benign.elements}
    assert {tag for tag, _attributes in hostile.elements} <= allowed
    assert f"qwen3-30b-a3b{HOSTILE}" in hostile.text


def test_web_addresses_and_issues_in_sources_are_links() -> None:
    given = case("infeasible")
    (decision, *_others) = given["plans"]["qwen2.5-1.5b-instruct"]["decisions"]
    decision["source"] = "vllm-project/vllm#28976, https://example.org/a?b=1&c=2; vllm/config.py"
    shown = Page(render(given))
    assert [href for href in shown.values("href") if not href.startswith("#")] == [
        "https://github.com/vllm-project/vllm/issues/28976",
        "https://example.org/a?b=1&c=2",
    ]
    assert decision["source"] in shown.text


@pytest.mark.parametrize("source", ["javascript:alert(1)", "data:text/html,x", "//elsewhere.example", "vllm 0.17.1"])
def test_only_web_addresses_become_links(source: str) -> None:
    given = case("infeasible")
    for decision in given["plans"]["qwen2.5-1.5b-instruct"]["decisions"]:
        decision["source"] = source
    shown = Page(render(given))
    assert [href for href in shown.values("href") if not href.startswith("#")] == []
    assert source in shown.text


def test_empty_fleet_and_no_models_are_a_page() -> None:
    assert "No model is declared: nothing to plan." in Page(plan_html({}, {})).text


@pytest.mark.parametrize("fleet", [None, [], "hosts"])
def test_what_is_no_fleet_is_refused(fleet: Any) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"plan_html: fleet: found .*, wanted a dictionary \{host name: gpustack_gpu\}"
    ):
        plan_html({}, fleet)


def test_plans_of_the_planner_are_shown_whole_on_page_and_terminal() -> None:
    fleet = case("reference")["fleet"]
    source = {"huggingface_repo_id": "Qwen/Qwen2.5-14B-Instruct"}
    planned = vllm_plan(
        {"name": "qwen", "source": source, "context": 32768, "gpus": 4, "vllm_version": "0.17.1"}, fleet
    )
    shown = Page(plan_html({"qwen": planned}, fleet)).text
    text = " ".join(plan_table({"qwen": planned}, fleet).split())
    told = [*planned["decisions"], *planned["warnings"]]
    assert planned["feasible"]
    assert [item["rule"] for item in told if item["rule"] not in shown or item["rule"] not in text] == []
    for layout in (planned, *planned["alternatives"]):
        assert f"{layout['predicted']['kv_cache_tokens']:,}" in shown
        assert f"{layout['predicted']['kv_cache_tokens']:,}" in text
