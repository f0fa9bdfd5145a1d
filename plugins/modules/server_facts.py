#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_facts
version_added: 1.0.0
short_description: Whether a GPUStack server answers, its release, and whether it takes the credentials
description:
  - Asks the server for its release and for the user that the credentials belong to.
  - A server that does not answer, or refuses the credentials, is an answer and not a failure, so that a check can tell
    it together with everything else that is wrong.
extends_documentation_fragment:
  - gpuops.gpustack.connection
  - gpuops.gpustack.attributes.info
  - gpuops.gpustack.attributes.action_group
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Look at the GPUStack server
  gpuops.gpustack.server_facts:
    server_url: https://gpustack.example.com
    username: admin
    password: "{{ gpustack_server_admin_password }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
ansible_facts:
  description: What is known of the server.
  returned: always
  type: dict
  contains:
    gpustack_api:
      description: The server's API.
      type: dict
      contains:
        url:
          description: Address that was asked.
          type: str
          sample: https://gpustack.example.com
        answers:
          description: Whether a GPUStack server answers there.
          type: bool
        trusted:
          description: False where its TLS certificate is not trusted, and so nothing was asked.
          type: bool
        version:
          description: Its release; null when it does not answer.
          type: str
          sample: v2.1.1
        supported_from:
          description: Oldest release that the collection knows.
          type: str
          sample: 2.1.1
        supported_below:
          description: First release that the collection does not know yet.
          type: str
          sample: 2.4.0
        model_files:
          description:
            - What it has fetched to its workers, or is fetching, as M(gpuops.gpustack.model_file_info) returns it.
            - Empty where it does not answer.
          type: list
          elements: dict
        problem:
          description: Why the server is of no use, with the remedy; null when all is well.
          type: str
"""

import os

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import GPUStackError, UnsupportedVersion, Untrusted
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import GPUStackModule, connection_from
from ansible_collections.gpuops.gpustack.plugins.module_utils.model_files import model_files
from ansible_collections.gpuops.gpustack.plugins.module_utils.releases import (
    SUPPORTED_BELOW,
    SUPPORTED_FROM,
    version_text,
)


def server_facts(client: Client) -> dict[str, object]:
    """Release and usability of the server; a release that is merely unknown is told by `version`, not by `problem`."""
    facts: dict[str, object] = {
        "url": client.server_url,
        "answers": False,
        "trusted": True,
        "version": None,
        "supported_from": version_text(SUPPORTED_FROM),
        "supported_below": version_text(SUPPORTED_BELOW),
        "model_files": [],
        "problem": None,
    }
    try:
        facts.update(version=client.version(), answers=True)
        client.connect()
        facts["model_files"] = model_files(client)
    except UnsupportedVersion:
        pass
    except GPUStackError as error:
        facts.update(trusted=not isinstance(error, Untrusted), problem=str(error))
    return facts


def main() -> None:
    module = GPUStackModule({})
    try:
        client = Client(connection_from(module.params, os.environ))
    except GPUStackError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts={"gpustack_api": server_facts(client)})


if __name__ == "__main__":
    main()
