# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was adopted of a server, as the files of an inventory that a person would write. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ansible_collections.gpuops.gpustack.plugins.module_utils.adoption import Adopted, Vaulted

_WIDTH = 120
PLACEHOLDER = "CHANGE-ME"

_MODELS = """\
# `plan: false` keeps a model exactly as it was found. Take that line and the engine's parameters away, and it is
# planned from its own config.json and the cards of the fleet; playbooks/plan.yml shows what would become of it.
"""
_SERVER = """\
# The server is not one of these hosts. To have site.yml run it, name its host here.
"""
_LOGIN = """\
# How the hosts are logged in to; the user needs sudo.
# ansible_user: operator

"""
_VAULT = f"""\
# Replace every {PLACEHOLDER} by the value that is in use, then encrypt this file with ansible-vault encrypt.
"""

_RESOURCES = {
    "gpustack_resources_clusters": "clusters",
    "gpustack_resources_backend_versions": "backend_versions",
    "gpustack_resources_workers": "workers",
    "gpustack_resources_routes": "routes",
}


def inventory_files(adopted: Adopted) -> dict[str, str]:
    """File contents by path in the inventory's directory."""
    origin = (
        f"# What {adopted.fleet['gpustack_server_url']} had (GPUStack {adopted.fleet['gpustack_server_version']}).\n"
    )
    hosts = {name: variables or None for name, variables in adopted.hosts.items()}
    resources = {name: getattr(adopted, attribute) for name, attribute in _RESOURCES.items()}
    files = {
        "hosts.yml": _SERVER + _text({"gpustack_servers": None}) + "\n" + _text({"gpustack_workers": {"hosts": hosts}}),
        "group_vars/all/fleet.yml": _LOGIN + _text(adopted.fleet),
        "group_vars/all/models.yml": _MODELS + _list("gpustack_models_declared", adopted.models),
        "group_vars/all/resources.yml": "\n".join(_list(name, rows) for name, rows in resources.items() if rows),
        "group_vars/all/vault.yml": _VAULT
        + "".join(f"# {secret.meaning}\n{secret.variable}: {PLACEHOLDER}\n" for secret in adopted.secrets),
    }
    return {path: f"---\n{origin}{content}" for path, content in files.items() if content}


def _list(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A variable with a list, its entries apart from each other."""
    if not rows:
        return f"{name}: []\n"
    entries = [_text([row]) for row in rows]
    indented = ["".join(f"  {line}" if line.strip() else line for line in text.splitlines(True)) for text in entries]
    return f"{name}:\n" + "\n".join(indented)


def _text(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


class _Dumper(yaml.SafeDumper):
    """Lists are indented under their key, nothing is written as a reference, an empty value as nothing."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Ansible takes braces in a text for a template, unless it is told that they are none."""
    if any(mark in text for mark in ("{{", "{%", "{#")):
        return dumper.represent_scalar("!unsafe", text, style='"')
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


# Ansible hands in subclasses of its own.
_Dumper.add_multi_representer(str, _represent_text)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)
_Dumper.add_multi_representer(list, yaml.SafeDumper.represent_list)
_Dumper.add_multi_representer(int, yaml.SafeDumper.represent_int)
_Dumper.add_multi_representer(float, yaml.SafeDumper.represent_float)
_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(
    Vaulted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)
_Dumper.add_representer(type(None), lambda dumper, _value: dumper.represent_scalar("tag:yaml.org,2002:null", ""))
