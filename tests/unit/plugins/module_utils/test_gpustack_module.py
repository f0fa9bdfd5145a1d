# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import Invalid
from ansible_collections.gpuops.gpustack.plugins.module_utils.gpustack_module import connection_from

UNSET: dict[str, Any] = {
    "server_url": None,
    "username": None,
    "password": None,
    "api_key": None,
    "validate_certs": True,
    "ca_path": None,
    "timeout": 30,
}
ENVIRONMENT = {"GPUSTACK_SERVER_URL": "https://env", "GPUSTACK_API_KEY": "from-env"}


def test_options_are_taken_as_they_are() -> None:
    connection = connection_from(
        {
            **UNSET,
            "server_url": "https://task",
            "username": "u",
            "password": "p",
            "validate_certs": False,
            "timeout": 5,
        },
        {},
    )
    assert (connection.server_url, connection.username, connection.password) == ("https://task", "u", "p")
    assert (connection.api_key, connection.validate_certs, connection.timeout_seconds) == (None, False, 5)


def test_environment_stands_in_for_what_is_missing() -> None:
    connection = connection_from(UNSET, ENVIRONMENT)
    assert (connection.server_url, connection.api_key, connection.username) == ("https://env", "from-env", None)


def test_credentials_of_the_environment_do_not_mix_with_those_of_the_task() -> None:
    connection = connection_from({**UNSET, "username": "u", "password": "p"}, ENVIRONMENT)
    assert (connection.server_url, connection.username, connection.api_key) == ("https://env", "u", None)


def test_two_kinds_of_credentials_are_refused() -> None:
    with pytest.raises(Invalid, match="GPUStack takes one of them"):
        connection_from({**UNSET, "server_url": "https://task", "username": "u", "api_key": "k"}, {})


def test_missing_address_is_refused() -> None:
    with pytest.raises(Invalid, match="No server: set server_url"):
        connection_from(UNSET, {})
