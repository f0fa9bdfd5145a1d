# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue of signatures: every entry has an excerpt that it recognises and a near miss that it does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor import diagnose
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.signature import ANYTHING, Signature
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor.signatures import CATALOGUE
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning import intent

PROJECT = Path(__file__).resolve().parents[4]
EXCERPTS = yaml.safe_load((PROJECT / "tests/unit/fixtures/doctor/signatures.yml").read_text())
IDS = {signature.id for signature in CATALOGUE}

each_signature = pytest.mark.parametrize("signature", CATALOGUE, ids=lambda signature: signature.id)


def found(text: str) -> set[str]:
    return {finding["id"] for finding in diagnose(text)}


def role_variables() -> set[str]:
    names: set[str] = set()
    for path in (PROJECT / "roles").glob("*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            names |= set(entry["options"])
    facts = (PROJECT / "roles/preflight/tasks/facts.yml").read_text()  # what the inventory alone says of a worker
    return names | set(re.findall(r"gpustack_worker_\w+", facts))


def test_there_is_one_pair_of_excerpts_for_every_signature() -> None:
    assert len(IDS) == len(CATALOGUE) >= 60
    assert set(EXCERPTS) == IDS
    assert all(set(pair) == {"excerpt", "near_miss"} for pair in EXCERPTS.values())


@each_signature
def test_excerpt_is_recognised(signature: Signature) -> None:
    assert signature.id in found(EXCERPTS[signature.id]["excerpt"])


@each_signature
def test_near_miss_is_not(signature: Signature) -> None:
    assert signature.id not in found(EXCERPTS[signature.id]["near_miss"])


@each_signature
def test_excerpt_is_recognised_in_the_log_of_a_rank(signature: Signature) -> None:
    lines = EXCERPTS[signature.id]["excerpt"].splitlines()
    prefix = "2026-03-18T09:12:44.123456789Z \x1b[36m(RayWorkerWrapper pid=431, ip=172.30.0.12)\x1b[0m "
    assert signature.id in found("\r\n".join(prefix + line for line in ["INFO all is well", *lines]))


@each_signature
def test_every_word_of_an_entry_is_there(signature: Signature) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", signature.id)
    assert all(said.strip() and len(said) >= 6 for said in signature.says)
    for text in (signature.means, signature.cause, signature.remedy):
        assert re.fullmatch(r"[A-Z0-9/.a-z_*-].*[.]", text)
    assert re.match(r"https://[a-z.]+/.", signature.source)


@each_signature
def test_consequences_name_signatures(signature: Signature) -> None:
    assert set(signature.consequence_of) <= IDS | {ANYTHING}
    assert set(signature.beside) <= IDS | {ANYTHING}
    assert signature.id not in signature.consequence_of


VARIABLES = role_variables()


@each_signature
def test_setting_is_a_variable_a_key_of_models_or_a_playbook(signature: Signature) -> None:
    setting: Any = signature.setting
    if setting.startswith("playbooks/"):
        assert (PROJECT / setting).is_file()
    elif setting:
        variable, _brackets, key = setting.partition("[].")
        assert variable in VARIABLES
        assert not key or key in intent.KEYS
