# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built collection: what is in it, and that it works from an empty place by its full names."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from installed import Place

CHECKOUT = Path(__file__).resolve().parents[2]
VERSION = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["version"]
SHIPPED = {
    *("CHANGELOG.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "bindep.txt", "site.yml"),
    *("README.ja.md", "README.ko.md", "README.zh-CN.md"),
    *("changelogs", "docs", "execution-environment.yml", "inventories", "meta", "playbooks", "plugins", "roles"),
}
PLAYBOOKS = sorted(path.stem for path in (CHECKOUT / "playbooks").glob("*.yml"))


@pytest.fixture(scope="module", name="files")
def fixture_files(built: Path) -> set[str]:
    with tarfile.open(built) as archive:
        return {member.name for member in archive if member.isfile()}


def test_holds_what_users_need_and_nothing_of_the_workshop(files: set[str]) -> None:
    assert {name.split("/")[0] for name in files} == SHIPPED
    assert {name.split("/")[1] for name in files if name.startswith("inventories/")} == {"example"}
    assert not [name for name in files if name.endswith((".pyc", ".orig", ".rej", "~")) or "/docs/conf" in name]


def test_every_shipped_file_is_in_the_repository(files: set[str]) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    made = {"FILES.json", "MANIFEST.json"}
    assert files - made <= set(tracked.stdout.splitlines())


def test_carries_the_one_version(built: Path) -> None:
    with tarfile.open(built) as archive:
        manifest = json.load(archive.extractfile("MANIFEST.json"))
    assert manifest["collection_info"]["version"] == VERSION


# Without the collections that others bring: what is missing is to be said by a playbook, not by its parser.
@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_playbooks_can_be_read_by_their_full_name_with_nothing_else_installed(place: Place, playbook: str) -> None:
    inventory = place.collection / "inventories/example"
    command = ("ansible-playbook", f"gpuops.gpustack.{playbook}", "-i", inventory, "--syntax-check")
    result = place.run(*command, others=False)
    assert (result.returncode, f"{place.collection}/playbooks/{playbook}.yml" in result.stdout) == (0, True), (
        result.stderr
    )


def test_modules_are_documented_where_they_are_installed(place: Place) -> None:
    result = place.run("ansible-doc", "--list", "--json", "gpuops.gpustack")
    modules = {path.stem for path in (CHECKOUT / "plugins/modules").glob("*.py")}
    assert {f"gpuops.gpustack.{module}" for module in modules} == set(json.loads(result.stdout)), result.stderr


def test_the_planner_answers_from_there(place: Place) -> None:
    model = {"name": "m", "source": {"local_path": "/models/Qwen2.5-14B-Instruct"}, "vllm_version": "0.17.1"}
    expression = "{{ model | gpuops.gpustack.vllm_plan({}) | ansible.builtin.to_json }}"
    variables = json.dumps({"model": model})
    options = ("localhost", "-m", "ansible.builtin.debug", "-a", f"msg={expression!r}", "-e", variables)
    result = place.run("ansible", *options)
    assert '"feasible": false' in result.stdout.replace("\\", ""), result.stdout + result.stderr
