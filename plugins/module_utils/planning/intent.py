# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One declared model, checked and typed. Everything that a user can get wrong in it is said here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import PlanError, nearest

YARN, UNSCALED, NONE = "yarn", "unscaled", "none"
SOURCES = ("local_path", "huggingface_repo_id", "model_scope_model_id")


@dataclass(frozen=True)
class Intent:
    """What the user wants of one model; None where the planner chooses."""

    name: str
    source: str
    config: Mapping[str, Any] | None
    context: int | None
    context_extension: str | None
    concurrency: int
    gpus: int | None
    replicas: int
    tools: bool
    reasoning: bool
    gpu_memory_utilization: float | None
    shared_memory_gib: float | None
    vllm_version: str
    backend_version: str
    backend_parameters: tuple[str, ...]
    env: Mapping[str, str]
    override: tuple[str, ...]


KEYS = (
    "backend_parameters", "backend_version", "concurrency", "config", "context", "context_extension", "env",
    "gpu_memory_utilization", "gpus", "name", "override", "reasoning", "replicas", "shared_memory_gib", "source",
    "tools", "vllm_version",
)  # fmt: skip


class _Reader:
    """Typed access to the declared keys; every error names the model, the key, what was found and what was wanted."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model
        self.label = f"model {model.get('name')!s}" if model.get("name") else "model"

    def fail(self, key: str, wanted: str) -> PlanError:
        return PlanError(f"{self.label}: {key} is {self._model[key]!r}, wanted {wanted}: correct it")

    def fail_type(self, key: str, wanted: str) -> PlanError:
        """As ``fail``, for what may hold a secret: only its type is shown."""
        return PlanError(f"{self.label}: {key} is {type(self._model[key]).__name__}, wanted {wanted}: correct it")

    def get(self, key: str) -> Any:
        return self._model.get(key)

    def text(self, key: str, default: str) -> str:
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.fail(key, "a text")
        return str(value).strip()

    def number(self, key: str, minimum: float) -> float | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.fail(key, "a number") from None
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
            or value < minimum
        ):
            raise self.fail(key, f"a number of at least {minimum:g}")
        return float(value)

    def whole(self, key: str, minimum: int) -> int | None:
        value = self.number(key, minimum)
        if value is None:
            return None
        if value != int(value):
            raise self.fail(key, "a whole number")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if isinstance(value, str) and value.lower() in ("true", "yes", "false", "no"):
            return value.lower() in ("true", "yes")
        if value is not None and not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return bool(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise self.fail_type(key, "a list of texts")
        return tuple(str(item) for item in value)

    def env(self) -> dict[str, str]:
        value = self.get("env")
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.fail_type("env", "a mapping of variable to text")
        env: dict[str, str] = {}
        for name, text in value.items():
            if isinstance(text, bool) or not isinstance(text, (str, int, float)):
                raise PlanError(f"{self.label}: env.{name} is {type(text).__name__}, wanted a text: put it in quotes")
            env[str(name)] = str(text)
        return env

    def source(self) -> str:
        value = self.get("source")
        if value is None:
            return ""
        if not isinstance(value, Mapping):
            raise self.fail("source", f"a mapping with one of {', '.join(SOURCES)}")
        given = {str(key): text for key, text in value.items() if text is not None}
        for key in given:
            if key not in SOURCES:
                raise PlanError(
                    f"{self.label}: source has {key}{nearest(key, SOURCES)}, wanted one of {', '.join(SOURCES)}"
                )
        if len(given) != 1 or not all(isinstance(text, str) and text.strip() for text in given.values()):
            raise self.fail("source", f"exactly one of {', '.join(SOURCES)}")
        return str(next(iter(given.values()))).strip()


def parse_intent(model: Mapping[str, Any]) -> Intent:
    """Check and type one declared model. Raises PlanError in one sentence for the first thing that is wrong."""
    if not isinstance(model, Mapping):
        raise PlanError(f"the model is {type(model).__name__}, wanted a mapping: declare it with name and source")
    reader = _Reader(model)
    for key in model:
        if str(key) not in KEYS:
            raise PlanError(
                f"{reader.label}: {key} is not a key of a model{nearest(str(key), KEYS)}: correct or drop it"
            )
    if not isinstance(model.get("name"), str) or not model["name"].strip():
        raise PlanError(f"{reader.label}: name is {model.get('name')!r}, wanted a text: name the model")
    config = model.get("config")
    if config is not None and not isinstance(config, Mapping):
        raise reader.fail("config", "the mapping of the model's config.json")
    extension = model.get("context_extension")
    if extension is not None and extension not in (YARN, UNSCALED, NONE):
        raise reader.fail("context_extension", "yarn, unscaled or none")
    utilization = reader.number("gpu_memory_utilization", 0.01)
    if utilization is not None and utilization > 1:
        raise reader.fail("gpu_memory_utilization", "a share between 0 and 1")
    replicas = reader.whole("replicas", 0)
    vllm_version = reader.text("vllm_version", "0.17.1")
    return Intent(
        name=str(model["name"]).strip(),
        source=reader.source(),
        config=config,
        context=reader.whole("context", 1),
        context_extension=None if extension is None else str(extension),
        concurrency=reader.whole("concurrency", 1) or 1,
        gpus=reader.whole("gpus", 1),
        replicas=1 if replicas is None else replicas,
        tools=reader.flag("tools"),
        reasoning=reader.flag("reasoning"),
        gpu_memory_utilization=utilization,
        shared_memory_gib=reader.number("shared_memory_gib", 0.001),
        vllm_version=vllm_version,
        backend_version=reader.text("backend_version", vllm_version),
        backend_parameters=reader.texts("backend_parameters"),
        env=reader.env(),
        override=reader.texts("override"),
    )
