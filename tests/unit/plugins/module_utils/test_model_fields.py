# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every field that a model has in GPUStack's API, held against the options of the module."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.model_spec import OPTIONS, instances_wanted
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import NEWER_FIELDS

# ModelCreate and ModelPublic of the servers' own API descriptions.
FIELDS_2_1_1 = (
    "access_policy",
    "backend",
    "backend_parameters",
    "backend_version",
    "categories",
    "cluster_id",
    "cpu_offloading",
    "created_at",
    "description",
    "distributable",
    "distributed_inference_across_workers",
    "enable_model_route",
    "env",
    "extended_kv_cache",
    "generic_proxy",
    "gpu_selector",
    "huggingface_filename",
    "huggingface_repo_id",
    "id",
    "image_name",
    "local_path",
    "meta",
    "model_scope_file_path",
    "model_scope_model_id",
    "name",
    "placement_strategy",
    "ready_replicas",
    "replicas",
    "restart_on_error",
    "run_command",
    "source",
    "speculative_config",
    "updated_at",
    "worker_selector",
)
NEW_IN_2_3_0 = (
    "degradations",
    "disaggregation",
    "gather",
    "gpu_type_selector",
    "has_stale_lora_instances",
    "lora_list",
    "native_anthropic_api",
    "owner_principal_id",
    "restarting_since",
    "revision_history_limit",
    "role_status",
    "roles",
    "scaling_schedule",
    "stale",
    "state",
    "state_message",
)

OTHERWISE = {
    "cluster_id": "the option `cluster` has the name",
    "source": "follows from the option that says where the weights are",
    "enable_model_route": "always, or nobody could call the model",
    "meta": "GPUStack fills it from the model's files and overwrites what is there",
    "distributable": "GPUStack finds out whether GGUF files can be distributed, and overwrites it",
    "owner_principal_id": "the organization of the user who asks; the collection knows no other",
}
# Set by the server: `id`, times, and what it tells of the state.
READ_ONLY = {
    "id",
    "created_at",
    "updated_at",
    "ready_replicas",
    "state",
    "state_message",
    "role_status",
    "stale",
    "degradations",
    "restarting_since",
    "has_stale_lora_instances",
}


def test_every_field_of_both_releases_is_an_option_or_has_a_reason_not_to_be() -> None:
    explained = {*OPTIONS, *OTHERWISE, *READ_ONLY}
    assert [name for name in (*FIELDS_2_1_1, *NEW_IN_2_3_0) if name not in explained] == []


def test_no_reason_outlives_its_field() -> None:
    assert ({*OTHERWISE, *READ_ONLY} & {*OPTIONS}) == set()
    assert {*OTHERWISE, *READ_ONLY} <= {*FIELDS_2_1_1, *NEW_IN_2_3_0}


def test_option_that_the_oldest_release_does_not_know_is_refused_there() -> None:
    newer = [name for name in OPTIONS if name in NEW_IN_2_3_0]
    assert [name for name in newer if name not in NEWER_FIELDS["model"]] == []


@pytest.mark.parametrize(
    ("model", "instances"),
    [
        ({"replicas": 3, "roles": None}, 3),
        ({"replicas": 0, "roles": [{"name": "prefill", "replicas": 2}]}, 0),
        ({"replicas": 1, "roles": [{"name": "prefill", "replicas": 2}, {"name": "decode"}, {"name": "router"}]}, 4),
    ],
)
def test_roles_say_how_many_instances_a_model_has(model: dict[str, Any], instances: int) -> None:
    assert instances_wanted(model) == instances
