#!/usr/bin/python
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: api_key
short_description: Create, change or remove an API key of GPUStack
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
description:
  - Makes an API key of the user that the task authenticates as.
  - GPUStack tells a key once, when it is made. It is written to a file that only its owner can read, and is in no
    result, diff or log. Encrypt the file with C(ansible-vault encrypt), if it is to be kept; the module leaves an
    encrypted file alone and takes it for the right one.
  - A key whose file is lost can't be had again, since GPUStack keeps only a hash of it. Then the task fails and says
    so; with O(recreate) it makes a new key of the same name, and the old one stops working.
  - A file that holds something already is not overwritten with a new key, unless with O(recreate).
  - A run that is cut off between making the key and writing it leaves an empty file. By that the next run knows that
    nobody has the key, and makes a new one.
options:
  name:
    description:
      - Name of the key, unique among those of the user.
    type: str
    required: true
  state:
    description:
      - Whether the key shall be there. With V(absent) the file at O(path), if that is set, goes too.
    type: str
    choices: [present, absent]
    default: present
  path:
    description:
      - File to write the key to, with mode 0600, on the host where the task runs. Its directory must exist.
      - Needed with O(state=present). Changing it means nothing for a key that is there; move the file.
    type: path
  variable:
    description:
      - If it is set, the file is YAML with the key as the value of this variable, else it holds the key alone.
    type: str
  description:
    description:
      - Free text.
    type: str
  allowed_model_names:
    description:
      - Names of the routes that the key may call, all if it is empty. The order does not count.
    type: list
    elements: str
  scope:
    description:
      - What the key may do. Needs GPUStack 2.2.0, where a new key may do all if it is not set; before, all keys may.
    type: list
    elements: str
    choices: ["*", management, inference]
  expires_in:
    description:
      - Seconds for which a new key is valid, forever if it is not set. A key that is there keeps its time.
    type: int
  recreate:
    description:
      - Whether to replace the key if its file is missing, or holds a key that the server refuses, and the file if it
        holds something while the server has no such key.
    type: bool
    default: false
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes
  - gpuops.gpustack.attributes.action_group
seealso:
  - module: gpuops.gpustack.api_key_info
  - module: gpuops.gpustack.user
"""

EXAMPLES = r"""
- name: A key for the load test, as a variable for the inventory
  gpuops.gpustack.api_key:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: load-test
    description: Load test before production
    allowed_model_names: [qwen2.5-14b-instruct]
    path: "{{ inventory_dir }}/group_vars/all/load_test_key.yml"
    variable: vault_gpustack_load_test_api_key

- name: A key for one application, for a month, replaced when its file is gone
  gpuops.gpustack.api_key:
    server_url: https://gpustack.example.com
    username: chat
    password: "{{ vault_gpustack_chat_password }}"
    name: chat
    scope: [inference]
    expires_in: 2678400
    path: /etc/chat/gpustack.key
    recreate: true

- name: Remove a key and its file
  gpuops.gpustack.api_key:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ vault_gpustack_admin_password }}"
    name: load-test
    path: "{{ inventory_dir }}/group_vars/all/load_test_key.yml"
    state: absent
"""

RETURN = r"""
api_key:
  description: The key as M(gpuops.gpustack.api_key_info) returns it, without its secret; in check mode as it would be.
  returned: O(state=present)
  type: dict
path:
  description: File that holds the key.
  returned: O(state=present)
  type: str
  sample: /etc/chat/gpustack.key
error:
  description: What went wrong, as for M(gpuops.gpustack.model).
  returned: failure
  type: str
  sample: Invalid
status:
  description: HTTP status of GPUStack's refusal; null if it did not answer.
  returned: failure
  type: int
  sample: 409
"""

from typing import Any

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.ensure import Equality, Kind, Writer, check_kept, compare
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule
from ansible_collections.gpuops.gpustack.plugins.module_utils.lookup import find_api_key
from ansible_collections.gpuops.gpustack.plugins.module_utils.presentation import show_api_key
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import refuse_newer_fields
from ansible_collections.gpuops.gpustack.plugins.module_utils.secret_file import SecretFile

FIELDS = ("description", "allowed_model_names", "scope")
KIND = Kind(
    label="API key",
    path="/v2/api-keys",
    rules={"allowed_model_names": Equality.UNORDERED, "scope": Equality.UNORDERED},
    sent=FIELDS,
)


def main() -> None:
    module = GPUStackModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "path": {"type": "path"},
            "variable": {"type": "str"},
            "description": {"type": "str"},
            "allowed_model_names": {"type": "list", "elements": "str"},
            "scope": {"type": "list", "elements": "str", "choices": ["*", "management", "inference"]},
            "expires_in": {"type": "int"},
            "recreate": {"type": "bool", "default": False},
        },
        required_if=[("state", "present", ["path"])],
    )
    task = _present if module.params["state"] == "present" else _absent
    module.run(lambda client, writer: task(module, client, writer))


def _present(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    params = module.params
    wanted = {name: params[name] for name in FIELDS if params[name] is not None}
    refuse_newer_fields(KIND.label, wanted, client.server_version)
    file = SecretFile(params["path"], params["variable"])
    file.check()
    current = find_api_key(client, params["name"])
    lost = current is not None and _lost(file, client)
    if lost and file.exists and not file.is_empty and not params["recreate"]:
        raise Invalid(
            f"{file.path} does not hold API key {params['name']!r} of this server: the server refuses what is in it. "
            "Put the right file there, or set recreate to make a new key, which ends the old one."
        )
    if current is None and file.exists and not file.is_empty and not params["recreate"]:
        raise Invalid(
            f"{file.path} holds something, and this server has no API key {params['name']!r}, so a new one would "
            "overwrite it. Put the file elsewhere, or set recreate."
        )
    if lost and not file.exists and not params["recreate"]:
        raise Invalid(
            f"API key {params['name']!r} exists, but {file.path} does not, and GPUStack tells a key only once. Put the "
            "file back, or set recreate to make a new key, which ends the old one."
        )
    if current is not None and not lost:
        change = compare(wanted, current, KIND.rules)
        key = _update(current, change.payload, client, writer) if change.changed else current
        return _answer(change.changed, change.before, change.after, key, file)
    change = compare({"name": params["name"], **wanted}, None, KIND.rules)
    before = {} if current is None else {"secret": "lost"}
    if current is not None:
        writer.delete(KIND, current)
    key = _create({**change.payload, "expires_in": params["expires_in"]}, module, writer, file)
    return _answer(True, before, {**change.after, "secret": f"in {file.path}"}, key, file)


def _lost(file: SecretFile, client: Client) -> bool:
    if not file.exists or file.is_empty:
        return True
    secret = file.secret()
    return secret is not None and not client.is_api_key(secret)


def _create(payload: dict[str, Any], module: GPUStackModule, writer: Writer, file: SecretFile) -> dict[str, Any]:
    if not writer.check_mode:
        file.write(None)  # whoever finds it empty knows that the key below was lost
    key = writer.create_and_tell(KIND, payload)
    if not writer.check_mode:
        module.hide([key["value"]])
        file.write(key["value"])
        check_kept(KIND, {name: payload[name] for name in FIELDS if name in payload}, key)
    return key


def _update(current: dict[str, Any], payload: dict[str, Any], client: Client, writer: Writer) -> dict[str, Any]:
    """GPUStack has no way to read one key, so the read-back is the listing."""
    names = [name for name in FIELDS if name in current]
    writer.put(f"{KIND.path}/{current['id']}", {**{name: current[name] for name in names}, **payload})
    if writer.check_mode:
        return {**current, **payload}
    stored = find_api_key(client, current["name"]) or {}
    check_kept(KIND, payload, stored)
    return stored


def _answer(
    changed: bool, before: dict[str, Any], after: dict[str, Any], key: dict[str, Any], file: SecretFile
) -> dict[str, Any]:
    return {
        "changed": changed,
        "diff": {"before": before, "after": after},
        "api_key": show_api_key(key),
        "path": str(file.path),
    }


def _absent(module: GPUStackModule, client: Client, writer: Writer) -> dict[str, Any]:
    current = find_api_key(client, module.params["name"])
    before: dict[str, Any] = {}
    if current is not None:
        before = show_api_key(current)
        writer.delete(KIND, current)
    if module.params["path"]:
        file = SecretFile(module.params["path"], None)
        if file.exists:
            before["path"] = str(file.path)
            if not writer.check_mode:
                file.remove()
    return {"changed": bool(before), "diff": {"before": before, "after": {}}}


if __name__ == "__main__":
    main()
