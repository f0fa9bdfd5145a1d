# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists that are kept by hand, held against what they list."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (PROJECT / "plugins/modules").glob("*.py"))
INVENTORIES = sorted(path.stem for path in (PROJECT / "plugins/inventory").glob("*.py"))
ROLES = sorted(path.name for path in (PROJECT / "roles").iterdir())
# Modules that never talk to GPUStack, and so take no connection.
ON_HOSTS = {
    "all_reduce",
    "connectivity_facts",
    "container_engine_info",
    "container_gpu_info",
    "daemon_config",
    "engine_chat",
    "engine_image_facts",
    "engine_info",
    "engine_requests",
    "gpu_facts",
    "gpu_watch",
    "host_facts",
    "host_logs",
    "inventory_facts",
    "load_stage",
    "nvidia_stack_facts",
    "package_holds",
    "package_rehearsal",
    "port_listener",
    "report",
    "rollout_step",
    "support_bundle",
}


def script(path: str) -> Any:
    """A program of this repository as a module; runpy takes what lies in a tree of collections for a package."""
    specification = importlib.util.spec_from_file_location(Path(path).stem, PROJECT / path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


ROLE_READMES = script("docs/role_readmes.py")


def load(path: str) -> Any:
    return yaml.safe_load((PROJECT / path).read_text())


def test_action_group_holds_every_module_that_talks_to_gpustack() -> None:
    group = load("meta/runtime.yml")["action_groups"]["gpustack"]
    assert sorted(name for name in group if isinstance(name, str)) == sorted(set(MODULES) - ON_HOSTS)


@pytest.mark.parametrize("plugin", [*MODULES, *INVENTORIES])
def test_every_module_and_inventory_has_unit_tests(plugin: str) -> None:
    found = list((PROJECT / "tests/unit/plugins").glob(f"*/test_{plugin}.py"))
    assert found, f"no tests/unit/plugins/*/test_{plugin}.py"


def argument_specs(role: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for entry in load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
        options.update(entry["options"])
    return options


@pytest.mark.parametrize("role", ROLES)
def test_argument_specs_tell_every_default_and_its_value(role: str) -> None:
    defaults = load(f"roles/{role}/defaults/main.yml")
    specified = {
        name: option.get("default") for name, option in argument_specs(role).items() if not option.get("required")
    }
    assert specified == defaults


@pytest.mark.parametrize("role", ROLES)
def test_public_variables_carry_the_name_of_their_role(role: str) -> None:
    own = f"gpustack_{role}"
    assert [name for name in argument_specs(role) if name != own and not name.startswith(f"{own}_")] == []


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_of_a_role_tells_its_argument_specs(role: str) -> None:
    made = ROLE_READMES.readme(PROJECT / "roles" / role)
    assert (PROJECT / "roles" / role / "README.md").read_text() == made, "run `make readmes`"


# Those that need no inventory, and those that are part of others.
WITHOUT_INVENTORY = {"adopt", "check_hosts", "check_inventory"}


@pytest.mark.parametrize("playbook", sorted(path.stem for path in (PROJECT / "playbooks").glob("*.yml")))
def test_a_playbook_looks_at_controller_and_inventory_first(playbook: str) -> None:
    first = load(f"playbooks/{playbook}.yml")[0].get("ansible.builtin.import_playbook")
    assert (first in ("check_inventory.yml", "preflight.yml")) is (playbook not in WITHOUT_INVENTORY)


def test_version_is_written_once() -> None:
    version = load("galaxy.yml")["version"]
    for path in PROJECT.glob("plugins/**/*.py"):
        assert f'"{version}"' not in re.sub(r"version_added: .*", "", path.read_text()), path


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.add(("." * node.level) + (node.module or ""))
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


@pytest.mark.parametrize(
    "path", sorted((PROJECT / "plugins/module_utils/planning").glob("*.py")), ids=lambda path: path.stem
)
def test_planning_knows_neither_ansible_nor_anything_outside_itself(path: Path) -> None:
    foreign = [name for name in imports_of(path) if name.startswith(("..", "ansible"))]
    assert foreign == []


def test_tests_of_what_runs_on_hosts_take_nothing_that_only_the_controller_has() -> None:
    """ansible-test runs them where of Ansible only module_utils can be imported."""
    foreign = {
        path.name: sorted(wrong)
        for place in ("modules", "module_utils")
        for path in (PROJECT / "tests/unit/plugins" / place).rglob("*.py")
        if (wrong := {name for name in imports_of(path) if re.match(r"ansible(?!\.module_utils\b)(\.|$)", name)})
    }
    assert foreign == {}


def scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from scalars(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("role", [*ROLES, ""], ids=lambda role: role or "playbooks")
def test_the_end_of_a_line_is_written_where_yaml_reads_it(role: str) -> None:
    r"""Ansible takes a backslash in a template as it stands: only YAML's double quotes make a line's end of \n."""
    directory = PROJECT / "roles" / role if role else PROJECT / "playbooks"
    wrong = [
        path.relative_to(PROJECT).as_posix()
        for path in directory.rglob("*.yml")
        for value in scalars(yaml.safe_load(path.read_text()))
        if re.search(r"\{\{[^}]*'[^']*\\n", value)
    ]
    assert wrong == []


@pytest.mark.parametrize("role", ROLES)
def test_variables_of_loops_hide_none_that_an_inventory_may_have(role: str) -> None:
    """They come before an inventory's, and what is declared may be a template of one that is called `model`."""
    named = [
        match[1]
        for path in (PROJECT / "roles" / role / "tasks").glob("*.yml")
        for match in re.finditer(r"(?:loop|index)_var: (\w+)", path.read_text())
    ]
    assert [name for name in named if not name.startswith(f"_gpustack_{role}_")] == []


# What a teardown demands, whatever the inventory says.
DEMANDED = {"gpustack_rollout_always", "gpustack_worker_deregister"}


@pytest.mark.parametrize("playbook", sorted((PROJECT / "playbooks").glob("*.yml")), ids=lambda path: path.stem)
def test_a_play_hides_no_variable_of_the_inventory(playbook: Path) -> None:
    """Variables of a play come before those of an inventory, so a play that sets one asks the inventory first."""
    options = {option for role in ROLES for option in argument_specs(role)} - DEMANDED
    hidden = [
        name
        for play in yaml.safe_load(playbook.read_text())
        for name, value in play.get("vars", {}).items()
        if name in options and f"hostvars['localhost'].{name}" not in str(value)
    ]
    assert hidden == []
