# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest
import yaml
from ansible.release import __version__ as ansible_core

from ansible_collections.gpuops.gpustack.plugins.plugin_utils import requirements


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


@pytest.fixture(name="collection")
def fixture_collection(tmp_path, monkeypatch):
    """Makes a collection that wants these of the controller; ``installed`` lies there with that version."""

    def make(core=">=2.0", dependencies=None, built=False, installed=None):
        own = tmp_path / "own"
        (own / "meta").mkdir(parents=True)
        (own / "meta/runtime.yml").write_text(json.dumps({"requires_ansible": core}))
        metadata = {"dependencies": dependencies or {}}
        if built:
            (own / "MANIFEST.json").write_text(json.dumps({"collection_info": metadata}))
        else:
            (own / "galaxy.yml").write_text(json.dumps(metadata))
        for name, version in (installed or {}).items():
            directory = tmp_path / name
            directory.mkdir()
            (directory / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": version}}))
            package = ModuleType(name)
            package.__path__ = [str(directory)]
            monkeypatch.setitem(sys.modules, f"ansible_collections.{name}", package)
        return [(each["name"], each["found"], each["satisfied"]) for each in requirements.of_collection(own, load)]

    return make


@pytest.mark.parametrize(("core", "satisfied"), [(">=2.0", True), ("<2.0", False)])
def test_ansible_core_is_held_against_the_collections_own_metadata(collection, core, satisfied):
    assert collection(core) == [("ansible-core", ansible_core, satisfied)]


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize(("version", "satisfied"), [("4.0.0", True), ("5.0.0-rc1", True), ("3.9.9", False)])
def test_collections_are_held_against_the_dependencies(collection, built, version, satisfied):
    found = collection(dependencies={"some.thing": ">=4.0.0"}, built=built, installed={"some.thing": version})
    assert found[1:] == [("some.thing", version, satisfied)]


def test_a_collection_of_which_any_version_is_good(collection):
    assert collection(dependencies={"some.thing": "*"}, installed={"some.thing": "0.1.0"})[1:] == [
        ("some.thing", "0.1.0", True)
    ]


def test_a_collection_that_is_not_there(collection):
    assert collection(dependencies={"no.where": "*"})[1:] == [("no.where", None, False)]
