# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rule may look at: one model, with its parameters, in one layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .architecture import Architecture
from .families import Family, family, reasoning_parser, tool_parser
from .hardware import AMPERE, VOLTA, Capability, Generation, generation, is_volta
from .intent import NONE, YARN, Intent
from .parameters import Parameters, Value
from .placement import Layout
from .quantization import Quantization, Scheme
from .versions import Version

# Families whose activations overflow float16 (vllm/config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS).
NOT_FLOAT16 = frozenset({"gemma2", "gemma3", "gemma3_text", "plamo2", "glm4"})


@dataclass(frozen=True)
class Situation:
    """One model in one layout. ``context`` is the max_model_len to emit, in tokens; 0 while it is not decided."""

    intent: Intent
    shape: Architecture
    parameters: Parameters
    version: Version
    layout: Layout
    drivers: Mapping[str, str]
    cuda_version: str | None
    context: int = 0

    # -- hardware

    @cached_property
    def capability(self) -> Capability:
        """The lowest capability decides for all ranks."""
        return min(card.capability for card in self.layout.cards)

    @property
    def generation(self) -> Generation:
        """What the lowest capability can do."""
        return generation(self.capability)

    @cached_property
    def has_volta(self) -> bool:
        """Whether any rank is on a Volta card."""
        return any(is_volta(card.capability) for card in self.layout.cards)

    @property
    def before_ampere(self) -> bool:
        """No bfloat16, no FlashAttention."""
        return not self.generation.bfloat16

    @property
    def volta_or_turing(self) -> bool:
        """7.0 up to 7.5."""
        return VOLTA <= self.capability < AMPERE

    @property
    def drivers_text(self) -> str:
        """The driver of each host of the layout."""
        return ", ".join(f"{host} {driver}" for host, driver in sorted(self.drivers.items()))

    @property
    def cards_text(self) -> str:
        """The card names of the layout."""
        return ", ".join(sorted({card.name for card in self.layout.cards}))

    # -- layout

    @property
    def tensor(self) -> int:
        """Tensor-parallel size."""
        return self.layout.split.tensor

    @property
    def pipeline(self) -> int:
        """Pipeline-parallel size."""
        return self.layout.split.pipeline

    @property
    def data(self) -> int:
        """Data-parallel size."""
        return self.layout.split.data

    @property
    def world(self) -> int:
        """GPUs of one replica."""
        return self.layout.split.world

    @property
    def distributed(self) -> bool:
        """Whether the replica spans hosts."""
        return self.layout.hosts > 1

    # -- model

    @cached_property
    def family(self) -> Family | None:
        """The model's family, None for an unknown one."""
        return family(self.shape)

    @property
    def tool_parser(self) -> str:
        """The parser of the family's tool calls that this vLLM has, empty for none."""
        return tool_parser(self.family, self.version) if self.family else ""

    @property
    def reasoning_parser(self) -> str:
        """The parser of the family's reasoning that this vLLM has, empty for none."""
        return reasoning_parser(self.family, self.version) if self.family else ""

    @property
    def quantization(self) -> Quantization | None:
        """How the weights are quantised."""
        return self.shape.quantization

    @property
    def scheme(self) -> Scheme | None:
        """The row of the weights' quantisation scheme, None for unquantised and unknown ones."""
        return self.quantization.minimum if self.quantization else None

    @property
    def native_context(self) -> int:
        """The context that the model was made for."""
        return self.shape.context

    @property
    def beyond_native(self) -> bool:
        """Whether the context goes beyond what vLLM derives from the config."""
        return bool(self.shape.context) and self.context > self.shape.context

    @property
    def yarn_factor(self) -> float:
        """The largest YaRN factor that the family documents; none for a model that is scaled already."""
        return 0.0 if self.shape.rope_type or self.family is None else self.family.yarn_factor

    @property
    def yarn_factor_needed(self) -> float:
        """The smallest whole factor that reaches the context."""
        return float(-(-self.context // self.native_context)) if self.native_context else 0.0

    @property
    def extension(self) -> str:
        """How to go past the model's own context: as declared, else YaRN where the family documents it."""
        return self.intent.context_extension or (YARN if self.yarn_factor else NONE)

    @property
    def wants_float32(self) -> bool:
        """A family that refuses float16 on a card without bfloat16."""
        return self.before_ampere and self.shape.model_type in NOT_FLOAT16

    @property
    def custom_image(self) -> bool:
        """Whether the backend version is the site's own, which GPUStack marks with -custom."""
        return self.intent.backend_version.endswith("-custom")

    # -- the user's own parameters

    def declared(self, name: str) -> Value | None:
        """The value of the user's flag, None when it is not given."""
        parameter = self.parameters.get(name)
        return None if parameter is None else parameter.value

    def text(self, name: str) -> str:
        """The value of the user's flag as lower-case text, empty when it is not given."""
        value = self.declared(name)
        return "" if value is None else str(value).strip().lower()

    def environment(self, name: str) -> str:
        """The user's variable, empty when it is not given."""
        return self.intent.env.get(name, "")
