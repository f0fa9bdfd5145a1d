#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: daemon_config
version_added: 1.0.0
short_description: Merge settings into the configuration of the Docker engine
description:
  - Lays settings over C(/etc/docker/daemon.json) and keeps every key that is not mentioned. The engine has no directory
    of configuration fragments, so this file has several owners, and each of them has to merge.
  - Dictionaries are merged key by key. The lists V(insecure-registries), V(registry-mirrors),
    V(allow-nondistributable-artifacts) and V(cdi-spec-dirs) are united; in V(exec-opts), V(storage-opts) and V(labels)
    an item replaces the one of the same name; every other list is replaced.
  - Says whether the running engine takes the change over when it is reloaded or only when it is restarted, and does
    neither.
  - A file that is not valid JSON is refused with line and column and stays as it is. A changed configuration counts
    only after C(dockerd --validate) has accepted it, where the installed engine has that option (23.0 and later).
  - Where the merged settings equal the file's, the file stays byte for byte as it is, whatever its formatting.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: User names and passwords are left out of URLs in the shown difference.
  platform:
    platforms: linux
options:
  settings:
    description:
      - The settings that the file has to hold, as Docker's documentation names them.
    type: dict
    default: {}
  absent:
    description:
      - Keys to remove, before O(settings) are merged. A key that is in O(settings) too is therefore replaced as a whole
        instead of merged.
      - A key inside a dictionary is written as a dotted path, for example V(features.cdi).
    type: list
    elements: str
    default: []
  path:
    description:
      - The configuration file. It and its directory are created when missing, the file with mode C(0644); an existing
        file keeps its owner and mode.
    type: path
    default: /etc/docker/daemon.json
  backup:
    description:
      - Keep a copy of the old file beside the new one.
    type: bool
    default: false
  restart_allowed:
    description:
      - Whether a change may take a restart of the engine, which ends containers. V(false) refuses such a change and
        leaves the file as it is; what a reload is enough for is changed.
    type: bool
    default: true
  dockerd:
    description:
      - The engine's executable, which validates the configuration. Without it (an engine that is not installed yet)
        only the JSON is checked.
    type: str
    default: dockerd
seealso:
  - name: Docker's documentation of the file
    description: The keys, and which of them can be reloaded.
    link: https://docs.docker.com/reference/cli/dockerd/#daemon-configuration-file
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Register the NVIDIA runtime and the registry of the site
  gpuops.gpustack.daemon_config:
    settings:
      runtimes:
        nvidia:
          path: nvidia-container-runtime
          args: []
      insecure-registries:
        - 192.0.2.10:5000
  register: engine_configuration

- name: Let the engine take the change over
  ansible.builtin.service:
    name: docker
    state: "{{ engine_configuration.apply }}ed" # reloaded or restarted
  when: engine_configuration.apply != 'none'

- name: Change nothing that would end the containers of the host
  gpuops.gpustack.daemon_config:
    settings:
      log-opts:
        max-size: 50m
    restart_allowed: false

- name: Configure an engine that is kept apart from the system's
  gpuops.gpustack.daemon_config:
    path: /opt/docker/etc/daemon.json
    dockerd: /opt/docker/bin/dockerd
    settings:
      data-root: /srv/docker

- name: Replace the list of mirrors instead of adding to it
  gpuops.gpustack.daemon_config:
    absent:
      - registry-mirrors
    settings:
      registry-mirrors:
        - https://mirror.example.com
    backup: true
"""

RETURN = r"""
path:
  description: The configuration file.
  returned: success
  type: str
  sample: /etc/docker/daemon.json
changed_keys:
  description: The keys whose values changed, sorted; those inside C(features) as C(features.<name>).
  returned: success
  type: list
  elements: str
  sample: [insecure-registries, runtimes]
apply:
  description:
    - What makes the running engine take the change over, V(none), V(reload) or V(restart).
    - In check mode what it would take.
  returned: success
  type: str
  sample: reload
validated:
  description:
    - Whether the engine itself has accepted the configuration. False where nothing changed or it cannot be asked.
  returned: success
  type: bool
  sample: true
backup_file:
  description: The copy of the old file.
  returned: changed and O(backup=true)
  type: str
  sample: /etc/docker/daemon.json.12345.2026-01-31@12:00:00~
"""

import os
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils import daemon_json, masking


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "default": {}},
            "absent": {"type": "list", "elements": "str", "default": []},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "backup": {"type": "bool", "default": False},
            "restart_allowed": {"type": "bool", "default": True},
            "dockerd": {"type": "str", "default": "dockerd"},
        },
        supports_check_mode=True,
    )
    # Proxy settings may hold a password; everything else in the settings has to stay readable.
    module.no_log_values.update(daemon_json.url_passwords(module.params["settings"]))

    path = os.path.realpath(module.params["path"])  # a link stays a link
    text = _read(module, path)
    try:
        before = daemon_json.parse(text)
    except daemon_json.DaemonJsonError as error:
        module.fail_json(
            msg=f"{path} cannot be merged: {error}. A JSON object is wanted. Correct the file, or move it away to "
            "start from an empty one. It was not touched."
        )
    after = daemon_json.merge(before, module.params["settings"], module.params["absent"])
    changed_keys = daemon_json.changed_keys(before, after)
    result: dict[str, Any] = {
        "changed": bool(changed_keys),
        "path": path,
        "changed_keys": changed_keys,
        "apply": daemon_json.how_to_apply(before, after),
        "validated": False,
    }
    if result["apply"] == "restart" and not module.params["restart_allowed"]:
        module.fail_json(
            msg=f"{path} has to change in {', '.join(changed_keys)}, which takes a restart of the Docker engine, and "
            "containers that must not end run on the host. Drain the host first, or allow the restart. The file was "
            "not touched.",
            changed_keys=changed_keys,
        )
    if changed_keys:
        new_text = daemon_json.render(after)
        result["diff"] = {
            "before_header": path,
            "after_header": path,
            "before": masking.mask_url(text),
            "after": masking.mask_url(new_text),
        }
        new_file = _write_temporary(module, new_text)
        result["validated"] = _validate(module, new_file)
        if not module.check_mode:
            result.update(_replace(module, new_file, path))
    module.exit_json(**result)


def _read(module: AnsibleModule, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        module.fail_json(
            msg=f"{path} cannot be read: {error}. Run with become, and look at the file. It was not touched."
        )


def _write_temporary(module: AnsibleModule, text: str) -> str:
    handle, name = tempfile.mkstemp(dir=module.tmpdir, suffix=".json")
    module.add_cleanup_file(name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return name


def _validate(module: AnsibleModule, new_file: str) -> bool:
    """Whether dockerd was asked and agreed; ends the module where it does not agree."""
    dockerd = module.get_bin_path(module.params["dockerd"])
    if dockerd is None:
        return False
    # Docker before 23.0, such as Debian 12's, has no --validate.
    _rc, usage, _err = module.run_command([dockerd, "--help"])
    if "--validate" not in usage:
        return False
    rc, out, err = module.run_command([dockerd, "--validate", "--config-file", new_file])
    if rc != 0:
        reason = masking.mask_url((err or out).strip().replace(new_file, module.params["path"]))
        module.fail_json(
            msg=f"The Docker engine refuses the merged configuration: {reason}. Correct the settings, or name the key "
            f"in absent. {module.params['path']} was not touched.",
            rc=rc,
        )
    return True


def _replace(module: AnsibleModule, new_file: str, path: str) -> dict[str, Any]:
    exists = os.path.exists(path)
    backup = {"backup_file": module.backup_local(path)} if module.params["backup"] and exists else {}
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    except OSError as error:
        module.fail_json(msg=f"{os.path.dirname(path)} cannot be created: {error}. Run with become.")
    module.atomic_move(new_file, path)  # takes over owner and mode of an existing file
    if not exists:
        os.chmod(path, 0o644)
    return backup


if __name__ == "__main__":
    main()
