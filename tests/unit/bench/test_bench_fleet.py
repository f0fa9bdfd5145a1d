# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench itself: profiles, the machine it runs on, what it puts on hosts."""

from __future__ import annotations

import json
import math
import stat

import pytest
import yaml
from bench_profiles import PROFILES, document
from fleet import hosts, images, machine, models
from fleet.errors import BenchError
from fleet.profile import load
from fleet.state import State


def test_the_reference_profile_is_the_reports_fleet():
    profile = load(PROFILES / "reference.yml")

    assert [(host.name, hosts.describe(host)) for host in profile.hosts] == [
        ("gpustack-server", "no GPU"),
        ("gpu-worker-a", "2x Tesla V100-PCIE-32GB"),
        ("gpu-worker-b", "2x Tesla V100-PCIE-32GB"),
    ]
    assert document("reference", "gpu-worker-a")["links"] == {"0-1": {"topology": "SYS", "nvlinks": 0, "p2p": "NS"}}


def test_a_change_in_a_profile_changes_its_digest(tmp_path):
    text = (PROFILES / "reference.yml").read_text()
    (tmp_path / "one.yml").write_text(text)
    (tmp_path / "two.yml").write_text(text.replace("13.0", "12.9"))

    assert load(tmp_path / "one.yml").digest != load(tmp_path / "two.yml").digest


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("hosts", "gpu-worker-a", "address"), "10.0.0.1", "address '10.0.0.1' is not in 172.30.0.0/24"),
        (("hosts", "gpu-worker-b", "address"), "172.30.0.11", "host gpu-worker-b has the address of gpu-worker-a"),
        (("hosts", "gpu-worker-a", "links"), {}, "links must be exactly ['0-1'], not []"),
        (("hosts", "gpu-worker-a", "links", "0-1", "topology"), "NVX", "unknown topology 'NVX'"),
        (("hosts", "gpu-worker-a", "gpus", 0, "card"), "h100", "no card 'h100'"),
        (("hosts", "gpu-worker-a", "gpus", 0, "pci_bus_id"), "3B:00.0", "is not like 00000000:3B:00.0"),
        (("cards", "v100-pcie-32gb", "compute_capability"), 7.0, "compute_capability is 7.0, which has the wrong type"),
        (("cards", "v100-pcie-32gb", "tdp"), 1, "unknown key tdp"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_fault(path, value, fault, tmp_path):
    data = yaml.safe_load((PROFILES / "reference.yml").read_text())
    *parents, last = path
    entry = data
    for key in parents:
        entry = entry[key]
    entry[last] = value
    (tmp_path / "wrong.yml").write_text(yaml.safe_dump(data))

    with pytest.raises(BenchError) as caught:
        load(tmp_path / "wrong.yml")

    assert fault in str(caught.value)


def test_an_unknown_profile_is_answered_with_the_known_ones():
    with pytest.raises(BenchError, match=r"No profile 'nope'; choose one of: mixed, reference\."):
        load(PROFILES / "nope.yml")


@pytest.mark.parametrize(
    ("limits", "expected", "unexpected"),
    [
        (machine.Confinement((1 << 41) - 1, True), ["--privileged", "--cgroupns=private"], "--cap-add=ALL"),
        (machine.Confinement((1 << 41) - 1, False), ["--privileged", "--cgroupns=host"], "--cap-add=ALL"),
        (machine.Confinement(0x1FFFEFFFFFF, False), ["--cap-add=ALL", "--cap-drop=SYS_RESOURCE"], "--privileged"),
    ],
)
def test_hosts_are_given_what_the_machine_can_give(limits, expected, unexpected):
    options = hosts.options(limits)

    assert set(expected) <= set(options)
    assert unexpected not in options


def test_mirrors_are_debians_own_from_both_kinds_of_files(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("# deb http://old.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "other.list").write_text("deb https://packages.example cloud-sdk-bookworm main\n")
    (tmp_path / "sources.list.d" / "debian.sources").write_text(
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n"
        "Types: deb\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n"
    )

    assert machine.mirrors(tmp_path) == machine.Mirrors(
        "http://mirror.example/debian", "http://mirror.example/security"
    )


def test_a_machine_without_debian_mirrors_names_none(tmp_path):
    (tmp_path / "sources.list").write_text("deb http://archive.example/ubuntu jammy main\n")

    assert machine.mirrors(tmp_path) == machine.Mirrors(None, None)


def test_the_library_gets_the_cards_as_a_table():
    lines = hosts.cards_table(document("reference", "gpu-worker-a")).splitlines()

    assert lines[0] == "cuda\t13.0"
    assert lines[1].split("\t")[3:] == [
        "Tesla V100-PCIE-32GB",
        "00000000:3B:00.0",
        "7.0",
        "32768",
        "250",
        "1db610de",
        "124a10de",
    ]


@pytest.mark.parametrize(
    ("name", "total", "files"),
    [("Qwen2.5-14B-Instruct", 29_540_067_328, 8), ("Qwen2.5-32B-Instruct", 65_527_752_704, 17)],
)
def test_a_models_weights_have_the_real_size_and_a_true_header(name, total, files):
    plan = models.plan(name)

    index = json.loads(plan["files"]["model.safetensors.index.json"])
    assert sum(size for _, size in plan["shards"].values()) == total == index["metadata"]["total_size"]
    assert len(plan["shards"]) == files
    for file, (header, size) in plan["shards"].items():
        tensors = {key: value for key, value in json.loads(header).items() if key != "__metadata__"}
        assert max(tensor["data_offsets"][1] for tensor in tensors.values()) == size
        assert all(index["weight_map"][tensor] == file for tensor in tensors)
        assert len(header) % 8 == 0
        first = next(iter(tensors.values()))
        assert first["data_offsets"] == [0, math.prod(first["shape"]) * 2]


def test_the_admin_password_is_made_once_for_its_owner_only(tmp_path):
    state = State(tmp_path)
    state.make_admin_password()
    first = state.admin_password.read_text()
    state.make_admin_password()

    assert state.admin_password.read_text() == first
    assert len(first.strip()) >= 32
    assert stat.S_IMODE(state.admin_password.stat().st_mode) == 0o600


def test_facts_are_kept_and_forgotten(tmp_path):
    state = State(tmp_path)
    state.remember(dockerd_pid=42)
    assert State(tmp_path).facts() == {"dockerd_pid": 42}
    state.remember(dockerd_pid=None)
    assert State(tmp_path).facts() == {}


def test_an_images_tag_follows_its_files_and_its_parent(monkeypatch, tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    monkeypatch.setattr(images.bootstrap, "inputs", lambda: ["bookworm"])
    made = (
        images.Image("base", {}, None, 1),
        images.Image("child", {"Dockerfile": tmp_path / "Dockerfile"}, "base", 1),
    )
    monkeypatch.setattr(images, "IMAGES", made)
    before = images.tags()
    (tmp_path / "Dockerfile").write_text("FROM y\n")
    changed = images.tags()
    monkeypatch.setattr(images.bootstrap, "inputs", lambda: ["trixie"])
    rebased = images.tags()

    assert before["base"] == changed["base"] != rebased["base"]
    assert len({before["child"], changed["child"], rebased["child"]}) == 3


@pytest.mark.parametrize("release", ["2.1.1", "2.3.0"])
def test_constraints_pin_names_and_versions_only(release):
    lines = (images.BENCH / "images" / "gpustack" / f"constraints-{release}.txt").read_text().splitlines()

    assert f"gpustack=={release}" in lines
    assert all(len(line.split("==")) == 2 and " " not in line for line in lines)
