# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  server_url:
    description:
      - Address of the GPUStack server, as its web page is opened with, for example V(https://gpustack.example.com).
      - If it is not set, the environment variable E(GPUSTACK_SERVER_URL) of the host the task runs on is used.
    type: str
  username:
    description:
      - User to authenticate as, an administrator. Needs O(password).
      - If none of O(username), O(password) and O(api_key) is set, E(GPUSTACK_USERNAME), E(GPUSTACK_PASSWORD) and
        E(GPUSTACK_API_KEY) are used.
    type: str
  password:
    description:
      - Password of O(username).
    type: str
  api_key:
    description:
      - API key of an administrator, instead of O(username) and O(password).
      - A server before 2.2.0 takes every client on C(127.0.0.1) for the administrator, so there a wrong key can't be
        told from a right one; the module warns. A wrong password is always an error.
    type: str
  validate_certs:
    description:
      - Whether to check the server's TLS certificate.
    type: bool
    default: true
  ca_path:
    description:
      - File with the certificates of the authorities to trust instead of the system's, on the host the task runs on.
    type: path
  timeout:
    description:
      - Seconds to wait for one answer of the server.
    type: int
    default: 30
"""

    # For plugins, which have variables and a configuration file beside the options.
    PLUGINS = r"""
options:
  server_url:
    vars:
      - name: gpustack_server_url
  username:
    vars:
      - name: gpustack_server_admin_username
  password:
    vars:
      - name: gpustack_server_admin_password
  validate_certs:
    vars:
      - name: gpustack_server_validate_certs
"""
