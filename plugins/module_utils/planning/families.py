# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Model families: which parsers read their tool calls and reasoning, and whether YaRN is documented for them.

A row applies when its pattern is found in the repository or directory name, or, for a model under an unknown name, when
its ``model_type`` matches. The first row that applies counts, so variants come before their family.
Sources: vLLM docs/features/tool_calling.md and reasoning_outputs.md; YaRN from the model cards; the first version of a
parser from vllm/tool_parsers, vllm/reasoning and their predecessors in the versions of ``vllm_flags.VERSIONS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .architecture import Architecture
from .versions import Version


@dataclass(frozen=True)
class Family:
    """One row. ``template``: a chat template that vLLM's examples have and the model's tokenizer lacks, if any.

    ``tool_parser`` and ``reasoning_parser`` are empty where none reads the family reliably; ``yarn_factor`` is the
    largest factor that the model cards document (0: none).
    """

    name: str
    pattern: str
    model_types: tuple[str, ...]
    tool_parser: str = ""
    reasoning_parser: str = ""
    template: str = ""
    yarn_factor: float = 0.0


FAMILIES: tuple[Family, ...] = (
    Family("DeepSeek-R1 distill", r"R1-Distill", (), "", "deepseek_r1"),
    Family("DeepSeek-R1-0528 Qwen3", r"R1-0528-Qwen3", (), "", "deepseek_r1"),
    Family("DeepSeek-V4", r"DeepSeek-V4", (), "deepseek_v4", "deepseek_v4"),
    Family("DeepSeek-V3.2", r"DeepSeek-V3\.2", ("deepseek_v32",), "deepseek_v32", "deepseek_v3"),
    Family("DeepSeek-V3.1", r"DeepSeek-V3\.1", (), "deepseek_v31", "deepseek_v3",
           "tool_chat_template_deepseekv31.jinja"),
    Family("DeepSeek-R1", r"DeepSeek-R1", (), "deepseek_v3", "deepseek_r1", "tool_chat_template_deepseekr1.jinja"),
    Family("DeepSeek-V3", r"DeepSeek-V3", ("deepseek_v3",), "deepseek_v3", "", "tool_chat_template_deepseekv3.jinja"),
    Family("QwQ", r"QwQ", (), "hermes", "deepseek_r1", yarn_factor=4.0),
    Family("Qwen3-Coder", r"Qwen3-?Coder", (), "qwen3_coder", ""),
    Family("Qwen3.5 and 3.6", r"Qwen3\.[56]", ("qwen3_5", "qwen3_5_moe"), "qwen3_coder", "qwen3"),
    Family("Qwen3-Next", r"Qwen3-Next", ("qwen3_next",), "hermes", "qwen3", yarn_factor=4.0),
    Family("Qwen3 Instruct 2507", r"Qwen3-.*Instruct-2507", (), "hermes", "", yarn_factor=4.0),
    Family("Qwen3", r"Qwen3", ("qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe"), "hermes", "qwen3", yarn_factor=4.0),
    Family("Qwen2.5-VL", r"Qwen2(\.5)?-VL", ("qwen2_vl", "qwen2_5_vl"), "hermes"),
    Family("Qwen2.5", r"Qwen2", ("qwen2", "qwen2_moe"), "hermes", yarn_factor=4.0),
    Family("xLAM", r"xLAM-.*(-r|qwen)", (), "xlam", "", "tool_chat_template_xlam_qwen.jinja"),
    Family("Hermes", r"Hermes-[23]", (), "hermes"),
    Family("ToolACE", r"ToolACE", (), "pythonic", "", "tool_chat_template_toolace.jinja"),
    Family("Llama 4", r"Llama-4", ("llama4",), "llama4_pythonic", "", "tool_chat_template_llama4_pythonic.jinja"),
    Family("Llama 3.2", r"Llama-3\.2", (), "llama3_json", "", "tool_chat_template_llama3.2_json.jinja"),
    Family("Llama 3.1 and 3.3", r"Llama-3\.[13]", (), "llama3_json", "", "tool_chat_template_llama3.1_json.jinja"),
    Family("Magistral", r"Magistral", (), "mistral", "mistral"),
    Family("Mistral", r"M(in|ix)?istral|Mixtral|Devstral", ("mistral", "mixtral", "mistral3"), "mistral", "",
           "tool_chat_template_mistral_parallel.jinja"),
    Family("Granite 3.2", r"granite-3\.[23]", (), "granite", "granite"),
    Family("Granite 20B function calling", r"granite-20b-functioncalling", (), "granite-20b-fc", "",
           "tool_chat_template_granite_20b_fc.jinja"),
    Family("Granite 3.0", r"granite-3\.0", (), "granite", "", "tool_chat_template_granite.jinja"),
    Family("Granite", r"granite", ("granite", "granitemoe", "granitemoehybrid"), "granite"),
    Family("gpt-oss", r"gpt-oss", ("gpt_oss",), "openai", "openai_gptoss"),
    Family("GLM-4.7", r"GLM-4\.7", (), "glm47", "glm45"),
    Family("GLM-4.5 and 4.6", r"GLM-4\.[56]", ("glm4_moe",), "glm45", "glm45"),
    Family("Kimi-K2", r"Kimi-K2", ("kimi_k2",), "kimi_k2", "kimi_k2"),
    Family("MiniMax-M2", r"MiniMax-M2", ("minimax_m2",), "minimax_m2", "minimax_m2_append_think"),
    Family("MiniMax-M1", r"MiniMax-M1", ("minimax_m1",), "minimax", "", "tool_chat_template_minimax_m1.jinja"),
    Family("Hunyuan-A13B", r"Hunyuan-A13B", ("hunyuan_v1_moe",), "hunyuan_a13b", "hunyuan_a13b"),
    Family("Phi-4-mini", r"Phi-4-mini", ("phi3",), "phi4_mini_json", "", "tool_chat_template_phi4_mini.jinja"),
    Family("InternLM2", r"internlm2", ("internlm2",), "internlm", "", "tool_chat_template_internlm2_tool.jinja"),
    Family("FunctionGemma", r"functiongemma", (), "functiongemma"),
    Family("Gemma 4", r"gemma-4", ("gemma4", "gemma4_text"), "gemma4", "gemma4"),
    Family("Gemma 3", r"gemma-3", ("gemma3", "gemma3_text"), "pythonic", "",
           "tool_chat_template_gemma3_pythonic.jinja"),
    Family("Nemotron 3", r"Nemotron-3", ("nemotron_h",), "qwen3_coder", "nemotron_v3"),
    Family("OLMo 3", r"Olmo-?3", ("olmo3",), "olmo3", "olmo3"),
    Family("Seed-OSS", r"Seed-OSS", ("seed_oss",), "seed_oss", "seed_oss"),
    Family("Step-3.5", r"Step-?3\.5", (), "step3p5", "step3p5"),
    Family("Step-3", r"Step-?3", ("step3_vl", "step3_text"), "step3", "step3"),
    Family("ERNIE 4.5", r"ERNIE-4\.5", ("ernie4_5", "ernie4_5_moe"), "ernie45", "ernie45"),
    Family("LongCat", r"LongCat", ("longcat_flash",), "longcat"),
    Family("Jamba", r"Jamba", ("jamba",), "jamba"),
    Family("GigaChat 3", r"GigaChat3", (), "gigachat3"),
)  # fmt: skip


# Parsers that came after 0.8.5, by the first version that has them.
_TOOL_PARSERS_SINCE: tuple[tuple[Version, str], ...] = (
    ((0, 9, 2), "deepseek_v3 llama4_pythonic minimax xlam"),
    ((0, 10, 1, 1), "glm45 hunyuan_a13b kimi_k2 qwen3_coder step3"),
    ((0, 10, 2), "deepseek_v31 openai seed_oss"),
    ((0, 11, 2), "ernie45 longcat minimax_m2 olmo3 qwen3_xml"),
    ((0, 14, 1), "deepseek_v32 functiongemma gigachat3 glm47"),
    ((0, 16), "step3p5"),
    ((0, 20, 2), "deepseek_v4 gemma4"),
)
_REASONING_PARSERS_SINCE: tuple[tuple[Version, str], ...] = (
    ((0, 9, 2), "qwen3"),
    ((0, 10, 1, 1), "glm45 hunyuan_a13b mistral openai_gptoss step3"),
    ((0, 11, 2), "deepseek_v3 ernie45 minimax_m2 minimax_m2_append_think olmo3 seed_oss"),
    ((0, 13), "kimi_k2"),
    ((0, 16), "step3p5"),
    ((0, 17, 1), "nemotron_v3"),
    ((0, 20, 2), "deepseek_v4 gemma4"),
)


def _exists(parser: str, table: tuple[tuple[Version, str], ...], version: Version) -> bool:
    return all(version >= since for since, parsers in table if parser in parsers.split())


def tool_parser(row: Family, version: Version) -> str:
    """The family's tool-call parser, empty when this vLLM has none for it."""
    return row.tool_parser if _exists(row.tool_parser, _TOOL_PARSERS_SINCE, version) else ""


def reasoning_parser(row: Family, version: Version) -> str:
    """The family's reasoning parser, empty when this vLLM has none for it."""
    return row.reasoning_parser if _exists(row.reasoning_parser, _REASONING_PARSERS_SINCE, version) else ""


def family(shape: Architecture) -> Family | None:
    """The family of a model, by name first and by ``model_type`` for a name that tells nothing."""
    for row in FAMILIES:
        if re.search(row.pattern, shape.name, re.IGNORECASE):
            return row
    for row in FAMILIES:
        if shape.model_type in row.model_types:
            return row
    return None
