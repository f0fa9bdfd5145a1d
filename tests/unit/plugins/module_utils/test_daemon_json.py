# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import daemon_json

NVIDIA = {"nvidia": {"path": "nvidia-container-runtime", "args": []}}


@pytest.mark.parametrize(
    ("current", "settings", "absent", "expected"),
    [
        pytest.param({}, {"debug": True}, [], {"debug": True}, id="an empty file takes the settings"),
        pytest.param(
            {"data-root": "/srv"}, {"debug": True}, [], {"data-root": "/srv", "debug": True}, id="foreign keys stay"
        ),
        pytest.param(
            {"runtimes": {"kata": {"path": "/k"}}},
            {"runtimes": NVIDIA},
            [],
            {"runtimes": {"kata": {"path": "/k"}, **NVIDIA}},
            id="dictionaries merge",
        ),
        pytest.param(
            {"runtimes": {"nvidia": {"path": "/old", "args": ["--x"]}}},
            {"runtimes": NVIDIA},
            [],
            {"runtimes": NVIDIA},
            id="arguments of a runtime are replaced",
        ),
        pytest.param(
            {"insecure-registries": ["b:1", "a:1"]},
            {"insecure-registries": ["c:1", "b:1"]},
            [],
            {"insecure-registries": ["b:1", "a:1", "c:1"]},
            id="lists of registries unite, what is there keeps its place",
        ),
        pytest.param(
            {"exec-opts": ["native.cgroupdriver=systemd", "other=1"]},
            {"exec-opts": ["native.cgroupdriver=cgroupfs"]},
            [],
            {"exec-opts": ["native.cgroupdriver=cgroupfs", "other=1"]},
            id="an option replaces the one of its name",
        ),
        pytest.param(
            {"dns": ["192.0.2.1"]}, {"dns": ["192.0.2.2"]}, [], {"dns": ["192.0.2.2"]}, id="other lists are replaced"
        ),
        pytest.param({"runtimes": None}, {"runtimes": NVIDIA}, [], {"runtimes": NVIDIA}, id="null gives way"),
        pytest.param({"a": 1, "b": 2}, {}, ["b", "c"], {"a": 1}, id="absent keys go, missing ones are no error"),
        pytest.param(
            {"features": {"cdi": True, "buildkit": True}},
            {},
            ["features.cdi"],
            {"features": {"buildkit": True}},
            id="a dotted path removes inside a dictionary",
        ),
        pytest.param(
            {"runtimes": {"io.example.v2": {}, "runc": {}}},
            {},
            ["runtimes.io.example.v2"],
            {"runtimes": {"runc": {}}},
            id="names with dots can be removed",
        ),
        pytest.param(
            {"registry-mirrors": ["https://old"]},
            {"registry-mirrors": ["https://new"]},
            ["registry-mirrors"],
            {"registry-mirrors": ["https://new"]},
            id="absent and set is replaced",
        ),
    ],
)
def test_merge(current, settings, absent, expected):
    assert daemon_json.merge(current, settings, absent) == expected


def test_merging_twice_changes_nothing_more():
    settings = {"insecure-registries": ["c:1"], "exec-opts": ["x=2"], "runtimes": NVIDIA}
    once = daemon_json.merge({"insecure-registries": ["a:1"], "exec-opts": ["x=1", "y=1"]}, settings)
    assert daemon_json.merge(once, settings) == once


def test_merge_leaves_its_arguments_alone():
    current = {"features": {"cdi": True}, "insecure-registries": ["a:1"]}
    daemon_json.merge(current, {"features": {"buildkit": True}, "insecure-registries": ["b:1"]}, ["features.cdi"])
    assert current == {"features": {"cdi": True}, "insecure-registries": ["a:1"]}


@pytest.mark.parametrize(
    ("before", "after", "changed", "apply"),
    [
        ({"debug": True}, {"debug": True}, [], "none"),
        ({}, {"runtimes": NVIDIA, "default-runtime": "nvidia"}, ["default-runtime", "runtimes"], "reload"),
        ({}, {"insecure-registries": ["a:1"], "live-restore": True}, ["insecure-registries", "live-restore"], "reload"),
        ({}, {"insecure-registries": ["a:1"], "data-root": "/srv"}, ["data-root", "insecure-registries"], "restart"),
        ({}, {"log-opts": {"max-size": "50m"}}, ["log-opts"], "restart"),
        ({"live-restore": True}, {}, ["live-restore"], "restart"),
        ({"max-concurrent-downloads": 2}, {}, ["max-concurrent-downloads"], "reload"),
        ({}, {"features": {"buildkit": True}}, ["features.buildkit"], "reload"),
        ({"features": {"buildkit": True}}, {"features": {"buildkit": True, "cdi": True}}, ["features.cdi"], "restart"),
        ({}, {"a-key-of-a-later-docker": 1}, ["a-key-of-a-later-docker"], "restart"),
        ({}, {"features": {}}, [], "none"),
    ],
)
def test_a_change_names_its_keys_and_how_it_counts(before, after, changed, apply):
    assert daemon_json.changed_keys(before, after) == changed
    assert daemon_json.how_to_apply(before, after) == apply


@pytest.mark.parametrize("text", ["", " \n", "\ufeff{}", "{}"])
def test_an_empty_file_is_an_empty_configuration(text):
    assert daemon_json.parse(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "debug" true\n}', "invalid JSON at line 2, column 11"),
        ('{"a": 1', "invalid JSON at line 1, column 8"),
        ("[]", "line 1 starts a JSON array, not an object"),
        ('"text"', "a JSON string, not"),
        ("null", "a JSON null, not"),
        ("1", "a JSON number, not"),
        ("debug = true", "invalid JSON at line 1, column 1"),
    ],
)
def test_anything_but_an_object_is_refused_with_its_place(text, message):
    with pytest.raises(daemon_json.DaemonJsonError, match="^.*" + message.replace("(", r"\(")):
        daemon_json.parse(text)


def test_passwords_are_found_at_any_depth():
    settings = {
        "proxies": {"http-proxy": "http://u:one@p:1", "no-proxy": "h"},
        "mirrors": [["https://u:two@m"], 3, None],
    }
    assert daemon_json.url_passwords(settings) == {"one", "two"}


def test_the_file_is_written_readably_and_reads_back_the_same():
    configuration = {"labels": ["ort=Köln"], "runtimes": NVIDIA}
    text = daemon_json.render(configuration)
    assert text.startswith('{\n    "labels": [\n        "ort=Köln"\n')
    assert text.endswith("}\n")
    assert daemon_json.parse(text) == configuration
