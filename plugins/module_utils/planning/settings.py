# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared model and the user's own flags, brought together: sizes, context, memory settings, the model's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .architecture import Architecture, architecture
from .errors import PlanError
from .intent import UNSCALED, Intent
from .memory import Split
from .parallelism import broken, tensor_sizes
from .parameters import Parameter, Parameters, parse_parameters
from .placement import Wanted
from .quantization import quantization
from .shapes import known_config, model_name
from .versions import Version, parse_version


@dataclass(frozen=True)
class Settings:
    """One model, ready to be placed."""

    intent: Intent
    version: Version
    parameters: Parameters
    shape: Architecture
    wanted: Wanted


def _agree(label: str, declared: float | None, parameter: Parameter | None, key: str) -> float | None:
    """The user's flag and the model's key say the same thing, or only one of them is given."""
    if parameter is None:
        return declared
    value = float(parameter.value)
    if declared is not None and declared != value:
        raise PlanError(
            f"{label}: {key} is {declared:g}, but backend_parameters has {parameter.spelling}: declare it once"
        )
    return value


def _merge(target: dict[str, Any], source: Mapping[str, Any]) -> None:
    for key, value in source.items():
        if isinstance(value, Mapping) and isinstance(target.get(key), Mapping):
            inner = dict(target[key])
            _merge(inner, value)
            target[key] = inner
        else:
            target[key] = value


def _overridden(config: Mapping[str, Any], parameters: Parameters) -> Mapping[str, Any]:
    """The config as ``--hf-overrides`` of the user leaves it."""
    merged = dict(config)
    for parameter in parameters.values():
        if parameter.flag.name != "--hf-overrides":
            continue
        text = parameter.values[0]
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        for key in reversed(parameter.path.split(".") if parameter.path else ()):
            value = {key: value}
        if isinstance(value, Mapping):
            _merge(merged, value)
    return merged


def _config(intent: Intent, label: str) -> Mapping[str, Any]:
    if intent.config is not None:
        return intent.config
    if not intent.source:
        raise PlanError(f"{label}: neither source nor config is declared: say where the model is")
    config = known_config(intent.source)
    if config is None:
        raise PlanError(
            f"{label}: the shape of {model_name(intent.source)} is not built in: declare config, the content of its "
            f"config.json"
        )
    return config


def _shape(intent: Intent, parameters: Parameters, label: str) -> Architecture:
    config = _overridden(_config(intent, label), parameters)
    try:
        shape = architecture(config, model_name(intent.source) if intent.source else intent.name)
    except PlanError as error:
        raise PlanError(f"{label}: {error}") from error
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise PlanError(f"{label}: config cannot be read ({error}): give the model's own config.json") from error
    text_only = parameters.get("--language-model-only")
    if text_only is not None and text_only.value is True:
        shape = replace(shape, vision_parameters=0, multimodal=False)
    method = parameters.get("--quantization")
    if method is not None:
        known = config.get("quantization_config")
        merged = {**(known if isinstance(known, Mapping) else {}), "quant_method": str(method.value)}
        shape = replace(shape, quantization=quantization(merged))
    return shape


def _size(parameters: Parameters, name: str) -> int | None:
    parameter = parameters.get(name)
    if parameter is None:
        return None
    size = int(parameter.value)
    if size < 1:
        raise PlanError(f"{name} is {size} in backend_parameters, wanted at least 1: correct it")
    return size


# Counts and sizes that the prediction is made from: none of them can be nothing.
_AT_LEAST_ONE = (
    "--max-num-seqs", "--max-num-batched-tokens", "--block-size", "--num-gpu-blocks-override",
    "--kv-cache-memory-bytes",
)  # fmt: skip


def _check_amounts(parameters: Parameters) -> None:
    for name in _AT_LEAST_ONE:
        _size(parameters, name)
    share = parameters.get("--gpu-memory-utilization")
    if share is not None and not 0.01 <= float(share.value) <= 1:
        raise PlanError(
            f"--gpu-memory-utilization is {share.value} in backend_parameters, wanted is a share from "
            "0.01 to 1: correct it"
        )


def _wanted(intent: Intent, parameters: Parameters, label: str) -> Wanted:
    tensor = _size(parameters, "--tensor-parallel-size")
    pipeline = _size(parameters, "--pipeline-parallel-size")
    data = _size(parameters, "--data-parallel-size")
    gpus = intent.gpus
    if tensor and pipeline:
        world = tensor * pipeline * (data or 1)
        if gpus not in (None, world):
            raise PlanError(
                f"{label}: gpus is {gpus}, but the sizes in backend_parameters make {world}: declare one of them"
            )
        gpus = world
    elif tensor and gpus is None and pipeline is None:
        pipeline = 1
        gpus = tensor * (data or 1)
    parts = (tensor or 1) * (pipeline or 1) * (data or 1)
    if gpus is not None and gpus % parts:
        raise PlanError(
            f"{label}: gpus is {gpus}, which the sizes in backend_parameters ({parts}) do not divide: correct them"
        )
    expert = parameters.get("--enable-expert-parallel")
    return Wanted(gpus, tensor, pipeline, data, bool(expert and expert.value))


def _check_sizes(shape: Architecture, wanted: Wanted, label: str) -> None:
    if wanted.tensor is None:
        return
    constraint, text = broken(
        shape,
        Split(
            wanted.tensor, wanted.pipeline or 1, wanted.data or 1, wanted.expert_parallel and shape.experts is not None
        ),
    )
    if text and not (shape.experts and not wanted.expert_parallel and _spread_fits(shape, wanted)):
        sizes = ", ".join(map(str, tensor_sizes(shape, 16, wanted.expert_parallel)))
        raise PlanError(
            f"{label}: --tensor-parallel-size={wanted.tensor} in backend_parameters is refused by rule "
            f"{constraint.id}: {text}; sizes that fit are {sizes}"
        )


def _spread_fits(shape: Architecture, wanted: Wanted) -> bool:
    split = Split(wanted.tensor or 1, wanted.pipeline or 1, wanted.data or 1, True)
    return not broken(shape, split)[1]


def _shared_memory(intent: Intent, label: str) -> None:
    declared = intent.env.get("GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB")
    if declared is None:
        return
    try:
        value = float(declared)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise PlanError(
            f"{label}: env.GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB is {declared!r}, wanted a number of GiB: GPUStack would "
            f"silently take 10"
        )
    if intent.shared_memory_gib not in (None, value):
        raise PlanError(
            f"{label}: shared_memory_gib is {intent.shared_memory_gib:g}, but env.GPUSTACK_MODEL_RUNTIME_SHM_SIZE_GIB "
            f"is {declared}: declare it once"
        )


def settle(intent: Intent) -> Settings:
    """Raises PlanError where the declared model and its own parameters contradict each other or the model's shape."""
    label = f"model {intent.name}"
    try:
        version = parse_version(intent.vllm_version)
        parameters: dict[str, Parameter] = parse_parameters(intent.backend_parameters, intent.vllm_version)
    except PlanError as error:
        raise PlanError(f"{label}: {error}") from error
    length = parameters.get("--max-model-len")
    if length is not None and int(length.value) < 1:
        # "auto" asks vLLM to find what fits; the planner finds it and writes the number.
        del parameters["--max-model-len"]
        length = None
    context = _agree(label, intent.context, length, "context")
    utilization = _agree(
        label, intent.gpu_memory_utilization, parameters.get("--gpu-memory-utilization"), "gpu_memory_utilization"
    )
    _shared_memory(intent, label)
    extension = intent.context_extension
    if extension is None and intent.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1":
        extension = UNSCALED
    intent = replace(
        intent,
        context=None if context is None else int(context),
        gpu_memory_utilization=utilization,
        context_extension=extension,
    )
    shape = _shape(intent, parameters, label)
    _check_amounts(parameters)
    wanted = _wanted(intent, parameters, label)
    _check_sizes(shape, wanted, label)
    if wanted.expert_parallel and shape.experts is None:
        raise PlanError(f"{label}: --enable-expert-parallel is for mixture-of-experts models: drop it")
    return Settings(intent, version, parameters, shape, wanted)
