# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.engine_configuration import (
    Marker,
    created_at,
    declared_name,
    edited,
    fingerprint,
    marker_of,
    stale,
    with_marker,
    without_marker,
)

NOW = datetime(2026, 3, 1, 9, 30, 15, 999999, tzinfo=timezone.utc)
MODEL: dict[str, Any] = {
    "name": "m",
    "source": "local_path",
    "local_path": "/m",
    "backend_parameters": ["--a=1"],
    "env": {"A": "1", "HF_TOKEN": "hf_abcdefgh"},
    "replicas": 1,
}


def test_marker_is_a_fingerprint_and_the_full_second_of_the_write() -> None:
    env = with_marker(MODEL, NOW)
    digits, time = env["GPUOPS_CONFIGURATION"].split()
    assert (len(digits), time) == (12, "2026-03-01T09:30:15Z")
    assert without_marker(env) == MODEL["env"]
    assert marker_of({"env": env}) == Marker(fingerprint(MODEL), NOW.replace(microsecond=0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("backend_parameters", ["--a=2"]),
        ("env", {"A": "2"}),
        ("gpu_selector", {"gpu_ids": ["w:cuda:0"]}),
        ("roles", [{"name": "prefill"}, {"name": "decode"}]),
        ("disaggregation", {"mode": "custom"}),
        ("gather", {"strategy": "MustGather", "layer": "rack"}),
    ],
)
def test_fingerprint_tells_configurations_of_an_engine_apart(field: str, value: Any) -> None:
    assert fingerprint({**MODEL, field: value}) != fingerprint(MODEL)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "n", "replicas": 3, "description": "text", "ready_replicas": 1},
        {"backend_version": None, "worker_selector": {}},
        {"env": with_marker(MODEL, NOW)},
        {"env": {"HF_TOKEN": "hf_other", "A": "1"}},
    ],
)
def test_fingerprint_is_about_the_engine_only_and_tells_nothing_of_secrets(change: dict[str, Any]) -> None:
    assert fingerprint({**MODEL, **change}) == fingerprint(MODEL)


@pytest.mark.parametrize(
    "filled",
    [
        {"distributed_inference_across_workers": True, "gpu_selector": {"gpu_ids": None, "gpus_per_replica": None}},
        {"extended_kv_cache": {"enabled": False, "mode": "local", "ram_ratio": 1.2, "ram_size": None}},
        {"speculative_config": {"enabled": False, "algorithm": None, "draft_model": None}},
        {"backend_version": "0.17.1"},
        {"lora_list": [{"lora_name": "a", "local_path": "/a", "huggingface_filename": None}]},
        {
            "roles": [
                {"name": "decode", "extended_kv_cache": {"enabled": True, "ram_size": 4, "mode": "local"}, "env": None}
            ]
        },
        {"disaggregation": {"mode": "vllm-nixl", "vendor": None, "readiness": "any_per_role"}},
    ],
)
def test_what_gpustack_fills_in_is_no_edit(filled: dict[str, Any]) -> None:
    sent = {
        **MODEL,
        "backend": "vLLM",
        "lora_list": [{"lora_name": "a", "local_path": "/a"}],
        "roles": [{"name": "decode", "extended_kv_cache": {"enabled": True, "ram_size": 4}}],
        "disaggregation": {"mode": "vllm-nixl"},
    }
    assert edited({**sent, "env": with_marker(sent, NOW), **filled}) is False


def test_default_that_is_sent_is_the_same_configuration() -> None:
    sent = {**MODEL, "backend": "Custom", "distributed_inference_across_workers": False}
    assert fingerprint(sent) == fingerprint({**MODEL, "backend": "Custom"})
    assert fingerprint({**sent, "distributed_inference_across_workers": True}) != fingerprint(sent)


@pytest.mark.parametrize(
    "change",
    [
        {"backend_parameters": ["--a=2"]},
        {"extended_kv_cache": {"enabled": True, "ram_ratio": 1.2}},
        {"distributed_inference_across_workers": False},
        {"roles": [{"name": "decode", "env": {"A": "1"}}]},
        {"disaggregation": {"mode": "vllm-nixl", "readiness": "all"}},
    ],
)
def test_edit_of_what_was_written_is_noticed(change: dict[str, Any]) -> None:
    sent = {**MODEL, "backend": "vLLM", "backend_version": "0.17.1"}
    env = with_marker(sent, NOW)
    assert edited({**sent, "env": env}) is False
    assert edited({**sent, "env": env, **change}) is True
    assert edited({**sent, "env": {**env, "A": "2"}}) is True


def test_model_that_was_never_written_here_is_not_edited_either() -> None:
    assert edited(MODEL) is None


@pytest.mark.parametrize("env", [None, {}, {"A": "1"}, {"GPUOPS_CONFIGURATION": "edited by hand"}])
def test_model_without_a_readable_marker_has_none(env: Any) -> None:
    assert marker_of({"env": env}) is None


def test_instances_from_before_the_write_are_stale_oldest_first() -> None:
    marker = Marker("0" * 12, datetime(2026, 3, 1, 9, 30, 15, tzinfo=timezone.utc))
    instances = [
        {"name": "same second", "created_at": "2026-03-01T09:30:15.000001Z"},
        {"name": "older", "created_at": "2026-03-01T09:30:14.999999Z"},
        {"name": "oldest", "created_at": "2026-02-01T00:00:00Z"},
        {"name": "other zone", "created_at": "2026-03-01T18:30:16.5+09:00".replace(".5", ".500000")},
    ]
    assert stale(instances, marker) == ["oldest", "older"]
    assert stale(instances, None) == []


def test_time_without_a_zone_is_utc() -> None:
    assert created_at({"created_at": "2026-03-01T09:30:15"}) == datetime(2026, 3, 1, 9, 30, 15, tzinfo=timezone.utc)


def test_marker_of_a_replica_tells_the_declared_model() -> None:
    env = with_marker(MODEL, NOW, "declared")
    assert env["GPUOPS_CONFIGURATION"] == f"{fingerprint(MODEL)} 2026-03-01T09:30:15Z declared"
    assert marker_of({"env": env}) == Marker(fingerprint(MODEL), NOW.replace(microsecond=0), "declared")
    assert declared_name({"name": "declared-r2", "env": env}) == "declared"


def test_model_is_its_own_declared_model_once_it_has_been_written() -> None:
    assert declared_name({"name": "m", "env": with_marker(MODEL, NOW)}) == "m"
    assert declared_name(MODEL) is None
