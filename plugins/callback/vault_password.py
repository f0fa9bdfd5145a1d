# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Callback ``gpuops.gpustack.vault_password``: which file of the inventory wants a password."""

from __future__ import annotations

DOCUMENTATION = r"""
name: vault_password
type: aggregate
short_description: Says which encrypted file of the inventory cannot be read, and what to do
version_added: 1.0.0
description:
  - Without the password of an encrypted file in C(group_vars) or C(host_vars) Ansible ends before the first task, with
    an error that names neither the file nor the remedy. This prints both before that.
requirements:
  - enabled in C(ansible.cfg), as C(callbacks_enabled = gpuops.gpustack.vault_password)
author:
  - gpuops contributors (@gpuops)
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleError
from ansible.plugins.callback import CallbackBase

_HEADER = b"$ANSIBLE_VAULT;"


def encrypted_files(inventories: Iterable[str]) -> Iterator[Path]:
    """Encrypted files of variables beside these inventories."""
    for inventory in map(Path, inventories):
        directory = inventory if inventory.is_dir() else inventory.parent
        for path in sorted(path for kind in ("group_vars", "host_vars") for path in directory.glob(f"{kind}/**/*")):
            if path.is_file():
                with path.open("rb") as file:
                    if file.read(len(_HEADER)) == _HEADER:
                        yield path


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "gpuops.gpustack.vault_password"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        for path in encrypted_files(context.CLIARGS.get("inventory") or ()):
            try:
                playbook.get_loader().load_from_file(str(path))
            except AnsibleError:
                self._display.error(
                    f"{path} is encrypted, and no password that was given decrypts it. "
                    "Add --ask-vault-pass, or --vault-password-file FILE.",
                    wrap_text=False,
                )
                return
