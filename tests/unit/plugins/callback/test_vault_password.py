# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from ansible import context
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.gpuops.gpustack.plugins.callback.vault_password import CallbackModule, encrypted_files

RIGHT = [("default", VaultSecret(b"right"))]


@pytest.fixture(name="inventory")
def fixture_inventory(tmp_path):
    (tmp_path / "hosts.yml").write_text("all: {}")
    directory = tmp_path / "group_vars/all"
    directory.mkdir(parents=True)
    (directory / "fleet.yml").write_text("ansible_user: operator")
    (directory / "vault.yml").write_bytes(VaultLib(RIGHT).encrypt("password: s3cret", vault_id="default"))
    return tmp_path


def said(inventory, secrets, monkeypatch):
    """What the callback shows at the beginning of a run with these passwords."""
    monkeypatch.setattr(context, "CLIARGS", ImmutableDict(inventory=[str(inventory)]))
    loader = DataLoader()
    loader.set_vault_secrets(secrets)
    callback = CallbackModule(display=MagicMock(verbosity=0))
    callback.v2_playbook_on_start(MagicMock(get_loader=lambda: loader))
    return [call.args[0] for call in callback._display.error.call_args_list]


def test_encrypted_files_lie_beside_the_inventory(inventory):
    wanted = [inventory / "group_vars/all/vault.yml"]
    assert list(encrypted_files([str(inventory)])) == wanted
    assert list(encrypted_files([str(inventory / "hosts.yml")])) == wanted
    assert list(encrypted_files(["localhost,"])) == []


@pytest.mark.parametrize("secrets", [[], [("default", VaultSecret(b"wrong"))]])
def test_the_file_and_the_remedy_are_named_once(inventory, secrets, monkeypatch):
    assert said(inventory, secrets, monkeypatch) == [
        f"{inventory}/group_vars/all/vault.yml is encrypted, and no password that was given decrypts it. "
        "Add --ask-vault-pass, or --vault-password-file FILE."
    ]


def test_nothing_is_said_with_the_right_password(inventory, monkeypatch):
    assert said(inventory, RIGHT, monkeypatch) == []
