# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpuops.gpustack.plugins.module_utils import inventory
from ansible_collections.gpuops.gpustack.plugins.plugin_utils import requirements

COLLECTION = Path(__file__).resolve().parents[2]


class ActionModule(ActionBase):  # type: ignore[misc]
    """Reads the inventory, the collection's own files and what is installed, all of which only the controller has."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``gpustack_inventory``."""
        result = super().run(tmp, task_vars)
        self.validate_argument_spec(argument_spec={})
        variables = task_vars or {}
        hostvars = variables["hostvars"]
        hosts = {host: hostvars.raw_get(host) for host in sorted({*hostvars} | {"localhost"})}
        facts = inventory.facts(variables["groups"], hosts, self._interface())
        facts["controller"] = requirements.of_collection(COLLECTION, self._loader.load_from_file)
        return {**result, "changed": False, "ansible_facts": {"gpustack_inventory": facts}}

    def _interface(self) -> inventory.Interface:
        files = [path for part in ("roles", "playbooks") for path in sorted((COLLECTION / part).rglob("*.yml"))]
        specifications = {
            path.parents[1].name: self._loader.load_from_file(str(path))
            for path in sorted(COLLECTION.glob("roles/*/meta/argument_specs.yml"))
        }
        return inventory.interface_of((path.read_text(encoding="utf-8") for path in files), specifications)
