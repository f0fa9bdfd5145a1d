# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_gpustack import PASSWORD, FakeGPUStack

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client, Connection
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Writer
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import NotFound
from ansible_collections.gpuops.gpustack.plugins.module_utils.route_targets import Names, plan
from ansible_collections.gpuops.gpustack.plugins.module_utils.routes import ACTIVATION_SECONDS, Route

OLD, NEWEST = (2, 1, 1), (2, 3, 0)
NAMES = Names(models={1: "a", 2: "b"}, providers={7: "elsewhere"})


@pytest.fixture
def route_of(fake: FakeGPUStack) -> Callable[[str], Route]:
    cluster = fake.add_cluster("racks", is_default=True)
    for name in ("a", "b"):
        fake.add_model(name, source="local_path", local_path="/m", backend="vLLM", cluster_id=cluster["id"])
    client = Client(Connection(fake.url, username="admin", password=PASSWORD))
    client.connect()
    return lambda name: Route(client, Writer(client, check_mode=False), name, sleep=fake.advance)


def test_target_is_taken_out_and_put_back(fake: FakeGPUStack, route_of: Callable[[str], Route]) -> None:
    route = route_of("a")
    route.look()
    saved = route.declared_targets
    assert saved == [{"model": "a", "weight": 100}]
    assert route.remove_target("a") is True
    assert route.declared_targets == []
    assert route.remove_target("a") is False
    route.set_targets(saved)
    assert route.declared_targets == saved


def test_old_target_goes_though_the_new_one_never_gets_active(
    fake: FakeGPUStack, route_of: Callable[[str], Route]
) -> None:
    route = route_of("a")
    route.look()
    for model in fake.models.values():
        model["ready_replicas"] = 1
    route.look()
    for model in fake.models.values():
        model["ready_replicas"] = 0  # the engine died meanwhile
    start = fake.now
    route.set_targets([{"model": "b"}])
    assert (fake.now - start).total_seconds() == ACTIVATION_SECONDS
    assert route.declared_targets == [{"model": "b", "weight": 100}]


def test_route_that_is_not_there_has_no_targets_to_set(route_of: Callable[[str], Route]) -> None:
    route = route_of("nowhere")
    route.look()
    with pytest.raises(NotFound, match="There is no model route 'nowhere'"):
        route.set_targets([{"model": "a"}])


def test_provider_is_called_by_the_name_the_release_knows() -> None:
    wanted = [{"provider": "elsewhere", "overridden_model_name": "big"}]
    assert plan(wanted, [], NAMES, OLD).items[0]["provider_model_name"] == "big"
    assert plan(wanted, [], NAMES, NEWEST).items[0]["overridden_model_name"] == "big"


@pytest.mark.parametrize("name", ["provider_model_name", "overridden_model_name"])
def test_provider_is_recognized_by_either_name(name: str) -> None:
    current = [{"id": 3, "provider_id": 7, name: "big", "weight": 100}]
    planned = plan([{"provider": "elsewhere", "overridden_model_name": "big"}], current, NAMES, NEWEST)
    assert (planned.changed, planned.items) == (False, [])


def test_model_that_is_twice_behind_a_route_is_so_once() -> None:
    current = [{"id": number, "model_id": 1, "weight": 50} for number in (4, 3)]
    planned = plan([{"model": "a"}], current, NAMES, OLD)
    assert (planned.items, [target["id"] for target in planned.removed]) == ([], [4])
    assert planned.changed is True


def test_list_with_and_without_weights_is_never_sent() -> None:
    current = [{"id": 3, "model_id": 1, "weight": 100}]
    planned = plan([{"model": "b", "weight": 0}], current, NAMES, NEWEST)
    assert [item["weight"] for item in planned.items] == [0]
    assert planned.removed == []
