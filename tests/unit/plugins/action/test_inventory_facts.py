# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action on this collection's own files and inventories."""

from __future__ import annotations

import textwrap
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import yaml
from ansible import release
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.gpuops.gpustack.plugins.action import inventory_facts
from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import problems_of

PROJECT = Path(__file__).resolve().parents[4]


@pytest.fixture(name="look")
def fixture_look():
    """Runs the action on an inventory; returns ``gpustack_inventory``."""

    def look(source):
        loader = DataLoader()
        manager = InventoryManager(loader, [str(source)])
        variables = VariableManager(loader, manager)
        hostvars = HostVars(manager, variables, loader)
        task = MagicMock(args={}, async_val=False)
        action = inventory_facts.ActionModule(task, MagicMock(), MagicMock(), loader, None, None)
        result = action.run(task_vars={"hostvars": hostvars, "groups": manager.get_groups_dict()})
        assert result["changed"] is False
        return result["ansible_facts"]["gpustack_inventory"]

    return look


def codes(facts):
    """What is wrong with the inventory, whatever this controller lacks."""
    fleet = {"hosts": {}, "inventory": {**facts, "controller": []}}
    return sorted({problem["code"] for problem in problems_of(fleet, needs=["inventory"])})


def test_everything_that_the_demo_sets_is_read(look):
    assert codes(look(PROJECT / "inventories/demo")) == []


def test_the_untouched_example_has_only_values_to_fill_in(look):
    facts = look(PROJECT / "inventories/example")
    assert codes(facts) == ["placeholder_left"]
    assert sorted(facts["placeholders"]) == ["ansible_host", "gpustack_worker_ip", "vault_gpustack_admin_password"]


def test_values_are_not_templated_and_not_returned(look, tmp_path):
    (tmp_path / "hosts.yml").write_text(
        "gpustack_workers:\n"
        "  hosts:\n"
        "    a:\n"
        "      gpustack_worker_ip: \"{{ lookup('ansible.builtin.file', '/none') }}\"\n"
        "      gpustack_server_admin_password: s3cret\n"
    )
    facts = look(tmp_path / "hosts.yml")
    assert facts["variables"] == {"gpustack_server_admin_password": ["a"], "gpustack_worker_ip": ["a"]}
    assert "s3cret" not in repr(facts)


def test_the_controller_that_runs_this_is_good_enough(look):
    requirements = {each["name"]: each for each in look(PROJECT / "inventories/demo")["controller"]}
    assert list(requirements) == ["ansible-core", "community.docker"]
    assert requirements["ansible-core"] == {
        "name": "ansible-core",
        "wanted": ">=2.18.0",
        "found": release.__version__,
        "satisfied": True,
    }


def test_a_value_encrypted_by_itself_without_its_password(look, tmp_path):
    secret = VaultLib([("default", VaultSecret(b"right"))]).encrypt("s3cret", vault_id="default").decode()
    (tmp_path / "hosts.yml").write_text(
        yaml.safe_dump({"gpustack_workers": {"hosts": {"a": {"vault_password": "SECRET"}}}}).replace(
            "SECRET", "!vault |\n" + textwrap.indent(secret, " " * 10)
        )
    )
    assert look(tmp_path / "hosts.yml")["encrypted"] == {"vault_password": ["a"]}
